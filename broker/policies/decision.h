/*
 * decision: the stack asked about one request, and the answer recorded.
 *
 * Promises: no allow without its event in the history (attack B19): decision_settle turns it into a denial.
 */
#pragma once

#include "core/broker.h"
#include "policy/stack.h"
#include "sessions/session.h"

struct decision {
	struct verdict verdict;
	/* Of the grant that it rests on, if any. */
	int64_t uses;
	enum lifetime lifetime;
	const struct stack_exec *needed; /* a program must be asked first: the verdict is a denial; borrowed, or NULL */
};

/*
 * `session` may be NULL; `walk` too. May yield EFFECT_ASK. `said`: what programs have answered to the request so far;
 * NULL: none is to be asked.
 */
void decision_make(struct broker *broker, const struct ruleset *ruleset, const struct session *session,
		   const struct request *request, const struct stack_exec_answers *said, struct decision *ret_decision,
		   struct stack_walk *walk);
void decision_finish(struct decision *decision);
#define CLEANUP_DECISION __attribute__((cleanup(decision_finish)))

/* Within a transaction: the event, and the use of the grant. */
int decision_record(struct broker *broker, const struct request *request, const struct decision *decision,
		    struct error *error);

/* Outside of a transaction, before anybody is told; what can't be recorded is denied. Denials past a bound
 * are recorded together. */
void decision_settle(struct broker *broker, const struct request *request, struct decision *decision);

/* The stack's context for a subject; `finder` and what it points to must live as long. */
struct decision_finder {
	struct grants *grants;
	int64_t id, uses;
	enum lifetime lifetime;
	struct stack_grants stack;
};
struct stack_context decision_context(struct broker *broker, const struct ruleset *ruleset,
				      struct decision_finder *finder);
void verdict_set(struct verdict *verdict, enum effect effect, const char *module, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
