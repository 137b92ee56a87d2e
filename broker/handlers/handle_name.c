/* name: may the sandbox look this name up? */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handler.h"
#include "policies/decision.h"
#include "policies/reload.h"
#include "prompts/deciding.h"
#include "prompts/naming.h"
#include "schema/limits.h"
#include "sessions/session.h"
#include "wire/body.h"

struct name {
	char *host;
};

static const struct body_field name_fields[] = {
	{"host", BODY_TEXT, REQUIRED, offsetof(struct name, host), LIMIT_HOST, NULL},
};
static const struct body_shape name_shape = BODY_SHAPE_OF(struct name, name_fields);

/* Tools look the same names up again and again; past the bound flood.h's hold. */
static bool is_new(struct session *session, const char *name) {
	if (strings_contain(&session->denied_names, name)) return false;
	if (session->denied_names.count < LIMIT_DENIED) strings_add(&session->denied_names, name);
	return true;
}

/* A denial's grant is named, so that it can be ended; none is used, and nothing can rest on one that allows. */
static void record_denial(struct client *client, const struct host *host, struct decision *decision) {
	struct session *session = client->session;
	/* Borrowed texts: not finished. */
	const struct request request = {.session = session->record.id,
					.subject = session->subject,
					.permission = permission_of(PERMISSION_NET_ACCESS),
					.target = (char *)host->name};
	const int64_t grant = decision->verdict.grant;
	decision->verdict.grant = 0;
	if (is_new(session, host->name)) decision_settle(client->broker, &request, decision);
	if (strcmp(decision->verdict.module, "broker") != 0) decision->verdict.grant = grant;
}

static int name(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	const struct name *asked = body;
	struct host host;
	CLEANUP_DECISION struct decision decision = {.uses = 1};
	(void)id;
	int r = host_parse(asked->host, strlen(asked->host), &host, error);
	if (r == 0 && host.class != HOST_NAME) r = error_set(error, EINVAL, "%s is no name", host.name);
	if (r < 0) return r;
	reload_now(client->broker->reload);
	naming_decide(client->broker, client->session, &host, &decision.verdict);
	if (decision.verdict.effect == EFFECT_DENY)
		record_denial(client, &host, &decision);
	else
		decision.verdict.grant = 0;
	*ret_reply = json_object();
	json_object_set_new(*ret_reply, "verdict", verdict_to_json(&decision.verdict));
	return HANDLED;
}

const struct request_handler handle_name = {name, &name_shape};
