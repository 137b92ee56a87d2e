#include <errno.h>

#include "base/clock.h"
#include "base/memory.h"
#include "history_tally.h"
#include "schema/limits.h"
#include "schema/message.h"

enum { DIGESTS_MOST = 8 }; /* blocks that one summary brings up itself */

static int bring_up(struct history *history, struct error *error) {
	int r = 0;
	for (int i = 0; r == 0 && i < DIGESTS_MOST && history->tallied_seq < history->stored.seq; i++)
		r = history_digest(history, error);
	return r;
}

static json_t *row_to_json(sqlite3_stmt *sums, int64_t day_ms) {
	static const char *const counts[TALLY_COUNT] = {"sessions", "decisions", "asked", "denied"};
	json_t *row = json_object();
	char stamp[CLOCK_STAMP_SIZE];
	stamp_format(day_ms, stamp);
	json_object_set_new(row, "day", json_string(stamp));
	json_object_set_new(row, "profile", message_bytes(store_column(sums, 1)));
	json_object_set_new(row, "project", message_bytes(store_column(sums, 2)));
	for (int i = 0; i < TALLY_COUNT; i++)
		json_object_set_new(row, counts[i], json_integer(sqlite3_column_int64(sums, 3 + i)));
	return row;
}

struct span {
	int64_t first, end; /* quarters; the end excluded */
};

/* The quarters of the day from `start` to `end` that --since and --until leave. */
static struct span span_of(const struct history_filter *filter, int64_t start, int64_t end) {
	if (filter->since_ms > start) start = filter->since_ms;
	if (filter->until_ms != 0 && filter->until_ms < end) end = filter->until_ms;
	return (struct span){quarter_of(start), end > start ? quarter_of(end - 1) + 1 : quarter_of(start)};
}

/* 0, or 1 when there was no room for all of its rows: *after is the subject of the last. */
static int sum_day(struct history *history, const struct history_filter *filter, const struct span *span,
		   int64_t day_ms, json_t *rows, size_t *bytes, int64_t *after, struct error *error) {
	sqlite3_stmt *sums = store_statement(history->store, STORE_TALLY_SUM);
	store_bind_integer(sums, 1, filter->session);
	store_bind_integer(sums, 2, span->first);
	store_bind_integer(sums, 3, span->end);
	store_bind_integer(sums, 4, *after);
	store_bind_text(sums, 5, filter->profile);
	store_bind_text(sums, 6, filter->project);
	int step, r = 0;
	while (r == 0 && (step = sqlite3_step(sums)) == SQLITE_ROW) {
		json_t *row = row_to_json(sums, day_ms);
		*bytes += json_dumpb(row, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) + 1;
		r = *bytes > LIMIT_PAGE_BYTES && json_array_size(rows) > 0;
		if (r == 0) {
			json_array_append(rows, row);
			*after = sqlite3_column_int64(sums, 0);
		}
		json_decref(row);
	}
	if (r == 0 && step != SQLITE_DONE) r = store_error(history->store, error, "reading the history's tallies");
	sqlite3_reset(sums);
	return r;
}

/* Where the newest quarter before `quarter` ends, 0 when there is none. */
static int find_before(struct history *history, const struct history_filter *filter, int64_t quarter,
		       int64_t *ret_before_ms, struct error *error) {
	sqlite3_stmt *newest = store_statement(history->store, STORE_TALLY_BEFORE);
	store_bind_integer(newest, 1, filter->session);
	store_bind_integer(newest, 2, quarter);
	int r = 0;
	*ret_before_ms = 0;
	if (sqlite3_step(newest) != SQLITE_ROW)
		r = store_error(history->store, error, "reading the history's tallies");
	else if (sqlite3_column_type(newest, 0) != SQLITE_NULL)
		*ret_before_ms = (sqlite3_column_int64(newest, 0) + 1) * QUARTER_MS;
	sqlite3_reset(newest);
	return r;
}

int history_summary(struct history *history, const struct history_filter *filter, const struct history_summary *asked,
		    json_t *rows, struct history_summary_next *ret_next, struct error *error) {
	struct history_summary_next next = {0};
	int64_t after = asked->after;
	size_t bytes = 0;
	for (size_t i = 1; i < asked->day_count; i++)
		if (asked->days[i] <= asked->days[i - 1])
			return error_set(error, EINVAL, "the days of a summary must be in order");
	int r = bring_up(history, error);
	for (size_t day = asked->day_count; r == 0 && day-- > 1;) {
		struct span span = span_of(filter, asked->days[day - 1], asked->days[day]);
		r = sum_day(history, filter, &span, asked->days[day - 1], rows, &bytes, &after, error);
		if (r == 1) next = (struct history_summary_next){.day_ms = asked->days[day - 1], .after = after};
		after = 0;
	}
	if (r == 0 && asked->day_count > 0)
		r = find_before(history, filter, quarter_of(asked->days[0]), &next.before_ms, error);
	if (r < 0) return r;
	next.behind = history->stored.seq - history->tallied_seq;
	*ret_next = next;
	return 0;
}
