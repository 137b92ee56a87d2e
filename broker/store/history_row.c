#include "history_row.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/verdict.h"

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
static_assert(ARRAY_LENGTH(columns) == COLUMN_HASH, "every column but the hash is in the table");

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

void row_write(const struct row *row, struct string *out) {
	for (size_t i = 0; i < COLUMN_HASH; i++) {
		const char *text = columns[i].type == COLUMN_INTEGER ? NULL : row_text(row, i);
		string_append_char(out, i == 0 ? '[' : ',');
		if (columns[i].type == COLUMN_INTEGER) {
			string_append_integer(out, row_integer(row, i));
		} else if (!text || columns[i].type == COLUMN_JSON) {
			string_append(out, text ? text : "null");
		} else {
			string_append_char(out, '"');
			append_escaped(out, text);
			string_append_char(out, '"');
		}
	}
	string_append_char(out, ']');
}

/* Reading: each takes its value off *rest. */

static bool take(char **rest, const char *expected) {
	if (!string_starts(*rest, expected)) return false;
	*rest += strlen(expected);
	return true;
}

static bool take_integer(char **rest, int64_t *ret_value) {
	char *end;
	if (**rest != '-' && (**rest < '0' || **rest > '9')) return false;
	*ret_value = strtoll(*rest, &end, 10);
	*rest = end;
	return true;
}

/* The byte that an escape stands for; 0 = none. */
static char take_escape(char **rest) {
	if (take(rest, "\"")) return '"';
	if (take(rest, "\\")) return '\\';
	if (!take(rest, "u00") && !take(rest, "uf7")) return '\0';
	char digits[3] = {0}, *end;
	memcpy(digits, *rest, strnlen(*rest, 2));
	unsigned long byte = strtoul(digits, &end, 16);
	if (end != digits + 2) return '\0';
	*rest += 2;
	return (char)byte;
}

/* In place: an escape is never shorter than its byte. */
static bool take_text(char **rest, const char **ret_text) {
	if (!take(rest, "\"")) return false;
	char *out = *rest;
	*ret_text = out;
	while (**rest && **rest != '"') {
		char c = *(*rest)++;
		if (c == '\\' && (c = take_escape(rest)) == '\0') return false;
		*out++ = c;
	}
	if (!take(rest, "\"")) return false;
	*out = '\0';
	return true;
}

/* The last column: all that is left. */
static bool take_json(char **rest, const char **ret_text) {
	size_t size = strlen(*rest);
	if (size < 3 || (*rest)[0] != '{' || (*rest)[size - 2] != '}') return false;
	*ret_text = *rest;
	*rest += size - 1;
	return true;
}

bool row_parse(char *text, struct row *ret_row) {
	struct row row = {0};
	for (size_t i = 0; i < COLUMN_HASH; i++) {
		char *place = (char *)&row + columns[i].offset;
		bool good = take(&text, i == 0 ? "[" : ",");
		if (good && columns[i].type == COLUMN_INTEGER)
			good = take_integer(&text, (int64_t *)place);
		else if (good && !take(&text, "null"))
			good = columns[i].type == COLUMN_JSON ? take_json(&text, (const char **)place)
							      : take_text(&text, (const char **)place);
		if (!good) return false;
	}
	if (strcmp(text, "]") != 0) return false;
	*text = '\0'; /* it ends the detail */
	*ret_row = row;
	return true;
}

void row_hash_text(char ret_hash[HASH_HEX_SIZE], const char *previous, const char *text, size_t size) {
	hash_hex_two(ret_hash, previous, strlen(previous), text, size);
}

static void row_hash(char ret_hash[HASH_HEX_SIZE], const char *previous, const struct row *row) {
	CLEANUP_STRING struct string text = {0};
	row_write(row, &text);
	row_hash_text(ret_hash, previous, text.data, text.size);
}

struct row row_of_event(const struct event *event, const char *detail) {
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

struct row row_of_statement(sqlite3_stmt *statement) {
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

void row_bind(const struct row *row, sqlite3_stmt *statement) {
	for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
		if (columns[i].type == COLUMN_INTEGER)
			store_bind_integer(statement, (int)i + 1, row_integer(row, i));
		else
			store_bind_text(statement, (int)i + 1, row_text(row, i));
	}
}

const char *row_check(sqlite3_stmt *statement, int64_t expected, char previous[HASH_HEX_SIZE]) {
	const struct row row = row_of_statement(statement);
	if (row.seq != expected) return "this row is missing";
	char hash[HASH_HEX_SIZE];
	row_hash(hash, previous, &row);
	if (!string_equal(store_column(statement, COLUMN_HASH), hash))
		return "this row doesn't match its hash: it was edited";
	hash_copy(previous, hash);
	return NULL;
}

int row_read_event(const struct row *row, struct event *ret_event) {
	struct event event = {.verdict = -1};
	enum effect effect;
	if (!row->kind || event_kind_parse(row->kind, &event.kind, NULL) < 0) return -EINVAL;
	if (row->verdict) {
		if (effect_parse(row->verdict, &effect, NULL) < 0) return -EINVAL;
		event.verdict = (int)effect;
	}
	if (row->detail && !(event.detail = json_loads(row->detail, 0, NULL))) return -EINVAL;
	event.seq = row->seq;
	event.time_ms = row->time_ms;
	event.session = row->session;
	event.profile = string_copy_or_null(row->profile);
	event.project = string_copy_or_null(row->project);
	event.process = string_copy_or_null(row->process);
	event.permission = string_copy_or_null(row->permission);
	event.target = string_copy_or_null(row->target);
	event.by = string_copy_or_null(row->by);
	event.why = string_copy_or_null(row->why);
	event.grant = row->grant;
	event.prompt = row->prompt;
	*ret_event = event;
	return 0;
}

void hash_copy(char to[HASH_HEX_SIZE], const char *from) {
	size_t size = from ? strnlen(from, HASH_HEX_SIZE - 1) : 0;
	if (size > 0) memcpy(to, from, size);
	to[size] = '\0';
}
