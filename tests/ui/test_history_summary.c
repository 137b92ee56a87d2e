/* Days as people count them, also where the clock changes, and the sentences of --summary. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/string.h"
#include "support/cmocka.h"
#include "ui/history_summary.h"

/* As POSIX writes them, so that no zone file is needed. */
#define BERLIN    "CET-1CEST,M3.5.0,M10.5.0/3"
#define BEIRUT    "EET-2EEST,M3.5.0/0,M10.5.0/0"
#define HAVANA    "CST5CDT,M3.2.0/0,M11.1.0/1"
#define KATHMANDU "<+0545>-5:45"
#define LORD_HOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"

static const int64_t HOUR = 3600 * INT64_C(1000);

static int64_t moment(const char *zone, const char *stamp) {
	int64_t ms = 0;
	setenv("TZ", zone, 1);
	tzset();
	assert_int_equal(stamp_parse(stamp, &ms, NULL), 0);
	return ms;
}

static void starts_at(int64_t ms, int days, const char *stamp) {
	char text[CLOCK_STAMP_SIZE];
	stamp_format(day_start_ms(ms, days), text);
	assert_string_equal(text, stamp);
}

static void a_day_begins_at_local_midnight(void **state) {
	(void)state;
	int64_t noon = moment(BERLIN, "2026-01-15T11:00:00Z");
	starts_at(noon, 0, "2026-01-14T23:00:00.000Z");
	starts_at(noon, -1, "2026-01-13T23:00:00.000Z");
	starts_at(noon, 1, "2026-01-15T23:00:00.000Z");
	starts_at(noon, -15, "2025-12-30T23:00:00.000Z");
	starts_at(moment(KATHMANDU, "2026-01-15T18:14:59Z"), 0, "2026-01-14T18:15:00.000Z");
	starts_at(moment(KATHMANDU, "2026-01-15T18:15:00Z"), 0, "2026-01-15T18:15:00.000Z");
}

static void days_of_23_and_25_hours_are_whole(void **state) {
	(void)state;
	int64_t spring = moment(BERLIN, "2026-03-29T12:00:00Z");
	assert_int_equal(day_start_ms(spring, 1) - day_start_ms(spring, 0), 23 * HOUR);
	int64_t autumn = moment(BERLIN, "2026-10-25T12:00:00Z");
	assert_int_equal(day_start_ms(autumn, 1) - day_start_ms(autumn, 0), 25 * HOUR);
	starts_at(autumn, 0, "2026-10-24T22:00:00.000Z");
	starts_at(autumn, 1, "2026-10-25T23:00:00.000Z");
}

/* In Beirut the clock goes from 23:59:59 to 01:00; in Havana in autumn 00:00 to 01:00 comes twice. */
static void a_midnight_that_is_missing_or_comes_twice_is_the_first_moment_of_its_date(void **state) {
	(void)state;
	int64_t missing = moment(BEIRUT, "2026-03-29T12:00:00Z");
	starts_at(missing, 0, "2026-03-28T22:00:00.000Z");
	assert_int_equal(day_start_ms(missing, 1) - day_start_ms(missing, 0), 23 * HOUR);
	assert_int_equal(day_start_ms(missing, 0) - day_start_ms(missing, -1), 24 * HOUR);
	int64_t twice = moment(HAVANA, "2026-11-01T18:00:00Z");
	starts_at(twice, 0, "2026-11-01T04:00:00.000Z");
	assert_int_equal(day_start_ms(twice, 1) - day_start_ms(twice, 0), 25 * HOUR);
}

static void every_day_of_some_years_ends_where_the_next_begins(void **state) {
	(void)state;
	static const char *const zones[] = {"UTC", BERLIN, HAVANA, BEIRUT, LORD_HOWE};
	for (size_t i = 0; i < ARRAY_LENGTH(zones); i++) {
		int64_t ms = moment(zones[i], "2009-01-01T12:00:00Z"), end = ms + 20 * 365 * 24 * HOUR;
		for (int64_t start = day_start_ms(ms, 0); start < end;) {
			int64_t next = day_start_ms(start, 1);
			assert_in_range(next - start, 23 * HOUR, 25 * HOUR);
			assert_int_equal(day_start_ms(next - 1, 0), start);
			assert_int_equal(day_start_ms(next, 0), next);
			start = next;
		}
	}
}

static void is_called(int64_t day, int64_t now, const char *name) {
	CLEANUP_FREE char *text = day_name(day, now);
	assert_string_equal(text, name);
}

static void days_are_called_as_people_do(void **state) {
	(void)state;
	int64_t now = moment(BERLIN, "2026-10-26T00:30:00Z"); /* Monday after the clock change */
	is_called(day_start_ms(now, 0), now, "today");
	is_called(day_start_ms(now, -1), now, "yesterday");
	is_called(day_start_ms(now, -2), now, "Saturday");
	is_called(day_start_ms(now, -6), now, "Tuesday");
	is_called(day_start_ms(now, -7), now, "2026-10-19");
	is_called(day_start_ms(now, 1), now, "2026-10-27");
}

static void says(const char *row, const char *expected) {
	json_t *json = json_loads(row, 0, NULL);
	int64_t now = moment("UTC", "2026-01-31T12:00:00Z");
	assert_non_null(json);
	CLEANUP_FREE char *text = summary_sentence(json, day_start_ms(now, -1), now);
	assert_string_equal(text, expected);
	json_decref(json);
}

static void a_row_is_a_sentence(void **state) {
	(void)state;
	setenv("HOME", "/home/u", 1);
	says("{\"profile\":\"npm\",\"project\":\"/home/u/"
	     "app\",\"sessions\":3,\"decisions\":41,\"asked\":2,\"denied\":1}",
	     "yesterday npm in ~/app: 3 sessions, 41 decisions, 2 asked, 1 denied");
	says("{\"profile\":\"npm\",\"project\":\"/srv/x\",\"sessions\":1,\"decisions\":1,\"asked\":0,\"denied\":0}",
	     "yesterday npm in /srv/x: 1 session, 1 decision");
	says("{\"profile\":\"npm\",\"project\":\"\",\"sessions\":0,\"decisions\":2,\"asked\":0,\"denied\":2}",
	     "yesterday npm: 2 decisions, 2 denied");
}

static void attack_broker_09_names_in_a_sentence_are_visible(void **state) {
	(void)state;
	says("{\"profile\":\"a\\u001b[31mb\",\"project\":\"/"
	     "p\\n\\u202eq\\uf7ff\",\"sessions\":1,\"decisions\":0,\"asked\":0,"
	     "\"denied\":0}",
	     "yesterday a\\x1b[31mb in /p\\n\\u{202e}q\\xff: 1 session");
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_day_begins_at_local_midnight),
		cmocka_unit_test(days_of_23_and_25_hours_are_whole),
		cmocka_unit_test(a_midnight_that_is_missing_or_comes_twice_is_the_first_moment_of_its_date),
		cmocka_unit_test(every_day_of_some_years_ends_where_the_next_begins),
		cmocka_unit_test(days_are_called_as_people_do),
		cmocka_unit_test(a_row_is_a_sentence),
		cmocka_unit_test(attack_broker_09_names_in_a_sentence_are_visible),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
