/*
 * Theory of operation.
 *
 * hash(n) = SHA-256(hash(n-1) as hex, canonical JSON of row n), where canonical means event_to_json's keys sorted,
 * compact, ASCII. The first row follows the anchor: seq 0 and an empty hash in a new database; when retention takes
 * rows away it writes down the last one taken there. The state row keeps the head, so that rows cut off at the end
 * show as well. The head in memory runs ahead of the committed one inside a transaction and falls back with it.
 */
#include "history.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "schema/verdict.h"

enum { VERIFY_PAGE = 500 };

struct head {
	int64_t seq;
	char hash[HASH_HEX_SIZE];
	int64_t last_prompt;
};

struct history {
	struct store *store;
	struct head now, committed;
	int64_t anchor_seq;
	char anchor_hash[HASH_HEX_SIZE];
};

static void copy_hash(char to[HASH_HEX_SIZE], const char *from) {
	size_t size = from ? strnlen(from, HASH_HEX_SIZE - 1) : 0;
	if (size > 0) memcpy(to, from, size);
	to[size] = '\0';
}

int history_open(struct store *store, struct history **ret_history, struct error *error) {
	sqlite3_stmt *read = store_statement(store, STORE_STATE_READ);
	if (sqlite3_step(read) != SQLITE_ROW) return store_error(store, error, "reading where the history ends");
	struct history *history = mem_new(struct history);
	history->store = store;
	history->now.seq = sqlite3_column_int64(read, 0);
	copy_hash(history->now.hash, store_column(read, 1));
	history->anchor_seq = sqlite3_column_int64(read, 2);
	copy_hash(history->anchor_hash, store_column(read, 3));
	history->now.last_prompt = sqlite3_column_int64(read, 4);
	sqlite3_reset(read);
	history->committed = history->now;
	*ret_history = history;
	return 0;
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
}

static void hash_event(char ret_hash[HASH_HEX_SIZE], const char *previous, const struct event *event) {
	json_t *json = event_to_json(event);
	/* json_dumps allocates with malloc, which free(3) takes. */
	CLEANUP_FREE char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
	json_decref(json);
	if (!text) mem_exhausted();
	hash_hex_two(ret_hash, previous, strlen(previous), text, strlen(text));
}

static void bind_event(sqlite3_stmt *insert, const struct event *event, const char *detail, const char *hash) {
	store_bind_integer(insert, 1, event->seq);
	store_bind_integer(insert, 2, event->time_ms);
	store_bind_text(insert, 3, event_kind_name(event->kind));
	store_bind_integer(insert, 4, event->session);
	store_bind_text(insert, 5, event->profile);
	store_bind_text(insert, 6, event->project);
	store_bind_text(insert, 7, event->process);
	store_bind_text(insert, 8, event->permission);
	store_bind_text(insert, 9, event->target);
	store_bind_text(insert, 10, event->verdict < 0 ? NULL : effect_name((enum effect)event->verdict));
	store_bind_text(insert, 11, event->by);
	store_bind_text(insert, 12, event->why);
	store_bind_integer(insert, 13, event->grant);
	store_bind_integer(insert, 14, event->prompt);
	store_bind_text(insert, 15, detail);
	store_bind_text(insert, 16, hash);
}

int history_append(struct history *history, struct event *event, struct error *error) {
	event->seq = history->now.seq + 1;
	char hash[HASH_HEX_SIZE];
	hash_event(hash, history->now.hash, event);
	CLEANUP_FREE char *detail = event->detail ? json_dumps(event->detail, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	sqlite3_stmt *insert = store_statement(history->store, STORE_EVENT_INSERT);
	bind_event(insert, event, detail, hash);
	int r = store_run(history->store, insert, error, "writing to the history");
	if (r < 0) return r;
	sqlite3_stmt *head = store_statement(history->store, STORE_STATE_HEAD);
	store_bind_integer(head, 1, event->seq);
	store_bind_text(head, 2, hash);
	r = store_run(history->store, head, error, "writing where the history ends");
	if (r < 0) return r;
	history->now.seq = event->seq;
	copy_hash(history->now.hash, hash);
	return 0;
}

int history_next_prompt(struct history *history, int64_t *ret_id, struct error *error) {
	sqlite3_stmt *update = store_statement(history->store, STORE_STATE_PROMPT);
	store_bind_integer(update, 1, history->now.last_prompt + 1);
	int r = store_run(history->store, update, error, "numbering a prompt");
	if (r == 0) *ret_id = ++history->now.last_prompt;
	return r;
}

static char *column_copy(sqlite3_stmt *row, int column) {
	const char *text = store_column(row, column);
	return text ? string_copy(text) : NULL;
}

/* -EINVAL when the row holds what history_append never writes. */
static int read_event(sqlite3_stmt *row, struct event *ret_event) {
	struct event event = {.verdict = -1};
	enum effect effect;
	const char *verdict = store_column(row, 9), *detail = store_column(row, 14);
	if (event_kind_parse(store_column(row, 2) ? store_column(row, 2) : "", &event.kind, NULL) < 0) return -EINVAL;
	if (verdict) {
		if (effect_parse(verdict, &effect, NULL) < 0) return -EINVAL;
		event.verdict = (int)effect;
	}
	if (detail && !(event.detail = json_loads(detail, 0, NULL))) return -EINVAL;
	event.seq = sqlite3_column_int64(row, 0);
	event.time_ms = sqlite3_column_int64(row, 1);
	event.session = sqlite3_column_int64(row, 3);
	event.profile = column_copy(row, 4);
	event.project = column_copy(row, 5);
	event.process = column_copy(row, 6);
	event.permission = column_copy(row, 7);
	event.target = column_copy(row, 8);
	event.by = column_copy(row, 10);
	event.why = column_copy(row, 11);
	event.grant = sqlite3_column_int64(row, 12);
	event.prompt = sqlite3_column_int64(row, 13);
	*ret_event = event;
	return 0;
}

void history_filter_finish(struct history_filter *filter) {
	free(filter->project);
	free(filter->profile);
	free(filter->permission);
	free(filter->verdict);
	free(filter->kind);
	*filter = (struct history_filter){0};
}

static bool text_wanted(const char *wanted, const char *text) {
	return !wanted || (text && strcmp(wanted, text) == 0);
}

static bool event_wanted(const struct history_filter *filter, sqlite3_stmt *row) {
	int64_t time_ms = sqlite3_column_int64(row, 1);
	return (filter->since_ms == 0 || time_ms >= filter->since_ms) &&
	       (filter->until_ms == 0 || time_ms < filter->until_ms) &&
	       (filter->session == 0 || sqlite3_column_int64(row, 3) == filter->session) &&
	       text_wanted(filter->kind, store_column(row, 2)) && text_wanted(filter->profile, store_column(row, 4)) &&
	       text_wanted(filter->project, store_column(row, 5)) &&
	       text_wanted(filter->permission, store_column(row, 7)) &&
	       text_wanted(filter->verdict, store_column(row, 9));
}

int history_list(struct history *history, const struct history_filter *filter, bool newest, int64_t cursor,
		 json_t *items, int64_t *ret_next, struct error *error) {
	sqlite3_stmt *rows = store_statement(history->store, newest ? STORE_EVENT_LIST_BACK : STORE_EVENT_LIST);
	store_bind_integer(rows, 1, newest ? 0 : cursor);
	store_bind_integer(rows, 2, newest && cursor > 0 ? cursor : INT64_MAX);
	size_t bytes = 0;
	int64_t last = 0;
	int step;
	*ret_next = 0;
	for (int scanned = 0; (step = sqlite3_step(rows)) == SQLITE_ROW; scanned++) {
		if (scanned == LIMIT_SCAN || json_array_size(items) == LIMIT_PAGE) {
			*ret_next = last;
			break;
		}
		struct event event;
		if (event_wanted(filter, rows) && read_event(rows, &event) == 0) {
			json_t *json = event_to_json(&event);
			event_finish(&event);
			bytes += json_dumpb(json, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) + 1;
			if (bytes > LIMIT_PAGE_BYTES && json_array_size(items) > 0) {
				json_decref(json);
				*ret_next = last;
				break;
			}
			json_array_append_new(items, json);
		}
		last = sqlite3_column_int64(rows, 0);
	}
	int r = step == SQLITE_ROW || step == SQLITE_DONE ? 0
							  : store_error(history->store, error, "reading the history");
	sqlite3_reset(rows);
	return r;
}

int history_summary(struct history *history, const struct history_filter *filter, json_t *rows, struct error *error) {
	static const char *const counts[] = {"sessions", "decisions", "asked", "denied"};
	sqlite3_stmt *sums = store_statement(history->store, STORE_EVENT_SUMMARY);
	store_bind_integer(sums, 1, filter->since_ms);
	store_bind_integer(sums, 2, filter->until_ms ? filter->until_ms : INT64_MAX);
	store_bind_text(sums, 3, filter->profile);
	store_bind_text(sums, 4, filter->project);
	store_bind_integer(sums, 5, filter->session);
	size_t bytes = 0;
	int step;
	while ((step = sqlite3_step(sums)) == SQLITE_ROW) {
		json_t *row = json_object();
		json_object_set_new(row, "day", message_bytes(store_column(sums, 0)));
		json_object_set_new(row, "profile", message_bytes(store_column(sums, 1)));
		json_object_set_new(row, "project", message_bytes(store_column(sums, 2)));
		for (int i = 0; i < (int)ARRAY_LENGTH(counts); i++)
			json_object_set_new(row, counts[i], json_integer(sqlite3_column_int64(sums, 3 + i)));
		bytes += json_dumpb(row, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) + 1;
		if (bytes > LIMIT_PAGE_BYTES) {
			json_decref(row);
			break;
		}
		json_array_append_new(rows, row);
	}
	int r = step == SQLITE_ROW || step == SQLITE_DONE ? 0
							  : store_error(history->store, error, "reading the history");
	sqlite3_reset(sums);
	return r;
}

/* What the row after `seq` must follow: the anchor's hash or that row's. */
static int previous_hash(struct history *history, int64_t seq, char ret_hash[HASH_HEX_SIZE], struct error *error) {
	if (seq == history->anchor_seq) {
		copy_hash(ret_hash, history->anchor_hash);
		return 0;
	}
	sqlite3_stmt *read = store_statement(history->store, STORE_EVENT_READ);
	store_bind_integer(read, 1, seq);
	int r = 0;
	if (sqlite3_step(read) == SQLITE_ROW)
		copy_hash(ret_hash, store_column(read, 15));
	else
		r = error_set(error, EINVAL, "there is no row %lld in the history to go on from", (long long)seq);
	sqlite3_reset(read);
	return r;
}

/* NULL when the row follows `previous`; moves `previous` on. */
static const char *check_row(sqlite3_stmt *row, int64_t expected, char previous[HASH_HEX_SIZE]) {
	struct event event;
	if (sqlite3_column_int64(row, 0) != expected) return "this row is missing";
	if (read_event(row, &event) < 0) return "this row can't be read: it was edited";
	char hash[HASH_HEX_SIZE];
	hash_event(hash, previous, &event);
	event_finish(&event);
	if (!string_equal(store_column(row, 15), hash)) return "this row doesn't match its hash: it was edited";
	copy_hash(previous, hash);
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
