/*
 * Theory of operation.
 *
 * hash(n) = SHA-256(hash(n-1) as hex, canonical JSON of row n). Canonical: a list of the columns in the table's
 * order but for the hash, no spaces, null for NULL, detail as it is stored; in texts a quote and a backslash
 * are escaped by a backslash, bytes below 0x20 are \u00XX and those from 0x80 on \uf7XX. It is written here and not by
 * Jansson because every decision pays for it. The first row follows the anchor:
 * seq 0 and an empty hash in a new database; when retention takes rows away it writes down the last one taken there.
 * The state row keeps the head, so that rows cut off at the end show as well. It is written by history_keep_head (each
 * second, with each session's end), not with each row, which would cost a page more a decision; rows after it that
 * follow it are the chain's all the same.
 *
 * A row gets into the chain by one of two ways. history_append puts it into the caller's transaction. history_note is
 * for what needs no transaction, which is nearly every decision: the row goes as one line, its hash and its text, to
 * the end of a file beside the database, the tail (tail.h). A write there is a fifth of what a transaction costs. The
 * next transaction that appends, at the latest that of the tick, first puts what waits in the tail into the table, in
 * the same order and with the same hashes, and empties the file when it is committed. So the chain is always: the
 * table's rows, then the tail's.
 *
 * After the end of this process, however it ended, the next one reads the tail: a line counts if its hash says that it
 * follows the row before. That is also what tells apart a line that was half written (nobody was answered yet), and the
 * lines that had been put into the table when there was no time left to empty the file (their numbers are known).
 *
 * Three heads: `stored` is the table's last row, `committed` the chain's, which is the tail's last or the same; `now`
 * runs ahead of it inside a transaction and falls back with it.
 */
#include "store/history.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "history_row.h"

static int insert_row(struct history *history, const struct row *row, const char *hash, struct error *error) {
	sqlite3_stmt *insert = store_statement(history->store, STORE_EVENT_INSERT);
	row_bind(row, insert);
	store_bind_text(insert, COLUMN_HASH + 1, hash);
	return store_run(history->store, insert, error, "writing to the history");
}

/* The tail: lines of a hash, a space and a row's text. */

enum { LINE_TEXT = HASH_HEX_SIZE };

static void write_line(const struct row *row, const char *previous, struct string *line) {
	char hash[HASH_HEX_SIZE] = "";
	string_append_bytes(line, hash, sizeof hash);
	row_write(row, line);
	row_hash_text(hash, previous, line->data + LINE_TEXT, line->size - LINE_TEXT);
	memcpy(line->data, hash, sizeof hash);
}

/* The line at *rest, when it is a row that follows `head`; both go on behind it. */
static bool read_line(char **rest, struct history_head *head, struct row *ret_row) {
	char *line = *rest, *end = line ? strchr(line, '\n') : NULL;
	if (!end || end - line <= LINE_TEXT || line[LINE_TEXT - 1] != ' ') return false;
	*end = '\0';
	char hash[HASH_HEX_SIZE];
	row_hash_text(hash, head->hash, line + LINE_TEXT, (size_t)(end - line) - LINE_TEXT);
	if (strncmp(line, hash, HASH_HEX_SIZE - 1) != 0 || !row_parse(line + LINE_TEXT, ret_row) ||
	    ret_row->seq != head->seq + 1)
		return false;
	*head = (struct history_head){.seq = ret_row->seq, .last_prompt = head->last_prompt};
	hash_copy(head->hash, hash);
	*rest = end + 1;
	return true;
}

/* Is the tail's first line a row that the table has? Then all are. */
static bool is_stored(const char *lines, const struct history_head *stored) {
	return strlen(lines) > LINE_TEXT && strtoll(lines + LINE_TEXT + 1, NULL, 10) <= stored->seq;
}

static int recover_tail(struct history *history, struct error *error) {
	CLEANUP_FREE char *path = string_format("%s-tail", store_path(history->store)), *lines = NULL;
	size_t size;
	int r = tail_open(path, &history->tail, error);
	if (r == 0) r = tail_read(history->tail, &lines, &size, error);
	if (r < 0) return r;
	assert(lines);
	char *rest = lines;
	struct row row;
	if (!is_stored(lines, &history->stored)) {
		while (read_line(&rest, &history->committed, &row)) continue;
		if (rest < lines + size)
			log_error("%s: dropped %zu bytes that do not follow the history's row %lld", path,
				  (size_t)(lines + size - rest), (long long)history->committed.seq);
	}
	history->now = history->committed;
	return tail_cut(history->tail, (size_t)(rest - lines), error);
}

void waiting_finish(struct waiting *waiting) {
	free(waiting->lines);
	free(waiting->rows);
	*waiting = (struct waiting){0};
}

int waiting_read(const struct history *history, struct waiting *ret_waiting, struct error *error) {
	struct history_head head = history->stored;
	if (history_waiting(history) == 0) return 0;
	int r = tail_read(history->tail, &ret_waiting->lines, NULL, error);
	for (char *rest = ret_waiting->lines; r == 0 && head.seq < history->committed.seq;) {
		struct waiting_row waiting;
		if (!read_line(&rest, &head, &waiting.row))
			return error_set(error, EUCLEAN, "the history's tail was changed by another program");
		hash_copy(waiting.hash, head.hash);
		ret_waiting->rows = array_grow(ret_waiting->rows, ret_waiting->count, sizeof waiting);
		ret_waiting->rows[ret_waiting->count++] = waiting;
	}
	return r;
}

/* Within a transaction: what waits in the tail goes into the table. */
static int catch_up(struct history *history, struct error *error) {
	if (history->caught_up) return 0;
	CLEANUP_WAITING struct waiting waiting = {0};
	int r = waiting_read(history, &waiting, error);
	if (r == -EUCLEAN) history->tail_is_changed = true;
	for (size_t i = 0; r == 0 && i < waiting.count; i++)
		r = insert_row(history, &waiting.rows[i].row, waiting.rows[i].hash, error);
	history->caught_up = r == 0;
	return r;
}

static int read_state(struct history *history, struct error *error) {
	sqlite3_stmt *state = store_statement(history->store, STORE_STATE_READ);
	int r = 0;
	if (sqlite3_step(state) == SQLITE_ROW) {
		history->kept = history->now.seq = sqlite3_column_int64(state, 0);
		hash_copy(history->now.hash, store_column(state, 1));
		history->anchor_seq = sqlite3_column_int64(state, 2);
		hash_copy(history->anchor_hash, store_column(state, 3));
		history->now.last_prompt = sqlite3_column_int64(state, 4);
	} else {
		r = store_error(history->store, error, "reading where the history ends");
	}
	sqlite3_reset(state);
	return r;
}

/* The head may be behind the table. Fewer rows than it says: they were cut off, and the numbers go on so that the gap
 * stays. */
static int read_last(struct history *history, struct error *error) {
	sqlite3_stmt *last = store_statement(history->store, STORE_STATE_LAST);
	int step = sqlite3_step(last), r = 0;
	if (step == SQLITE_ROW && sqlite3_column_int64(last, 0) > history->now.seq) {
		history->now.seq = sqlite3_column_int64(last, 0);
		hash_copy(history->now.hash, store_column(last, 1));
	} else if (step != SQLITE_ROW && step != SQLITE_DONE) {
		r = store_error(history->store, error, "reading where the history ends");
	}
	sqlite3_reset(last);
	history->committed = history->stored = history->now;
	return r;
}

static int read_upkeep(struct history *history, struct error *error) {
	sqlite3_stmt *upkeep = store_statement(history->store, STORE_UPKEEP_READ);
	int r = 0;
	if (sqlite3_step(upkeep) == SQLITE_ROW) {
		history->indexed_seq = sqlite3_column_int64(upkeep, 0);
		history->tallied_seq = sqlite3_column_int64(upkeep, 1);
		history->removed = sqlite3_column_int64(upkeep, 2);
		history->clock.now_ms = sqlite3_column_int64(upkeep, 3);
		history->clock.seen_ms = sqlite3_column_int64(upkeep, 4);
		history->clock.run_ms = sqlite3_column_int64(upkeep, 5);
		history->kept_clock = history->clock;
	} else {
		r = store_error(history->store, error, "reading how far the history is indexed");
	}
	sqlite3_reset(upkeep);
	return r;
}

int history_open(struct store *store, struct history **ret_history, struct error *error) {
	struct history *history = mem_new(struct history);
	history->store = store;
	int r = read_state(history, error);
	if (r == 0) r = read_last(history, error);
	if (r == 0) r = read_upkeep(history, error);
	/* Measured by where the table ends: what doesn't follow that is dropped. */
	if (r == 0) r = recover_tail(history, error);
	if (r < 0) {
		history_free(history);
		return r;
	}
	*ret_history = history;
	return 0;
}

bool history_head_is_behind(const struct history *history) {
	return history->kept != history->now.seq;
}

int history_keep_head(struct history *history, struct error *error) {
	if (!history_head_is_behind(history)) return 0;
	int r = catch_up(history, error);
	if (r < 0) return r;
	sqlite3_stmt *head = store_statement(history->store, STORE_STATE_HEAD);
	store_bind_integer(head, 1, history->now.seq);
	store_bind_text(head, 2, history->now.hash);
	r = store_run(history->store, head, error, "writing where the history ends");
	if (r == 0) history->kept = history->now.seq;
	return r;
}

void history_free(struct history *history) {
	if (!history) return;
	tail_free(history->tail);
	free(history);
}

int64_t history_head(const struct history *history, const char **ret_hash) {
	*ret_hash = history->committed.hash;
	return history->committed.seq;
}

bool history_tail_is_gone(const struct history *history) {
	return history->tail_is_changed || !tail_is_whole(history->tail);
}

int64_t history_waiting(const struct history *history) {
	return history->committed.seq - history->stored.seq;
}

void history_committed(struct history *history) {
	struct error error = ERROR_NONE;
	bool waited = history_waiting(history) > 0;
	history->committed = history->now;
	if (!history->caught_up) return;
	history->caught_up = false;
	history->stored = history->now;
	/* If it stays, the next to read it knows that these rows are in the table. */
	if (waited && tail_cut(history->tail, 0, &error) < 0)
		log_error("emptying the history's tail: %s", error.message);
}

void history_rolled_back(struct history *history) {
	history->now = history->committed;
	history->caught_up = false;
	history->kept = -1; /* whatever it is, it isn't known to be this */
}

/* json_dumps allocates with malloc, which free(3) takes. */
static char *detail_text(const struct event *event) {
	return event->detail ? json_dumps(event->detail, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
}

int history_append(struct history *history, struct event *event, struct error *error) {
	int r = catch_up(history, error);
	if (r < 0) return r;
	CLEANUP_STRING struct string line = {0};
	CLEANUP_FREE char *detail = detail_text(event);
	event->seq = history->now.seq + 1;
	const struct row row = row_of_event(event, detail);
	write_line(&row, history->now.hash, &line);
	r = insert_row(history, &row, line.data, error);
	if (r < 0) return r;
	history->now.seq = event->seq;
	hash_copy(history->now.hash, line.data);
	return 0;
}

int history_note(struct history *history, struct event *event, struct error *error) {
	CLEANUP_STRING struct string line = {0};
	CLEANUP_FREE char *detail = detail_text(event);
	event->seq = history->now.seq + 1;
	const struct row row = row_of_event(event, detail);
	write_line(&row, history->now.hash, &line);
	hash_copy(history->now.hash, line.data);
	line.data[LINE_TEXT - 1] = ' ';
	string_append_char(&line, '\n');
	int r = tail_append(history->tail, line.data, line.size, error);
	if (r < 0) {
		history->now = history->committed;
		return error_prefix(error, "writing to the history");
	}
	history->now.seq = event->seq;
	history->committed = history->now;
	return 0;
}

int history_next_prompt(struct history *history, int64_t *ret_id, struct error *error) {
	sqlite3_stmt *update = store_statement(history->store, STORE_STATE_PROMPT);
	store_bind_integer(update, 1, history->now.last_prompt + 1);
	int r = store_run(history->store, update, error, "numbering a prompt");
	if (r == 0) *ret_id = ++history->now.last_prompt;
	return r;
}
