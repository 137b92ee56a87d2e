/*
 * Theory of operation.
 *
 * What is derived from the rows is brought up a block at a time, by the broker's tick and in a transaction of its own,
 * so that no decision waits for it. Index and tallies each know how far they reach: the index ends with a full block,
 * the tallies may end anywhere (a summary brings them up to the last row first).
 */
#include "base/memory.h"
#include "history_block.h"
#include "history_tally.h"

static struct row row_of_digest(sqlite3_stmt *statement) {
	return (struct row){.seq = sqlite3_column_int64(statement, 0),
			    .time_ms = sqlite3_column_int64(statement, 1),
			    .kind = store_column(statement, 2),
			    .session = sqlite3_column_int64(statement, 3),
			    .profile = store_column(statement, 4),
			    .project = store_column(statement, 5),
			    .permission = store_column(statement, 6),
			    .verdict = store_column(statement, 7),
			    .detail = store_column(statement, 8),
			    .grant = sqlite3_column_int64(statement, 9)};
}

/* Reads the rows after `low` up to `high` into the block, and into the tallies those that aren't counted. */
static int read_rows(struct history *history, int64_t low, int64_t high, struct block *block, struct tallies *tallies,
		     struct error *error) {
	sqlite3_stmt *rows = store_statement(history->store, STORE_EVENT_DIGEST);
	store_bind_integer(rows, 1, low);
	store_bind_integer(rows, 2, high);
	int step;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
		const struct row row = row_of_digest(rows);
		if (block) block_add(block, &row);
		if (row.seq > history->tallied_seq) tallies_add_row(tallies, &row);
	}
	int r = step == SQLITE_DONE ? 0 : store_error(history->store, error, "reading the history");
	sqlite3_reset(rows);
	return r;
}

static int write_digest(struct history *history, const struct block *block, const struct tallies *tallies,
			int64_t indexed, int64_t tallied, struct error *error) {
	int r = store_begin(history->store, STORE_NORMAL, error);
	if (r < 0) return r;
	if (block && block->count > 0) r = block_write(history, block, error);
	if (r == 0) r = tallies_write(history, tallies, 1, error);
	if (r == 0) {
		sqlite3_stmt *upkeep = store_statement(history->store, STORE_UPKEEP_DIGEST);
		store_bind_integer(upkeep, 1, indexed);
		store_bind_integer(upkeep, 2, tallied);
		r = store_run(history->store, upkeep, error, "writing how far the history is indexed");
	}
	if (r < 0)
		store_rollback(history->store);
	else
		r = store_commit(history->store, error);
	if (r < 0) return r;
	history->indexed_seq = indexed;
	history->tallied_seq = tallied;
	return 0;
}

static int64_t next_block_end(const struct history *history) {
	return block_last_seq(block_of(history->indexed_seq + 1));
}

bool history_digest_is_due(const struct history *history) {
	int64_t head = history->stored.seq;
	return head >= next_block_end(history) || head - history->tallied_seq >= BLOCK_ROWS;
}

int history_digest(struct history *history, struct error *error) {
	CLEANUP_TALLIES struct tallies tallies = {0};
	CLEANUP_BLOCK struct block *block = NULL;
	int64_t head = history->stored.seq, indexed = history->indexed_seq, tallied = history->tallied_seq;
	int64_t low = tallied, high = head < low + BLOCK_ROWS ? head : low + BLOCK_ROWS;
	if (head >= next_block_end(history) && tallied >= indexed) {
		low = indexed;
		high = indexed = next_block_end(history);
		block = block_new(block_of(high));
	}
	if (high <= low) return 0;
	int r = read_rows(history, low, high, block, &tallies, error);
	if (high > tallied) tallied = high;
	return r < 0 ? r : write_digest(history, block, &tallies, indexed, tallied, error);
}
