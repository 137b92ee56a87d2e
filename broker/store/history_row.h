/*
 * history_row: a row of the history as it is stored: its columns, its canonical form, its hash. For history*.c alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/string.h"
#include "schema/event.h"
#include "store/history.h"
#include "store/store.h"
#include "tail.h"

struct history_head {
	int64_t seq;
	char hash[HASH_HEX_SIZE];
	int64_t last_prompt;
};

struct history {
	struct store *store;
	struct tail *tail;
	struct history_head now, committed, stored;
	bool tail_is_changed; /* by another program */
	bool caught_up;       /* this transaction has put all into the table that waited in the tail */
	int64_t kept;         /* the head in the state row */
	int64_t anchor_seq;
	char anchor_hash[HASH_HEX_SIZE];
	/* As the upkeep row has it. */
	int64_t indexed_seq; /* the last row of the last block that is in the index */
	int64_t tallied_seq; /* the last row that is counted */
	int64_t removed;     /* rows taken away by retention that no event tells of yet */
	struct history_clock {
		int64_t now_ms;  /* retention's time (history_retain.c); 0 = not set yet */
		int64_t seen_ms; /* the wall clock when it was last looked at */
		int64_t run_ms;  /* when retention has last looked at all rows */
	} clock, kept_clock;     /* and as it is stored */
	int64_t keep_ms;         /* how long rows are kept; 0 = not known, so for ever */
	int64_t bad;             /* the first row that didn't follow the one before when it was taken away; 0 = none */
};

/* By EVENT_COLUMNS; texts borrowed. */
struct row {
	int64_t seq, time_ms;
	const char *kind;
	int64_t session;
	const char *profile, *project, *process, *permission, *target, *verdict, *by, *why;
	int64_t grant, prompt;
	const char *detail; /* JSON */
};
enum { COLUMN_HASH = 15 };

struct row row_of_event(const struct event *event, const char *detail);
struct row row_of_statement(sqlite3_stmt *statement); /* until its next step */
void row_bind(const struct row *row, sqlite3_stmt *statement);

/* The canonical form, which has no line feed; and back: false when that never was a row's. `text` is changed and then
 * borrowed by the row. */
void row_write(const struct row *row, struct string *out);
bool row_parse(char *text, struct row *ret_row);
void row_hash_text(char ret_hash[HASH_HEX_SIZE], const char *previous, const char *text, size_t size);

/* NULL when the row is number `expected` and follows `previous`, which it then replaces; else what is wrong (static).
 */
const char *row_check(sqlite3_stmt *statement, int64_t expected, char previous[HASH_HEX_SIZE]);

/* -EINVAL when the row holds what history_append never writes. */
int row_read_event(const struct row *row, struct event *ret_event);

/* What is in the tail alone: rows that can't be put into the table now, since the disk is full. */
struct waiting {
	char *lines;
	struct waiting_row {
		struct row row; /* borrowed of the lines */
		char hash[HASH_HEX_SIZE];
	} * rows;
	size_t count;
};
int waiting_read(const struct history *history, struct waiting *ret_waiting, struct error *error);
void waiting_finish(struct waiting *waiting);
#define CLEANUP_WAITING __attribute__((cleanup(waiting_finish)))

void hash_copy(char to[HASH_HEX_SIZE], const char *from); /* NULL: empty */
