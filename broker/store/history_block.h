/*
 * history_block: what finds rows of the history without reading them, for 1,024 consecutive rows at a time. For
 * history*.c alone.
 *
 * Promises: derived from the rows alone, so a block can be compared with them and made anew. A reader looks at each row
 * that a block names, so one that names too many costs time only; history_verify names one that names too few.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history_row.h"

enum {
	BLOCK_ROWS = 1024,
	BLOCK_WORDS = BLOCK_ROWS / 64,
	ZONE_FAN_BITS = 5, /* a zone covers 32 of the level below */
	ZONE_LEVELS = 4,   /* the highest covers 2²⁵ rows */
};

static inline int64_t block_of(int64_t seq) {
	return (seq - 1) / BLOCK_ROWS;
}

static inline int64_t block_first_seq(int64_t block) {
	return block * BLOCK_ROWS + 1;
}

static inline int64_t block_last_seq(int64_t block) {
	return (block + 1) * BLOCK_ROWS;
}

/* The columns that are indexed, as a filter and a row have them. */
enum block_column {
	BLOCK_KIND,
	BLOCK_SESSION,
	BLOCK_PROFILE,
	BLOCK_PROJECT,
	BLOCK_PERMISSION,
	BLOCK_VERDICT,
};
enum { BLOCK_COLUMN_COUNT = BLOCK_VERDICT + 1 };

/* Two texts may share a key. */
int64_t block_key_of_text(enum block_column column, const char *text);
int64_t block_key_of_session(int64_t session);

struct block_value {
	int64_t key;
	uint64_t rows[BLOCK_WORDS]; /* bit i: the block's row i has it */
};

enum { BLOCK_SLOTS = 2 * 8192 };

struct block {
	int64_t number;
	int64_t first_ms, last_ms; /* the earliest and the latest */
	struct block_value *values;
	size_t count;
	uint16_t slots[BLOCK_SLOTS]; /* a key's place in values, plus one */
};

struct block *block_new(int64_t number);
void block_free(struct block *block);
static inline void block_free_p(struct block **block) {
	block_free(*block);
}
#define CLEANUP_BLOCK __attribute__((cleanup(block_free_p)))

void block_add(struct block *block, const struct row *row); /* one of its rows */

/* Within a transaction. Blocks are removed in their order, with their rows. */
int block_write(struct history *history, const struct block *block, struct error *error);
int block_rewrite(struct history *history, const struct block *block, struct error *error); /* whatever is stored */
int block_remove(struct history *history, int64_t number, struct error *error);

/*
 * 1 when what is stored of the block names all of its rows that are after the anchor, 0 when not. The block was made
 * of these rows.
 */
int block_is_stored(struct history *history, const struct block *block, struct error *error);

/* Rows as they are stored and back: an empty text means all, 128 bytes are bits, fewer are places of 16 bits each. */
void block_rows_decode(const void *bytes, size_t size, uint64_t ret_rows[BLOCK_WORDS]);
