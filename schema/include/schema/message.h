/*
 * message: one JSON object in one SOCK_SEQPACKET datagram, and the table of all of them (docs/protocol.md).
 *
 * Promises: bounded by LIMIT_MESSAGE and LIMIT_JSON_DEPTH, duplicate keys, NUL bytes and invalid UTF-8 refused.
 * File names that aren't UTF-8 travel escaped (message_bytes_*). Every request carries "id" (≥ 1) and gets exactly one
 * reply with the same "id": its own type, or `error` {code, message}. A push carries none.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/string.h"

enum { PROTOCOL_VERSION = 7 };

enum message_type {
	MESSAGE_HELLO,
	MESSAGE_ERROR,
	MESSAGE_SESSION_OPEN,
	MESSAGE_SESSION_CLOSE,
	MESSAGE_RESOLVE,
	MESSAGE_WRITABLE,
	MESSAGE_ROOTS,
	MESSAGE_DESCRIBE,
	MESSAGE_WANT,
	MESSAGE_CHECK,
	MESSAGE_NAME,
	MESSAGE_CANCEL,
	MESSAGE_EVENT,
	MESSAGE_SETTLED,
	MESSAGE_SANDBOX,
	MESSAGE_GRANT,
	MESSAGE_REVOKE,
	MESSAGE_KILL,
	MESSAGE_PUBLISH,
	MESSAGE_PUBLISHED,
	MESSAGE_LIST,
	MESSAGE_SUMMARY,
	MESSAGE_VERIFY,
	MESSAGE_AGENT,
	MESSAGE_ANSWER,
	MESSAGE_WHY,
	MESSAGE_POLICY,
	MESSAGE_TRUST,
	MESSAGE_STATUS,
	MESSAGE_TURN,
	MESSAGE_HELD,
	MESSAGE_VIEW,
	MESSAGE_ENDED,
	MESSAGE_TERMINATE,
	MESSAGE_SLEEP,
	MESSAGE_PUBLISHING,
	MESSAGE_PROMPT,
	MESSAGE_PROMPT_GONE,
	MESSAGE_QUIET,
	MESSAGE_PROGRESS,
	MESSAGE_HOLD,
};
enum { MESSAGE_TYPE_COUNT = MESSAGE_HOLD + 1 };

enum message_flow { MESSAGE_REQUEST, MESSAGE_PUSH, MESSAGE_REPLY_ONLY };

struct message_info {
	const char *name;
	enum message_flow flow;
	bool needs_session; /* only on a connection that opened a session */
};

const struct message_info *message_info(enum message_type type);
int message_type_parse(const char *name, enum message_type *ret_type, struct error *error);

/* Text ⇄ message. decode refuses what the head of this file says; the caller owns the reference. */
int message_encode(const json_t *json, char **ret_text, size_t *ret_size, struct error *error);
int message_decode(const char *text, size_t size, json_t **ret_json, struct error *error);

/* A byte string as JSON text and back: bytes that aren't valid UTF-8 become U+F780…U+F7FF (docs/protocol.md). */
json_t *message_bytes(const char *bytes);                                          /* NULL → null */
int message_bytes_take(const json_t *json, char **ret_bytes, struct error *error); /* null → NULL */

/* The same without a tree in between, for what is written often. */
void message_write_bytes(struct string *out, const char *bytes);
void message_write_json(struct string *out, const json_t *json);
