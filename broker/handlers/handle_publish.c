/* publish, published. */
#include <errno.h>

#include "base/memory.h"
#include "base/string.h"
#include "endings/expiry.h"
#include "handler.h"
#include "policies/reload.h"
#include "prompts/publishing.h"
#include "schema/limits.h"
#include "sessions/session.h"

/* publish: never on a session's connection, so that what runs in a sandbox can't make itself reachable. */

struct publish {
	int64_t session, port, host_port, ttl_ms;
};
static const struct body_field publish_fields[] = {
	{"session", BODY_INTEGER, REQUIRED, offsetof(struct publish, session), 0, NULL},
	{"port", BODY_INTEGER, REQUIRED, offsetof(struct publish, port), 0, NULL},
	{"host_port", BODY_INTEGER, REQUIRED, offsetof(struct publish, host_port), 0, NULL},
	{"ttl_ms", BODY_INTEGER, OPTIONAL, offsetof(struct publish, ttl_ms), 0, NULL},
};
static const struct body_shape publish_shape = BODY_SHAPE_OF(struct publish, publish_fields);

static int publish(struct client *client, int64_t id, const void *body, json_t **ret_reply, struct error *error) {
	(void)ret_reply;
	const struct publish *wish = body;
	reload_now(client->broker->reload);
	expiry_sweep(client->broker);
	struct session *session = session_find(client->broker, wish->session);
	if (!session) return error_set(error, ENOENT, "no session %lld is running", (long long)wish->session);
	if (wish->port < 1 || wish->port > UINT16_MAX || wish->host_port > UINT16_MAX)
		return error_set(error, ERANGE, "a port is a number from 1 to %d", UINT16_MAX);
	if (wish->ttl_ms > LIMIT_TTL_MS) return error_set(error, ERANGE, "a grant lasts ten years at most");
	const struct publishing_wish publishing = {
		.publication = {.port = (uint16_t)wish->port, .host_port = (uint16_t)wish->host_port},
		.ttl_ms = wish->ttl_ms,
		.client = client,
		.id = id};
	int r = publishing_start(session, &publishing, error);
	expiry_sweep(client->broker);
	return r < 0 ? r : HANDLED_REPLIED;
}

const struct request_handler handle_publish = {publish, &publish_shape};

/* published */

struct published {
	struct strings ports;
	int64_t number, host_port;
	char *failed;
};
static const struct body_field published_fields[] = {
	{"ports", BODY_TEXTS, REQUIRED, offsetof(struct published, ports), LIMIT_PUBLISHED + LIMIT_LISTENING, NULL},
	{"number", BODY_INTEGER, OPTIONAL, offsetof(struct published, number), 0, NULL},
	{"host_port", BODY_INTEGER, OPTIONAL, offsetof(struct published, host_port), 0, NULL},
	{"failed", BODY_TEXT, OPTIONAL, offsetof(struct published, failed), LIMIT_TARGET, NULL},
};
static const struct body_shape published_shape = BODY_SHAPE_OF(struct published, published_fields);

static int read_ports(const struct strings *texts, struct strings *ret_ports, struct error *error) {
	for (size_t i = 0; i < texts->count; i++) {
		struct publication publication;
		char text[PUBLICATION_TEXT_SIZE];
		int r = publication_parse(texts->items[i], &publication, error);
		if (r < 0) return r;
		publication_format(&publication, text);
		strings_add(ret_ports, text);
	}
	return 0;
}

static int take_published(struct client *client, int64_t id, const void *body, json_t **ret_reply,
			  struct error *error) {
	(void)id;
	(void)ret_reply;
	const struct published *said = body;
	struct session *session = client->session;
	CLEANUP_STRINGS struct strings ports = {0};
	int r = read_ports(&said->ports, &ports, error);
	if (r == 0 && said->number > 0 && !said->failed && (said->host_port < 1 || said->host_port > UINT16_MAX))
		r = error_set(error, ERANGE, "a port is a number from 1 to %d", UINT16_MAX);
	if (r < 0) return r;
	strings_finish(&session->record.published);
	session->record.published = ports;
	ports = (struct strings){0};
	publishing_settled(session, said->number, (uint16_t)said->host_port, said->failed);
	return HANDLED;
}

const struct request_handler handle_published = {take_published, &published_shape};
