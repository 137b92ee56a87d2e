/*
 * wants: what a session may ask for at its start, together: what its profile's own `ask` list names, so that the user
 * is asked once before the tool runs instead of again and again while it does.
 *
 * Promises: chosen by the profile alone, never by the tool: what the rules ask about, nothing decides yet, needs no
 * confirmation in a terminal and isn't a catch-all. Each is a prompt of its own, and an allow the grant of the rule's
 * pattern. Of what is reached for later nothing is recorded as decided; a variable, which is given at the start alone,
 * is decided here, also by a grant for one use. Asked about once in a session.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "programs/checking.h"
#include "schema/limits.h"
#include "wire/body.h"

struct request;
struct session;
struct verdict;
struct wants; /* of a session */

/* When the session opens. */
struct wants *wants_new(struct session *session);
void wants_free(struct wants *wants);

json_t *wants_to_json(const struct wants *wants);

/* One of them that is asked about. */
struct wants_item {
	struct checking checking;
	const char *shown; /* in place of its target, and what an allow grants */
};

/* The session's message `want` with that id, for these indices, of which those in `folders` are worded as all that is
 * in them: items->count of `asked`, for prompts_ask_together. Its reply comes when all are settled. */
int wants_ask(struct session *session, int64_t id, const struct body_ids *items, const struct body_ids *folders,
	      struct wants_item asked[LIMIT_WANTS], struct error *error);

/* One of those that wants_ask has asked about is; the last one sends the reply. */
void wants_settle(const struct session *session, const struct request *request, const struct verdict *verdict);
