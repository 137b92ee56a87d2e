#include "check_reply.h"

#include "schema/verdict.h"
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
