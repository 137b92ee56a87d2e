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
#include "store/store.h"

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
 * the machine. It is in the tail at first, until history_append or history_keep_head puts it into the table;
 * history_list and history_verify read both, what is derived (summaries) the table alone.
 */
int history_note(struct history *history, struct event *event, struct error *error);
int64_t history_waiting(const struct history *history); /* rows in the tail */
/* Another program has removed, cut or changed it. Nothing is written to the history then; the caller should end. */
bool history_tail_is_gone(const struct history *history);

/* Within a transaction: the row that tells of a cut is brought up to the last event. */
bool history_head_is_behind(const struct history *history);
int history_keep_head(struct history *history, struct error *error);

/* Retention has taken this row: nothing can be said of it any more. */
bool history_has_taken(const struct history *history, int64_t seq);

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
 * looks at rows and index, at most LIMIT_PAGE_BYTES; *ret_next is 0 at the end.
 */
int history_list(struct history *history, const struct history_filter *filter, bool newest, int64_t cursor,
		 json_t *items, int64_t *ret_next, struct error *error);

/*
 * What is derived from the rows so that none need be read: an index for listings, tallies for summaries. A step of at
 * most some thousand rows in a transaction of its own, for when nobody waits.
 */
bool history_digest_is_due(const struct history *history);
int history_digest(struct history *history, struct error *error);

/*
 * Retention (history_retain.c): a look at the wall clock each tick, with how long rows are kept (0: for ever); then
 * steps while one is due, in transactions of their own. The step that ends a run leaves an event and fills *ret_run.
 */
struct history_run {
	int64_t removed;         /* rows in all; 0 = nothing ended with this step */
	const char *anchor_hash; /* borrowed */
	int64_t anchor_seq;
};
int history_retain_look(struct history *history, int64_t wall_ms, int64_t keep_ms, struct error *error);
bool history_retain_is_due(const struct history *history);
int history_retain(struct history *history, struct history_run *ret_run, struct error *error);
int history_retain_keep_clock(struct history *history, struct error *error); /* what the looks have seen */

/*
 * Rows of message `summary`: for each day (`days`: where they begin, oldest first; the last entry is where the last of
 * them ends), newest first, one for each profile and project that something happened to. Times count by the quarter of
 * an hour that they lie in. At most what fits a message: then *next is where to go on. -EINVAL when days aren't in
 * order.
 */
struct history_summary {
	const int64_t *days;
	size_t day_count;
	int64_t after; /* in: rows of subjects up to this one have been given for the newest day */
};
struct history_summary_next {
	int64_t day_ms;    /* the beginning of the day that is not complete, 0 when all are */
	int64_t after;     /* of its rows the last */
	int64_t before_ms; /* something happened before the oldest day: at the latest until here; 0 = nothing did */
	int64_t behind;    /* rows that aren't counted yet */
};
int history_summary(struct history *history, const struct history_filter *filter, const struct history_summary *asked,
		    json_t *rows, struct history_summary_next *ret_next, struct error *error);

struct history_check {
	int64_t checked;                     /* rows from the anchor on that are good */
	int64_t next;                        /* cursor, 0 at the end */
	int64_t bad;                         /* seq of the first bad row, 0 = none so far */
	const char *what;                    /* static */
	int64_t rebuilt_first, rebuilt_last; /* rows whose index said less than they do: it was made anew; 0 = none */
	bool recounted;                      /* the tallies are not the rows': they are being made anew */
};

/* What one check keeps from page to page; zero-initialise. Several may be under way. */
struct history_walk {
	int64_t next;            /* the cursor that goes on with it */
	int64_t anchor_seq;      /* when it began */
	int64_t recorded_anchor; /* by the last event of retention so far */
	uint64_t digest;         /* of the tallies that the rows so far make */
	bool adding;             /* the stored ones are being added up: */
	uint64_t stored;         /* their digest so far, */
	int64_t key[3];          /* up to this one, */
	int64_t tallied_seq;     /* which counted so many rows */
	int tries;
};

/*
 * One page of the check of chain, index and tallies, after row `cursor`: 0 = from the anchor, or the last page's
 * `next`. After any other the chain and the index alone are checked.
 */
int history_verify(struct history *history, struct history_walk *walk, int64_t cursor, struct history_check *ret_check,
		   struct error *error);

/* Is the row with this hash still there? NULL, or what is wrong (static). */
const char *history_check_head(struct history *history, int64_t seq, const char *hash);
