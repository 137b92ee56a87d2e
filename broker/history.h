/*
 * history: the events table, append-only and hash-chained (design section 6).
 *
 * Promises: an event is part of the caller's transaction: what is not committed with its event did not happen; or it
 * is noted alone, and then is kept when history_note returns ("no audit record, no allow", attack B19). An edited,
 * missing or cut-off row is named by history_verify (B18).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "schema/event.h"
#include "store.h"

struct history;

int history_open(struct store *store, struct history **ret_history, struct error *error);
void history_free(struct history *history);

/* Fills event->seq. Within a transaction; after it call history_committed or history_rolled_back. */
int history_append(struct history *history, struct event *event, struct error *error);
/* Also after a transaction in which nothing was appended. */
void history_committed(struct history *history);
void history_rolled_back(struct history *history);

/*
 * Outside of any transaction: the event alone, at a fraction of the cost. It survives the end of this process, not of
 * the machine. It is in the tail at first, so it must be put into the table (by history_append or history_keep_head)
 * before anything reads that.
 */
int history_note(struct history *history, struct event *event, struct error *error);
int64_t history_waiting(const struct history *history); /* rows in the tail */

/* Within a transaction: the row that tells of a cut is brought up to the last event. */
bool history_head_is_behind(const struct history *history);
int history_keep_head(struct history *history, struct error *error);

int64_t history_head(const struct history *history, const char **ret_hash); /* borrowed */

/* The next prompt's id, within a transaction. */
int history_next_prompt(struct history *history, int64_t *ret_id, struct error *error);

/* What a listing wants. Zero and NULL mean any. */
struct history_filter {
	int64_t since_ms, until_ms, session;
	char *project, *profile, *permission, *verdict, *kind;
};
void history_filter_finish(struct history_filter *filter);

/*
 * One page of rows after (or, `newest`, before) `cursor` (0 = from that end): at most LIMIT_PAGE, at most LIMIT_SCAN
 * looked at, at most LIMIT_PAGE_BYTES; *ret_next is 0 at the end.
 */
int history_list(struct history *history, const struct history_filter *filter, bool newest, int64_t cursor,
		 json_t *items, int64_t *ret_next, struct error *error);

/* Rows of message `summary`; at most what fits a message, newest days first. */
int history_summary(struct history *history, const struct history_filter *filter, json_t *rows, struct error *error);

struct history_check {
	int64_t checked;  /* rows from the anchor on that are good */
	int64_t next;     /* cursor, 0 at the end */
	int64_t bad;      /* seq of the first bad row, 0 = none so far */
	const char *what; /* static */
};

/* One page of the chain's check, after row `cursor` (0 = from the anchor). */
int history_verify(struct history *history, int64_t cursor, struct history_check *ret_check, struct error *error);
