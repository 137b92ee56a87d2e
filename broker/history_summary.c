#include "base/memory.h"
#include "history_row.h"
#include "schema/limits.h"
#include "schema/message.h"

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
