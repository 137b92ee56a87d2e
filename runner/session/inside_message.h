/*
 * inside_message: what a tool says at the door in its sandbox (inside_door.h), and what it is told.
 *
 * Promises: pure. Two messages, `request` and `describe`, and nothing else: each one JSON object in one datagram,
 * bounded and decoded as the broker's are (schema/message.h), unpacked strictly. Nothing in them says who speaks. What
 * is told of a denial is what a denied tool learns otherwise: a rule's looks the same as none.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "base/memory.h"
#include "schema/permission.h"
#include "schema/verdict.h"

enum inside_kind { INSIDE_REQUEST, INSIDE_DESCRIBE };
enum { INSIDE_KIND_COUNT = INSIDE_DESCRIBE + 1 };

struct inside_message {
	enum inside_kind kind;
	struct permission permission; /* of a request, as is all that follows; owned */
	char *target;                 /* canonical (schema/target.h) */
	char *reason;                 /* or NULL */
};

int inside_message_parse(const char *bytes, size_t size, struct inside_message *ret_message, struct error *error);
void inside_message_finish(struct inside_message *message);
#define CLEANUP_INSIDE_MESSAGE CLEANUP(inside_message_finish)

/* Replies; the caller owns the reference. */
json_t *inside_reply_verdict(const struct verdict *verdict);
json_t *inside_reply_no(const char *by, const char *why);  /* without a verdict */
json_t *inside_reply_yes(const char *by, const char *why); /* likewise */
json_t *inside_reply_error(const char *why);
json_t *inside_reply_description(const json_t *described); /* of the broker's */
