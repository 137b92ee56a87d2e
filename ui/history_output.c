#include "ui/history_output.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/message.h"
#include "schema/verdict.h"
#include "ui/csv.h"
#include "ui/event_words.h"
#include "ui/human.h"
#include "ui/output.h"
#include "ui/records.h"

enum { NARROW_COLUMNS = 110 };

static const struct table_column columns[] = {
	{"SEQ", false, true},     {"TIME", false, false}, {"KIND", false, false},    {"SESSION", false, true},
	{"PROFILE", true, false}, {"WHAT", true, false},  {"VERDICT", false, false}, {"WHY", true, false},
};

/* Where those don't fit beside anything that can be read. */
static const struct table_column narrow_columns[] = {
	{"SEQ", false, true},  {"TIME", false, false},    {"KIND", false, false},
	{"WHAT", true, false}, {"VERDICT", false, false}, {"WHY", true, false},
};

static bool is_narrow(FILE *out) {
	const size_t width = terminal_width(out);
	return width > 0 && width < NARROW_COLUMNS;
}

void history_output_init(struct history_output *output, enum history_format format, FILE *out) {
	*output = (struct history_output){.format = format, .out = out, .narrow = is_narrow(out)};
	if (format == HISTORY_TABLE)
		output->table = output->narrow ? table_new(narrow_columns, ARRAY_LENGTH(narrow_columns))
					       : table_new(columns, ARRAY_LENGTH(columns));
}

void history_output_finish(struct history_output *output) {
	table_free(output->table);
}

static char *event_why(const struct event *event) {
	const char *why = event->why ? event->why : "";
	if (!event->by) return string_copy(*why ? why : "-");
	return string_format("%s%s%s", event->by, *why ? ": " : "", why);
}

static void add_subject(struct table *table, const struct event *event) {
	if (event->session > 0)
		table_cellf(table, "%lld", (long long)event->session);
	else
		table_cell(table, NULL);
	table_cell(table, event->profile);
}

static void add_row(struct table *table, bool narrow, const struct event *event) {
	enum { YEAR = 5, MINUTES = 11 }; /* columns of "2026-01-31 14:03:05" */
	CLEANUP_FREE char *time = human_time(event->time_ms);
	CLEANUP_FREE char *what = event_what(event);
	CLEANUP_FREE char *why = event_why(event);
	table_cellf(table, "%lld", (long long)event->seq);
	table_cellf(table, "%.*s", narrow ? MINUTES : INT_MAX, narrow && strlen(time) > YEAR ? time + YEAR : time);
	table_cell(table, event_kind_name(event->kind));
	if (!narrow) add_subject(table, event);
	table_cell(table, what);
	table_cell(table, event->verdict < 0 ? NULL : effect_name((enum effect)event->verdict));
	table_cell(table, why);
}

static int add_narrow_row(struct table *table, const json_t *item, int64_t now_ms, struct error *error) {
	(void)now_ms;
	CLEANUP_EVENT struct event event = {0};
	int r = event_from_json(item, &event, error);
	if (r == 0) add_row(table, true, &event);
	return r;
}

enum { NARROW_SEQ, NARROW_WHY = 5 };
static const size_t spare[] = {NARROW_SEQ, NARROW_WHY};

const struct records records_history = {
	.what = "history",
	.columns = narrow_columns,
	.column_count = ARRAY_LENGTH(narrow_columns),
	.spare = spare,
	.spare_count = ARRAY_LENGTH(spare),
	.add_row = add_narrow_row,
	.none = "Nothing in the history fits.",
};

static char *csv_value(const json_t *value) {
	char *text = NULL;
	if (json_is_null(value)) return string_copy("");
	if (json_is_string(value)) return message_bytes_take(value, &text, NULL) == 0 ? text : string_copy("");
	text = json_dumps(value, JSON_ENSURE_ASCII | JSON_COMPACT | JSON_ENCODE_ANY);
	return text ? text : string_copy("");
}

static void csv_line(FILE *out, const json_t *json, bool names) {
	CLEANUP_STRING struct string line = {0};
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)json, key, value) {
		CLEANUP_FREE char *text = names ? string_copy(key) : csv_value(value);
		csv_append(&line, text);
	}
	fprintf(out, "%s\r\n", line.data);
}

int history_output_add(struct history_output *output, const json_t *item, struct error *error) {
	CLEANUP_EVENT struct event event = {0};
	int r = event_from_json(item, &event, error);
	if (r < 0) return r;
	if (event.seq <= output->last_seq) return 0;
	output->last_seq = event.seq;
	output->last_ms = event.time_ms;
	if (output->format == HISTORY_TABLE) {
		add_row(output->table, output->narrow, &event);
		return 0;
	}
	json_t *json = event_to_json(&event);
	if (output->format == HISTORY_JSON) {
		json_line(output->out, json);
	} else {
		if (!output->headed) csv_line(output->out, json, true);
		csv_line(output->out, json, false);
		output->headed = true;
	}
	json_decref(json);
	return 0;
}

void history_output_flush(struct history_output *output) {
	if (output->table && table_rows(output->table) > 0) {
		table_print(output->table, output->out, terminal_width(output->out), !output->headed);
		output->headed = true;
	}
	fflush(output->out);
}
