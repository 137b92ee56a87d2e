/*
 * history_find: which blocks of the history may have rows that fit a filter. For history*.c alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "history_block.h"

struct finder {
	struct history *history;
	const struct history_filter *filter;
	bool backwards;
	int64_t keys[BLOCK_COLUMN_COUNT]; /* that a row must have */
	size_t key_count;
	int *budget; /* looks into the index and rows that may still be taken; shared with who reads the rows */
};

void finder_init(struct finder *finder, struct history *history, const struct history_filter *filter, bool backwards,
		 int *budget);

/* Nothing to look for: every row fits. */
bool finder_is_idle(const struct finder *finder);

/*
 * From block *block on, in the finder's direction and up to block `last` with it: the first that may have such rows,
 * and which (a superset). 1 = found, 0 = there is none up to `last`; when the budget was used up before, *block is how
 * far it came and -EAGAIN is returned. Other errors are set.
 */
int finder_next(const struct finder *finder, int64_t last, int64_t *block, uint64_t ret_rows[BLOCK_WORDS],
		struct error *error);
