#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "history_row.h"

enum { VERIFY_PAGE = 500 };

/* What the row after `seq` must follow: the anchor's hash or that row's. */
static int previous_hash(struct history *history, int64_t seq, char ret_hash[HASH_HEX_SIZE], struct error *error) {
	if (seq == history->anchor_seq) {
		hash_copy(ret_hash, history->anchor_hash);
		return 0;
	}
	sqlite3_stmt *read = store_statement(history->store, STORE_EVENT_READ);
	store_bind_integer(read, 1, seq);
	int r = 0;
	if (sqlite3_step(read) == SQLITE_ROW)
		hash_copy(ret_hash, store_column(read, COLUMN_HASH));
	else
		r = error_set(error, EINVAL, "there is no row %lld in the history to go on from", (long long)seq);
	sqlite3_reset(read);
	return r;
}

/* NULL when the row follows `previous`; moves `previous` on. */
static const char *check_row(sqlite3_stmt *statement, int64_t expected, char previous[HASH_HEX_SIZE]) {
	const struct row row = row_of_statement(statement);
	if (row.seq != expected) return "this row is missing";
	char hash[HASH_HEX_SIZE];
	row_hash(hash, previous, &row);
	if (!string_equal(store_column(statement, COLUMN_HASH), hash))
		return "this row doesn't match its hash: it was edited";
	hash_copy(previous, hash);
	return NULL;
}

int history_verify(struct history *history, int64_t cursor, struct history_check *ret_check, struct error *error) {
	struct history_check check = {0};
	int64_t seq = cursor > history->anchor_seq ? cursor : history->anchor_seq;
	char previous[HASH_HEX_SIZE];
	int r = previous_hash(history, seq, previous, error);
	if (r < 0) return r;
	sqlite3_stmt *rows = store_statement(history->store, STORE_EVENT_VERIFY);
	store_bind_integer(rows, 1, seq);
	store_bind_integer(rows, 2, VERIFY_PAGE);
	int step, count = 0;
	while (!check.what && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		check.what = check_row(rows, seq + 1, previous);
		if (check.what)
			check.bad = seq + 1;
		else
			seq++;
		count++;
	}
	if (!check.what && step != SQLITE_DONE) r = store_error(history->store, error, "reading the history");
	sqlite3_reset(rows);
	if (r < 0) return r;
	check.checked = seq - history->anchor_seq;
	if (!check.what && count == VERIFY_PAGE) {
		check.next = seq;
	} else if (!check.what && seq < history->committed.seq) {
		check.bad = seq + 1;
		check.what = "the rows from here on are missing: the history was cut off";
	} else if (!check.what && strcmp(previous, history->committed.hash) != 0) {
		check.bad = seq;
		check.what = "the last row is not the one that was written last";
	}
	*ret_check = check;
	return 0;
}
