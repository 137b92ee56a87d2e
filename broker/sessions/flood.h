/*
 * flood: a session that asks too much is not shown to the user any more, and one that is denied too much doesn't fill
 * the disk (design section 4; attack B12).
 *
 * Promises: a session's questions that nobody allowed are counted, and forgotten one by one with time. Past
 * LIMIT_QUESTIONS what would be asked is denied, by the stack's module `flood`, with one summary prompt for all of it;
 * what rules, programs and grants decide goes on. Past LIMIT_DENIALS a denial has no row of its own in the history:
 * one row a second tells how many there were; likewise what the session's runner tells of past LIMIT_ALLOWS. An allow
 * always has its row: past LIMIT_ALLOWS a session is denied what would be allowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/request.h"

struct broker;
struct session; /* NULL in all of these: whoever has none */

struct flood; /* of a session; all who have none share the broker's */

struct flood *flood_new(void);
void flood_free(struct flood *flood);

/* Why what would be asked is denied now, or NULL. */
const char *flood_reason(struct broker *broker, const struct session *session);

/* A question is about to be put to the user while `open` of them wait: false when it must not, for the session floods
 * from now on. */
bool flood_question(struct broker *broker, const struct session *session, const struct request *request, size_t open);
void flood_allowed(struct broker *broker, const struct session *session); /* the user said yes to one of them */

/* Flooding, and it is time to show a summary (again). */
bool flood_wants_summary(struct broker *broker, const struct session *session);
/* The user has answered it. */
void flood_answer(struct broker *broker, const struct session *session, bool allowed, int64_t prompt);

/* May the session have one more row of an allow? True without a session: what the user's own commands do is bounded by
 * the user. */
bool flood_allow(struct broker *broker, const struct session *session);
/* Has what its runner tells of a row of its own? If not it is counted. */
bool flood_told(struct broker *broker, const struct session *session, enum event_kind kind);

/* Has this denial a row of its own? If not it is counted. */
bool flood_denial(struct broker *broker, const struct session *session);
/* Write the row of those that have none, if there are any. */
void flood_flush(struct broker *broker, const struct session *session);
