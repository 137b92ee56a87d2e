#include "dispatch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "handler.h"
#include "schema/limits.h"
#include "schema/message.h"

enum when {
	FIRST = 1,           /* the first message, and only that */
	WITHOUT_SESSION = 2, /* not once a session was opened on the connection */
	HISTORY = 4          /* the history's table must be complete */
};

static const struct {
	const struct request_handler *handler; /* NULL: no request */
	unsigned when;
} table[] = {
	[MESSAGE_HELLO] = {&handle_hello, FIRST},
	[MESSAGE_ERROR] = {NULL, 0},
	[MESSAGE_SESSION_OPEN] = {&handle_session_open, WITHOUT_SESSION},
	[MESSAGE_SESSION_CLOSE] = {&handle_session_close, 0},
	[MESSAGE_RESOLVE] = {&handle_resolve, 0},
	[MESSAGE_WRITABLE] = {&handle_writable, 0},
	[MESSAGE_ROOTS] = {&handle_roots, 0},
	[MESSAGE_DESCRIBE] = {&handle_describe, 0},
	[MESSAGE_WANT] = {&handle_want, 0},
	[MESSAGE_CHECK] = {&handle_check, 0},
	[MESSAGE_NAME] = {&handle_name, 0},
	[MESSAGE_CANCEL] = {&handle_cancel, 0},
	[MESSAGE_EVENT] = {&handle_event, 0},
	[MESSAGE_SETTLED] = {&handle_settled, 0},
	[MESSAGE_SANDBOX] = {&handle_sandbox, 0},
	[MESSAGE_GRANT] = {&handle_grant, 0},
	[MESSAGE_REVOKE] = {&handle_revoke, 0},
	[MESSAGE_KILL] = {&handle_kill, 0},
	[MESSAGE_PUBLISH] = {&handle_publish, WITHOUT_SESSION},
	[MESSAGE_PUBLISHED] = {&handle_published, 0},
	[MESSAGE_LIST] = {&handle_list, HISTORY},
	[MESSAGE_SUMMARY] = {&handle_summary, HISTORY},
	[MESSAGE_VERIFY] = {&handle_verify, HISTORY},
	[MESSAGE_AGENT] = {&handle_agent, 0},
	[MESSAGE_ANSWER] = {&handle_answer, 0},
	[MESSAGE_WHY] = {&handle_why, 0},
	[MESSAGE_POLICY] = {&handle_policy, 0},
	[MESSAGE_TRUST] = {&handle_trust, WITHOUT_SESSION},
	[MESSAGE_STATUS] = {&handle_status, 0},
	[MESSAGE_TURN] = {&handle_turn, 0},
	[MESSAGE_HELD] = {&handle_held, 0},
	[MESSAGE_VIEW] = {NULL, 0},
	[MESSAGE_ENDED] = {NULL, 0},
	[MESSAGE_TERMINATE] = {NULL, 0},
	[MESSAGE_SLEEP] = {NULL, 0},
	[MESSAGE_PUBLISHING] = {NULL, 0},
	[MESSAGE_PROMPT] = {NULL, 0},
	[MESSAGE_PROMPT_GONE] = {NULL, 0},
	[MESSAGE_QUIET] = {NULL, 0},
	[MESSAGE_PROGRESS] = {NULL, 0},
	[MESSAGE_HOLD] = {NULL, 0},
};
static_assert(ARRAY_LENGTH(table) == MESSAGE_TYPE_COUNT, "every message is in the table");

/* Is this message allowed now? -EPROTO: the client doesn't keep to the protocol. */
static int check_state(const struct client *client, enum message_type type, struct error *error) {
	const struct message_info *info = message_info(type);
	if (!table[type].handler) return error_set(error, EPROTO, "malformed message: '%s' is no request", info->name);
	bool first = table[type].when & FIRST;
	if (first == client->greeted)
		return error_set(error, EPROTO,
				 first ? "malformed message: hello was said already"
				       : "malformed message: hello must come first");
	if (info->needs_session && !client->session)
		return error_set(error, EPROTO, "malformed message: '%s' needs a session on this connection",
				 info->name);
	if ((table[type].when & WITHOUT_SESSION) && client->session)
		return error_set(error, EPROTO, "malformed message: this connection has a session already");
	return 0;
}

static int read_head(const json_t *message, enum message_type *ret_type, int64_t *ret_id, struct error *error) {
	const json_t *id = json_object_get(message, "id");
	const char *type = json_string_value(json_object_get(message, "type"));
	if (!json_is_integer(id) || json_integer_value(id) < 1)
		return error_set(error, EPROTO, "malformed message: 'id' must be a whole number from 1 on");
	*ret_id = json_integer_value(id);
	if (!type) return error_set(error, EPROTO, "malformed message: 'type' must be a text");
	if (message_type_parse(type, ret_type, error) < 0) return -EPROTO;
	return 0;
}

static int run_handler(struct client *client, enum message_type type, int64_t id, const json_t *message,
		       struct error *error) {
	const struct request_handler *handler = table[type].handler;
	CLEANUP_FREE void *body = mem_alloc(1, handler->shape->size);
	json_t *reply = NULL;
	int r = body_take(handler->shape, message, body, error);
	if (r < 0) return r;
	/* Where there is no room (or no disk) what is in the table is shown; the head tells how much there is. */
	if ((table[type].when & HISTORY) && broker_write_history(client->broker, error) < 0) *error = ERROR_NONE;
	r = handler->handle(client, id, body, &reply, error);
	body_finish(handler->shape, body);
	if (r == HANDLED)
		client_reply(client, message_info(type)->name, id, reply);
	else
		json_decref(reply);
	/* -EPROTO is for what the client itself did wrong; a handler's errors leave it connected. */
	if (r == -EPROTO) r = -EINVAL;
	return r < 0 ? r : 0;
}

void dispatch(struct client *client, const char *bytes, size_t size) {
	struct error error = ERROR_NONE;
	json_t *message = NULL;
	enum message_type type = MESSAGE_ERROR;
	int64_t id = 0;
	int r = message_decode(bytes, size, &message, &error);
	if (r < 0) r = -EPROTO;
	if (r == 0) r = read_head(message, &type, &id, &error);
	if (r == 0) r = check_state(client, type, &error);
	if (r == 0) r = run_handler(client, type, id, message, &error);
	json_decref(message);
	if (r == 0) return;
	client_reply_error(client, id, &error);
	/* Nothing good comes from whoever can't say hello. */
	if (r == -EPROTO || !client->greeted) client_leave(client);
}
