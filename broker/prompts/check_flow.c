#include "check_flow.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "deciding.h"
#include "policies/decision.h"
#include "policies/policies.h"
#include "programs/exec.h"
#include "prompts.h"
#include "schema/limits.h"
#include "sessions/flood.h"
#include "sessions/session.h"
#include "wants.h"
#include "wire/client.h"

void checking_reply(const struct checking *checking, const struct verdict *verdict) {
	if (checking->wanted) {
		wants_settle(checking->client->session, &checking->request, verdict);
		return;
	}
	struct verdict said = *verdict; /* borrows the texts */
	/* What was connected by a grant for one use is cut by its number; nothing else rests on one that is used up. */
	if (said.once && !permission_connects(&checking->request.permission)) said.grant = 0;
	client_reply_verdict(checking->client, checking->id, &said);
}

void checking_refuse(const struct checking *checking, const struct error *error) {
	const struct verdict refused = {.effect = EFFECT_DENY, .module = "broker", .why = (char *)error->message};
	if (checking->wanted)
		wants_settle(checking->client->session, &checking->request, &refused);
	else
		client_reply_error(checking->client, checking->id, error);
}

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

/* True when it waits: for a program, or for the user. Else the decision is final. */
static bool waits(struct checking *checking, const struct ruleset *ruleset, struct decision *decision) {
	struct client *client = checking->client;
	bool asks = decision->verdict.effect == EFFECT_ASK;
	if (!decision->needed && !asks) return false;
	if (asks && (!checking->ask || checking->again)) {
		verdict_set(&decision->verdict, EFFECT_DENY, "ask", "you would be asked");
		return false;
	}
	if (client->pending >= LIMIT_PENDING) {
		verdict_set(&decision->verdict, EFFECT_DENY, "flood", "too many requests wait for an answer");
		return false;
	}
	return asks ? prompts_ask(checking, ruleset, decision) : exec_ask(checking, decision);
}

void checking_go_on(struct checking *checking) {
	CLEANUP_CHECKING struct checking own = *checking;
	*checking = (struct checking){0};
	struct broker *broker = own.client->broker;
	const struct session *session;
	const struct ruleset *ruleset;
	struct error error = ERROR_NONE;
	if (find_rules(&own, &session, &ruleset, &error) < 0) {
		client_reply_error(own.client, own.id, &error);
		return;
	}
	CLEANUP_DECISION struct decision decision;
	decision_make(broker, ruleset, session, &own.request, &own.said, &decision, NULL);
	if (waits(&own, ruleset, &decision)) return;
	/* What lives was recorded when it began; if it is cut, its end will be. */
	if (checking_decides(&own)) decision_settle(broker, &own.request, &decision);
	/* Looked for again: asking may have had other rules made in the place of these. */
	if (strcmp(decision.verdict.module, "flood") == 0 && find_rules(&own, &session, &ruleset, &error) == 0)
		prompts_summarize(broker, session, ruleset, &own.request);
	checking_reply(&own, &decision.verdict);
}
