/*
 * Theory of operation.
 *
 *   WALKED ──────> WAITING_PROGRAM   the stack needs what a program says (programs/exec.h)
 *     │ ^                │
 *     │ └── go_on <──────┤           it has answered; the answer, rules or grants have changed what was asked about
 *     │                  │
 *     ├──────────> ASKING            the user is asked (prompts.h)
 *     v                  v
 *   SETTLED <────────────┘           by the answer, its deadline, or without anybody: recorded, then replied to once
 *
 * A check is in one place at a time: exec and prompts take it over, and give it back by checking_go_on, or end it.
 * Where it can't wait it is settled as the denial that the decision is by then.
 */
#include "check_flow.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "check_reply.h"
#include "deciding.h"
#include "policies/decision.h"
#include "policies/policies.h"
#include "programs/exec.h"
#include "prompts.h"
#include "schema/limits.h"
#include "sessions/flood.h"
#include "sessions/session.h"
#include "wire/client.h"

/* Rules by the session of the request, not of the connection: that one may have ended meanwhile. */
static int find_rules(const struct checking *checking, const struct session **ret_session,
		      const struct ruleset **ret_ruleset, struct error *error) {
	const struct request *request = &checking->request;
	struct broker *broker = checking->client->broker;
	*ret_session = NULL;
	if (request->session == 0)
		return policies_ruleset(broker->policies, request->subject.profile, request->subject.project,
					ret_ruleset, error);
	*ret_session = checking->client->session;
	if (!*ret_session) return error_set(error, ECANCELED, "the session has ended");
	*ret_ruleset = (*ret_session)->ruleset;
	return 0;
}

/* Where it goes when its stack was walked. What may not wait is decided here. */
static enum checking_state next_state(const struct checking *checking, struct decision *decision) {
	const bool asks = decision->verdict.effect == EFFECT_ASK;
	if (!decision->needed && !asks) return CHECKING_SETTLED;
	if (asks && (!checking->ask || checking->again)) {
		verdict_set(&decision->verdict, EFFECT_DENY, "ask", "you would be asked");
		return CHECKING_SETTLED;
	}
	if (checking->client->pending >= LIMIT_PENDING) {
		verdict_set(&decision->verdict, EFFECT_DENY, "flood", "too many requests wait for an answer");
		return CHECKING_SETTLED;
	}
	return asks ? CHECKING_ASKING : CHECKING_WAITING_PROGRAM;
}

/* True when it waits there, and was taken over; else the decision is final. */
static bool enter(struct checking *checking, enum checking_state state, const struct ruleset *ruleset,
		  struct decision *decision) {
	checking->state = state;
	switch (state) {
	case CHECKING_WAITING_PROGRAM:
		return exec_ask(checking, decision);
	case CHECKING_ASKING:
		return prompts_ask(checking, ruleset, decision);
	case CHECKING_WALKED:
	case CHECKING_SETTLED:
		break;
	}
	return false;
}

static void settle(struct checking *checking, struct decision *decision) {
	struct broker *broker = checking->client->broker;
	const struct session *session;
	const struct ruleset *ruleset;
	checking->state = CHECKING_SETTLED;
	/* What lives was recorded when it began; if it is cut, its end will be. */
	if (checking_decides(checking)) decision_settle(broker, &checking->request, decision);
	/* Looked for again: asking may have had other rules made in the place of these. */
	if (strcmp(decision->verdict.module, "flood") == 0 && find_rules(checking, &session, &ruleset, NULL) == 0)
		prompts_summarize(broker, session, ruleset, &checking->request);
	checking_reply(checking, &decision->verdict);
}

void checking_go_on(struct checking *checking) {
	CLEANUP_CHECKING struct checking own = *checking;
	*checking = (struct checking){0};
	const struct session *session;
	const struct ruleset *ruleset;
	struct error error = ERROR_NONE;
	own.state = CHECKING_WALKED;
	if (find_rules(&own, &session, &ruleset, &error) < 0) {
		client_reply_error(own.client, own.id, &error);
		return;
	}
	CLEANUP_DECISION struct decision decision;
	decision_make(own.client->broker, ruleset, session, &own.request, &own.said, &decision, NULL);
	if (!enter(&own, next_state(&own, &decision), ruleset, &decision)) settle(&own, &decision);
}
