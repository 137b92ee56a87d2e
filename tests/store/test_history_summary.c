/* Summaries: by day, profile and project; what --since, --until, --session mean; at any number of subjects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/string.h"
#include "history_fixture.h"
#include "support/home.h"

static const int64_t QUARTER = 15 * 60 * INT64_C(1000), DAY = 24 * 3600 * INT64_C(1000);
#define MIDNIGHT (FIXTURE_START_MS - FIXTURE_START_MS % (24 * 3600 * INT64_C(1000)))

static int64_t number(const json_t *rows, size_t index, const char *key) {
	return json_integer_value(json_object_get(json_array_get(rows, index), key));
}

static const char *text(const json_t *rows, size_t index, const char *key) {
	return json_string_value(json_object_get(json_array_get(rows, index), key));
}

/* Of some days from midnight on; freed by the caller. */
static json_t *summarise(struct world *world, const struct history_filter *filter, int days,
			 struct history_summary_next *next) {
	static const struct history_filter all = {0};
	int64_t starts[32];
	for (int i = 0; i <= days; i++) starts[i] = MIDNIGHT + i * DAY;
	const struct history_summary asked = {starts, (size_t)days + 1, next->after};
	json_t *rows = json_array();
	assert_int_equal(history_summary(world->history, filter ? filter : &all, &asked, rows, next, NULL), 0);
	return rows;
}

static void append_day(struct world *world) {
	world_append(world, EVENT_SESSION_START, 1, "npm", "/p", NULL, -1);
	world_append(world, EVENT_DECISION, 1, "npm", "/p", "fs:read", 2);
	world_append(world, EVENT_DECISION, 1, "npm", "/p", "fs:read", 0);
	world_append(world, EVENT_CONNECTION, 1, "npm", "/p", "net:access", 0);
	world_append(world, EVENT_PROMPT, 1, "npm", "/p", "net:access", -1);
	world_append(world, EVENT_DECISION, 2, "git", NULL, "fs:read", 2);
	world_append(world, EVENT_POLICY, 0, NULL, NULL, NULL, -1);
}

static void it_counts_by_day_profile_and_project(void **state) {
	struct world *world = *state;
	struct history_summary_next next = {0};
	append_day(world);
	world->time_ms += DAY;
	append_day(world);
	json_t *rows = summarise(world, NULL, 3, &next);
	assert_int_equal(json_array_size(rows), 4);
	assert_string_equal(text(rows, 0, "day"), "2023-11-15T00:00:00.000Z"); /* newest first */
	assert_string_equal(text(rows, 2, "day"), "2023-11-14T00:00:00.000Z");
	assert_string_equal(text(rows, 0, "profile"), "npm");
	assert_int_equal(number(rows, 0, "sessions"), 1);
	assert_int_equal(number(rows, 0, "decisions"), 2);
	assert_int_equal(number(rows, 0, "asked"), 1);
	assert_int_equal(number(rows, 0, "denied"), 2);
	assert_string_equal(text(rows, 1, "project"), "");
	assert_int_equal(next.day_ms, 0);
	assert_int_equal(next.before_ms, 0);
	assert_int_equal(next.behind, 0);
	json_decref(rows);
}

static void what_came_since_the_last_summary_is_in_the_next(void **state) {
	struct world *world = *state;
	for (int i = 1; i <= 3; i++) {
		struct history_summary_next next = {0};
		append_day(world);
		json_t *rows = summarise(world, NULL, 1, &next);
		assert_int_equal(number(rows, 0, "decisions"), 2 * i);
		json_decref(rows);
	}
}

static void filters_choose_subjects_and_sessions(void **state) {
	struct world *world = *state;
	const struct {
		struct history_filter filter;
		size_t rows;
		int64_t decisions;
	} cases[] = {{{.profile = (char *)"npm"}, 1, 2},
		     {{.project = (char *)"/p"}, 1, 2},
		     {{.profile = (char *)"npm", .project = (char *)"/q"}, 0, 0},
		     {{.session = 1}, 1, 2},
		     {{.session = 2}, 1, 1},
		     {{.session = 3}, 0, 0}};
	append_day(world);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct history_summary_next next = {0};
		json_t *rows = summarise(world, &cases[i].filter, 1, &next);
		assert_int_equal(json_array_size(rows), cases[i].rows);
		assert_int_equal(number(rows, 0, "decisions"), cases[i].decisions);
		json_decref(rows);
	}
}

/* The quarter that --since lies in counts whole, and so does the one that --until lies in. */
static void times_count_by_quarters_of_an_hour(void **state) {
	struct world *world = *state;
	world->time_ms = MIDNIGHT + 40 * QUARTER + 60000;
	for (int i = 0; i < 4; i++) {
		world_append(world, EVENT_DECISION, 1, "npm", "/p", NULL, 2);
		world->time_ms += QUARTER;
	}
	const int64_t at = MIDNIGHT + 40 * QUARTER;
	const struct {
		int64_t since, until, decisions;
	} cases[] = {{0, 0, 4},  {at, 0, 4},     {at + QUARTER - 1, 0, 4}, {at + QUARTER, 0, 3},
		     {0, at, 0}, {0, at + 1, 1}, {0, at + QUARTER, 1},     {at + QUARTER + 5, at + 2 * QUARTER, 1}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct history_filter filter = {.since_ms = cases[i].since, .until_ms = cases[i].until};
		struct history_summary_next next = {0};
		json_t *rows = summarise(world, &filter, 1, &next);
		assert_int_equal(number(rows, 0, "decisions"), cases[i].decisions);
		json_decref(rows);
	}
}

static void it_says_when_something_last_happened_before(void **state) {
	struct world *world = *state;
	struct history_summary_next next = {0};
	world->time_ms = MIDNIGHT - 400 * DAY + 1;
	append_day(world);
	json_decref(summarise(world, NULL, 1, &next));
	assert_int_equal(next.before_ms, MIDNIGHT - 400 * DAY + QUARTER);
}

static void more_subjects_than_a_message_holds_come_in_parts(void **state) {
	enum { SUBJECTS = 1500 };
	struct world *world = *state;
	for (int i = 0; i < SUBJECTS; i++) {
		CLEANUP_FREE char *project = string_format("/home/u/some/where/deep/down/project-%d", i);
		world_append(world, EVENT_DECISION, 0, "npm", project, NULL, 2);
	}
	struct history_summary_next next = {0};
	size_t rows = 0, parts = 0;
	do {
		json_t *part = summarise(world, NULL, 1, &next);
		rows += json_array_size(part);
		json_decref(part);
		parts++;
	} while (next.day_ms != 0);
	assert_int_equal(rows, SUBJECTS);
	assert_in_range(parts, 2, 10);
}

static void days_out_of_order_are_refused(void **state) {
	struct world *world = *state;
	static const struct history_filter all = {0};
	static const int64_t days[] = {86400000, 86400000};
	const struct history_summary asked = {days, 2, 0};
	struct history_summary_next next;
	struct error error = ERROR_NONE;
	json_t *rows = json_array();
	assert_int_equal(history_summary(world->history, &all, &asked, rows, &next, &error), -EINVAL);
	json_decref(rows);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	static const struct CMUnitTest tests[] = {
		TEST(it_counts_by_day_profile_and_project),
		TEST(what_came_since_the_last_summary_is_in_the_next),
		TEST(filters_choose_subjects_and_sessions),
		TEST(times_count_by_quarters_of_an_hour),
		TEST(it_says_when_something_last_happened_before),
		TEST(more_subjects_than_a_message_holds_come_in_parts),
		TEST(days_out_of_order_are_refused),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
