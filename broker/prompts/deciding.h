/*
 * deciding: a session's request judged (policies/decision.h), and the answer recorded.
 *
 * Promises: no allow without its event in the history (attack B19): decision_settle turns it into a denial.
 */
#pragma once

#include "policies/decision.h"

struct session;

/*
 * `session` may be NULL; `walk` too. May yield EFFECT_ASK. `said`: what programs have answered to the request so far;
 * NULL: none is to be asked.
 */
void decision_make(struct broker *broker, const struct ruleset *ruleset, const struct session *session,
		   const struct request *request, const struct stack_exec_answers *said, struct decision *ret_decision,
		   struct stack_walk *walk);

/* Within a transaction: the event, and the use of the grant. */
int decision_record(struct broker *broker, const struct request *request, const struct decision *decision,
		    struct error *error);

/* Outside of a transaction, before anybody is told; what can't be recorded is denied. Denials past a bound
 * are recorded together. */
void decision_settle(struct broker *broker, const struct request *request, struct decision *decision);
