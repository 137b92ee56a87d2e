/*
 * handler: what handles one type of message, and those that there are, one file a subject: the head of handlers/.
 *
 * For: the protocol (docs/protocol.md): dispatch looks at whether a message may come now and takes its fields; a
 * handler calls the rooms below; followers are told of new rows. Guarantees: a handler sees only what is well-formed,
 * complete and allowed in the connection's state; each request gets exactly one reply. May be called by: dispatch, and
 * that by service.c alone. No room knows a handler. In: the structure of a message's shape. Out: one reply.
 */
#pragma once

#include "wire/body.h"
#include "wire/client.h"

/* What a handler returns besides a negative errno (with the error filled: it becomes the `error` reply). */
enum { HANDLED = 0, HANDLED_REPLIED = 1 /* the reply was sent, or comes later */ };

/* `body` is the structure of the message's shape; *ret_reply (an object, or left NULL for an empty one) is sent. */
typedef int handle_function(struct client *client, int64_t id, const void *body, json_t **ret_reply,
			    struct error *error);

struct request_handler {
	handle_function *handle;
	const struct body_shape *shape;
};

/* One file of handlers a subject. */
extern const struct request_handler handle_hello, handle_session_open, handle_session_close, handle_resolve,
	handle_writable, handle_roots, handle_want, handle_check, handle_name, handle_cancel, handle_event,
	handle_settled, handle_sandbox, handle_grant, handle_revoke, handle_kill, handle_publish, handle_published,
	handle_list, handle_summary, handle_verify, handle_agent, handle_answer, handle_describe, handle_why,
	handle_policy, handle_trust, handle_status, handle_turn, handle_held;
