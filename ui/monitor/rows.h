/*
 * rows: a part of one of the broker's listings, the newest first, and which of its rows is chosen.
 *
 * Promises: holds at most ROWS_KEPT rows and a page, however long the listing is: pages are asked for as the choice
 * nears an end, and what is far from it is given back. The choice stays with its row while others come and go. One
 * request at a time; nothing is known here of how it gets to the broker.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { ROWS_KEPT = 400, ROWS_NEAR = 120 }; /* kept; left before another page is asked for */

enum rows_request { ROWS_NONE, ROWS_RELOAD, ROWS_OLDER, ROWS_NEWER, ROWS_OLDEST };

struct monitor_rows {
	const char *what;   /* of message `list` */
	const char *key;    /* of a row's number: "id", "seq" */
	bool follows;       /* rows never go; while the newest is chosen that stays so */
	json_t *items;      /* array of records, the newest first */
	size_t chosen;      /* index; 0 where there is none */
	int64_t older;      /* cursor of the page after the last row; 0: there is none */
	int64_t newer;      /* cursor of the page before the first row, likewise */
	bool loaded, stale; /* something was read; it is another by now */
	bool to_oldest;     /* the other end is wished for */
	json_t *fresh;      /* what ROWS_RELOAD has read so far, or NULL */
	int64_t fresh_next; /* where it goes on */
	enum rows_request asked;
};

void rows_init(struct monitor_rows *rows, const char *what, const char *key, bool follows);
void rows_finish(struct monitor_rows *rows);

size_t rows_count(const struct monitor_rows *rows);
const json_t *rows_item(const struct monitor_rows *rows, size_t index); /* borrowed; NULL past the end */
int64_t rows_number(const struct monitor_rows *rows, size_t index);

/* A choice among `count` that moves, and stops at the ends. */
size_t choice_move(size_t chosen, size_t count, long by);

void rows_move(struct monitor_rows *rows, long by);
void rows_newest(struct monitor_rows *rows);
void rows_oldest(struct monitor_rows *rows);

/* The body of the `list` request that is needed now, or NULL. Without `reload` what is stale may wait. */
json_t *rows_ask(struct monitor_rows *rows, bool reload);
void rows_take(struct monitor_rows *rows, const json_t *reply); /* the page that was asked for */
void rows_lose(struct monitor_rows *rows);                      /* it doesn't come */

/* A row that is newer than all: of a listing that follows. `item` is borrowed. */
void rows_add(struct monitor_rows *rows, json_t *item);
