/*
 * decision: the stack asked about one request. Nothing is recorded here (prompts/deciding.h does).
 */
#pragma once

#include "core/broker.h"
#include "policy/stack.h"
#include "store/grants.h"

struct decision {
	struct verdict verdict;
	/* Of the grant that it rests on, if any. */
	int64_t uses;
	enum lifetime lifetime;
	const struct stack_exec *needed; /* a program must be asked first: the verdict is a denial; borrowed, or NULL */
};

/* What the session's own state says. */
struct decision_state {
	const char *flooded; /* why what would be asked is denied; or NULL */
	bool offline;
};

/* `walk` may be NULL. May yield EFFECT_ASK. `said`: what programs have answered to the request so far; NULL: none is to
 * be asked. */
void decision_judge(struct broker *broker, const struct ruleset *ruleset, const struct decision_state *state,
		    const struct request *request, const struct stack_exec_answers *said, struct decision *ret_decision,
		    struct stack_walk *walk);
void decision_finish(struct decision *decision);
#define CLEANUP_DECISION __attribute__((cleanup(decision_finish)))

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
