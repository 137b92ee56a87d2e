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
	int64_t kept; /* the head in the state row */
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
	history->kept = history->now.seq;
	/* Fewer rows than the head says: they were cut off, and the numbers go on so that the gap stays. */
	sqlite3_stmt *last = store_statement(store, STORE_STATE_LAST);
	if (sqlite3_step(last) == SQLITE_ROW && sqlite3_column_int64(last, 0) > history->now.seq) {
		history->now.seq = sqlite3_column_int64(last, 0);
		copy_hash(history->now.hash, store_column(last, 1));
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

/* A row as it is stored; texts borrowed. */
struct row {
	int64_t seq, time_ms;
	const char *kind;
	int64_t session;
	const char *profile, *project, *process, *permission, *target, *verdict, *by, *why;
	int64_t grant, prompt;
	const char *detail; /* JSON */
};

enum column_type { COLUMN_INTEGER, COLUMN_TEXT, COLUMN_JSON };

/* By EVENT_COLUMNS. */
static const struct {
	enum column_type type;
	size_t offset;
} columns[] = {
	{COLUMN_INTEGER, offsetof(struct row, seq)},   {COLUMN_INTEGER, offsetof(struct row, time_ms)},
	{COLUMN_TEXT, offsetof(struct row, kind)},     {COLUMN_INTEGER, offsetof(struct row, session)},
	{COLUMN_TEXT, offsetof(struct row, profile)},  {COLUMN_TEXT, offsetof(struct row, project)},
	{COLUMN_TEXT, offsetof(struct row, process)},  {COLUMN_TEXT, offsetof(struct row, permission)},
	{COLUMN_TEXT, offsetof(struct row, target)},   {COLUMN_TEXT, offsetof(struct row, verdict)},
	{COLUMN_TEXT, offsetof(struct row, by)},       {COLUMN_TEXT, offsetof(struct row, why)},
	{COLUMN_INTEGER, offsetof(struct row, grant)}, {COLUMN_INTEGER, offsetof(struct row, prompt)},
	{COLUMN_JSON, offsetof(struct row, detail)},
};
enum { COLUMN_HASH = ARRAY_LENGTH(columns) };

static int64_t row_integer(const struct row *row, size_t column) {
	return *(const int64_t *)((const char *)row + columns[column].offset);
}

static const char *row_text(const struct row *row, size_t column) {
	return *(const char *const *)((const char *)row + columns[column].offset);
}

static void append_escaped(struct string *out, const char *text) {
	for (const char *p = text; *p; p++) {
		size_t plain = 0;
		while (p[plain] >= 0x20 && p[plain] < 0x7f && p[plain] != '"' && p[plain] != '\\') plain++;
		string_append_bytes(out, p, plain);
		p += plain;
		if (*p == '\0') return;
		unsigned char byte = (unsigned char)*p;
		if (byte == '"' || byte == '\\')
			string_appendf(out, "\\%c", byte);
		else
			string_appendf(out, "\\u%s%02x", byte < 0x80 ? "00" : "f7", byte);
	}
}

static void append_value(struct string *out, const struct row *row, size_t column) {
	const char *text = columns[column].type == COLUMN_INTEGER ? NULL : row_text(row, column);
	if (columns[column].type == COLUMN_INTEGER) {
		string_appendf(out, "%lld", (long long)row_integer(row, column));
	} else if (!text || columns[column].type == COLUMN_JSON) {
		string_append(out, text ? text : "null");
	} else {
		string_append_char(out, '"');
		append_escaped(out, text);
		string_append_char(out, '"');
	}
}

static void hash_row(char ret_hash[HASH_HEX_SIZE], const char *previous, const struct row *row) {
	CLEANUP_STRING struct string text = {0};
	for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
		string_append_char(&text, i == 0 ? '[' : ',');
		append_value(&text, row, i);
	}
	string_append_char(&text, ']');
	hash_hex_two(ret_hash, previous, strlen(previous), text.data, text.size);
}

static struct row row_of_event(const struct event *event, const char *detail) {
	return (struct row){.seq = event->seq,
			    .time_ms = event->time_ms,
			    .kind = event_kind_name(event->kind),
			    .session = event->session,
			    .profile = event->profile,
			    .project = event->project,
			    .process = event->process,
			    .permission = event->permission,
			    .target = event->target,
			    .verdict = event->verdict < 0 ? NULL : effect_name((enum effect)event->verdict),
			    .by = event->by,
			    .why = event->why,
			    .grant = event->grant,
			    .prompt = event->prompt,
			    .detail = detail};
}

static struct row row_of_statement(sqlite3_stmt *statement) {
	struct row row;
	for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
		char *place = (char *)&row + columns[i].offset;
		if (columns[i].type == COLUMN_INTEGER)
			*(int64_t *)place = sqlite3_column_int64(statement, (int)i);
		else
			*(const char **)place = store_column(statement, (int)i);
	}
	return row;
}

static int insert_row(struct history *history, const struct row *row, const char *hash, struct error *error) {
	sqlite3_stmt *insert = store_statement(history->store, STORE_EVENT_INSERT);
	for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
		if (columns[i].type == COLUMN_INTEGER)
			store_bind_integer(insert, (int)i + 1, row_integer(row, i));
		else
			store_bind_text(insert, (int)i + 1, row_text(row, i));
	}
	store_bind_text(insert, COLUMN_HASH + 1, hash);
	return store_run(history->store, insert, error, "writing to the history");
}

int history_append(struct history *history, struct event *event, struct error *error) {
	event->seq = history->now.seq + 1;
	/* json_dumps allocates with malloc, which free(3) takes. */
	CLEANUP_FREE char *detail = event->detail ? json_dumps(event->detail, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	const struct row row = row_of_event(event, detail);
	char hash[HASH_HEX_SIZE];
	hash_row(hash, history->now.hash, &row);
	int r = insert_row(history, &row, hash, error);
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

static char *copy_or_null(const char *text) {
	return text ? string_copy(text) : NULL;
}

/* -EINVAL when the row holds what history_append never writes. */
static int read_event(sqlite3_stmt *statement, struct event *ret_event) {
	const struct row row = row_of_statement(statement);
	struct event event = {.verdict = -1};
	enum effect effect;
	if (!row.kind || event_kind_parse(row.kind, &event.kind, NULL) < 0) return -EINVAL;
	if (row.verdict) {
		if (effect_parse(row.verdict, &effect, NULL) < 0) return -EINVAL;
		event.verdict = (int)effect;
	}
	if (row.detail && !(event.detail = json_loads(row.detail, 0, NULL))) return -EINVAL;
	event.seq = row.seq;
	event.time_ms = row.time_ms;
	event.session = row.session;
	event.profile = copy_or_null(row.profile);
	event.project = copy_or_null(row.project);
	event.process = copy_or_null(row.process);
	event.permission = copy_or_null(row.permission);
	event.target = copy_or_null(row.target);
	event.by = copy_or_null(row.by);
	event.why = copy_or_null(row.why);
	event.grant = row.grant;
	event.prompt = row.prompt;
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

static bool event_wanted(const struct history_filter *filter, sqlite3_stmt *statement) {
	const struct row row = row_of_statement(statement);
	return row.time_ms >= filter->since_ms && (filter->until_ms == 0 || row.time_ms < filter->until_ms) &&
	       (filter->session == 0 || row.session == filter->session) && text_wanted(filter->kind, row.kind) &&
	       text_wanted(filter->profile, row.profile) && text_wanted(filter->project, row.project) &&
	       text_wanted(filter->permission, row.permission) && text_wanted(filter->verdict, row.verdict);
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
		copy_hash(ret_hash, store_column(read, COLUMN_HASH));
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
	hash_row(hash, previous, &row);
	if (!string_equal(store_column(statement, COLUMN_HASH), hash))
		return "this row doesn't match its hash: it was edited";
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
