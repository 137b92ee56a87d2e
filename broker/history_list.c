#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "history_row.h"
#include "schema/limits.h"
#include "schema/message.h"

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

static bool row_wanted(const struct history_filter *filter, const struct row *row) {
	return row->time_ms >= filter->since_ms && (filter->until_ms == 0 || row->time_ms < filter->until_ms) &&
	       (filter->session == 0 || row->session == filter->session) && text_wanted(filter->kind, row->kind) &&
	       text_wanted(filter->profile, row->profile) && text_wanted(filter->project, row->project) &&
	       text_wanted(filter->permission, row->permission) && text_wanted(filter->verdict, row->verdict);
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
		const struct row row = row_of_statement(rows);
		if (row_wanted(filter, &row) && row_read_event(&row, &event) == 0) {
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
		last = row.seq;
	}
	int r = step == SQLITE_ROW || step == SQLITE_DONE ? 0
							  : store_error(history->store, error, "reading the history");
	sqlite3_reset(rows);
	return r;
}
