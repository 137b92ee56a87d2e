/*
 * Theory of operation.
 *
 * hash(n) = SHA-256(hash(n-1) as hex, canonical JSON of row n). Canonical: a list of the columns in the table's
 * order but for the hash, no spaces, null for NULL, detail as it is stored; in texts a quote and a backslash
 * are escaped by a backslash, bytes below 0x20 are \u00XX and those from 0x80 on \uf7XX. It is written here and not by
 * Jansson because every decision pays for it. The first row follows the anchor: seq 0 and an empty hash in a new
 * database; when retention takes rows away it writes down the last one taken there. The state row keeps the head, so
 * that rows cut off at the end show as well. It is written by history_keep_head (each second, with each session's end),
 * not with each row, which would cost a page more a decision; rows after it that follow it are the chain's all the
 * same. The head in memory is always the last row's; inside a transaction it runs ahead of the committed one and falls
 * back with it.
 */
#include "history.h"

#include <stdlib.h>

#include "base/memory.h"
#include "history_row.h"

int history_open(struct store *store, struct history **ret_history, struct error *error) {
	sqlite3_stmt *read = store_statement(store, STORE_STATE_READ);
	if (sqlite3_step(read) != SQLITE_ROW) return store_error(store, error, "reading where the history ends");
	struct history *history = mem_new(struct history);
	history->store = store;
	history->now.seq = sqlite3_column_int64(read, 0);
	hash_copy(history->now.hash, store_column(read, 1));
	history->anchor_seq = sqlite3_column_int64(read, 2);
	hash_copy(history->anchor_hash, store_column(read, 3));
	history->now.last_prompt = sqlite3_column_int64(read, 4);
	sqlite3_reset(read);
	history->kept = history->now.seq;
	/* Fewer rows than the head says: they were cut off, and the numbers go on so that the gap stays. */
	sqlite3_stmt *last = store_statement(store, STORE_STATE_LAST);
	if (sqlite3_step(last) == SQLITE_ROW && sqlite3_column_int64(last, 0) > history->now.seq) {
		history->now.seq = sqlite3_column_int64(last, 0);
		hash_copy(history->now.hash, store_column(last, 1));
	}
	sqlite3_reset(last);
	history->committed = history->now;
	*ret_history = history;
	return 0;
}

bool history_head_is_behind(const struct history *history) {
	return history->kept != history->now.seq;
}

int history_keep_head(struct history *history, struct error *error) {
	if (!history_head_is_behind(history)) return 0;
	sqlite3_stmt *head = store_statement(history->store, STORE_STATE_HEAD);
	store_bind_integer(head, 1, history->now.seq);
	store_bind_text(head, 2, history->now.hash);
	int r = store_run(history->store, head, error, "writing where the history ends");
	if (r == 0) history->kept = history->now.seq;
	return r;
}

void history_free(struct history *history) {
	free(history);
}

int64_t history_head(const struct history *history, const char **ret_hash) {
	*ret_hash = history->committed.hash;
	return history->committed.seq;
}

void history_committed(struct history *history) {
	history->committed = history->now;
}

void history_rolled_back(struct history *history) {
	history->now = history->committed;
	history->kept = -1; /* whatever it is, it isn't known to be this */
}

static int insert_row(struct history *history, const struct row *row, const char *hash, struct error *error) {
	sqlite3_stmt *insert = store_statement(history->store, STORE_EVENT_INSERT);
	row_bind(row, insert);
	store_bind_text(insert, COLUMN_HASH + 1, hash);
	return store_run(history->store, insert, error, "writing to the history");
}

int history_append(struct history *history, struct event *event, struct error *error) {
	event->seq = history->now.seq + 1;
	/* json_dumps allocates with malloc, which free(3) takes. */
	CLEANUP_FREE char *detail = event->detail ? json_dumps(event->detail, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	const struct row row = row_of_event(event, detail);
	char hash[HASH_HEX_SIZE];
	row_hash(hash, history->now.hash, &row);
	int r = insert_row(history, &row, hash, error);
	if (r < 0) return r;
	history->now.seq = event->seq;
	hash_copy(history->now.hash, hash);
	return 0;
}

int history_next_prompt(struct history *history, int64_t *ret_id, struct error *error) {
	sqlite3_stmt *update = store_statement(history->store, STORE_STATE_PROMPT);
	store_bind_integer(update, 1, history->now.last_prompt + 1);
	int r = store_run(history->store, update, error, "numbering a prompt");
	if (r == 0) *ret_id = ++history->now.last_prompt;
	return r;
}
