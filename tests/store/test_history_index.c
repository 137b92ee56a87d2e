/* Listings by the index: the same rows as by reading all, in either direction, and few looks however many rows. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/string.h"
#include "history_fixture.h"
#include "schema/limits.h"
#include "schema/verdict.h"
#include "support/home.h"

enum { ROWS = LIMIT_SCAN + 2000, RARE_ROW = 333 }; /* far enough apart that no page could read so many */

static const char *const profiles[] = {"npm", "git", NULL}, *const projects[] = {"/p", "/q/\xff", "/r"},
			 *const permissions[] = {"fs:read", "net:access", "db:access"};

/* Different from row to row without order or chance; the clock is set back now and then. */
static void fill(struct world *world, int rows) {
	unsigned seed = 12345;
	for (int i = 1; i <= rows; i++) {
		seed = seed * 1103515245U + 12345U;
		unsigned dice = seed >> 16;
		bool rare = i == RARE_ROW;
		world->time_ms += dice % 97 == 0 ? -3600000 : 20000;
		world_append(world, (enum event_kind)(dice % 11 % EVENT_KIND_COUNT), i / 60,
			     rare ? "rare" : profiles[dice / 7 % 3], projects[dice / 31 % 3], permissions[dice / 3 % 3],
			     dice % 50 == 0  ? (int)EFFECT_DENY
			     : dice % 5 == 4 ? -1
					     : (int)EFFECT_ALLOW);
	}
}

static int setup_filled(void **state) {
	world_setup(state);
	fill(*state, ROWS);
	world_digest(*state);
	return 0;
}

static bool text_fits(const char *wanted, const json_t *row, const char *key) {
	const char *text = json_string_value(json_object_get(row, key));
	return !wanted || (text && strcmp(wanted, text) == 0);
}

static int64_t list_page(struct world *world, const struct history_filter *filter, bool newest, int64_t cursor,
			 json_t *items) {
	int64_t next;
	assert_int_equal(history_list(world->history, filter, newest, cursor, items, &next, NULL), 0);
	return next;
}

/* All rows there are, read without a filter. */
static json_t *everything(struct world *world) {
	static const struct history_filter all = {0};
	json_t *rows = json_array();
	int64_t cursor = 0;
	do {
		json_t *items = json_array();
		cursor = list_page(world, &all, false, cursor, items);
		json_array_extend(rows, items);
		json_decref(items);
	} while (cursor != 0);
	return rows;
}

static bool fits(const struct history_filter *filter, const json_t *row) {
	int64_t time_ms = 0;
	assert_int_equal(stamp_parse(json_string_value(json_object_get(row, "time")), &time_ms, NULL), 0);
	return time_ms >= filter->since_ms && (filter->until_ms == 0 || time_ms < filter->until_ms) &&
	       (filter->session == 0 || json_integer_value(json_object_get(row, "session")) == filter->session) &&
	       text_fits(filter->kind, row, "kind") && text_fits(filter->profile, row, "profile") &&
	       text_fits(filter->project, row, "project") && text_fits(filter->permission, row, "permission") &&
	       text_fits(filter->verdict, row, "verdict");
}

static int64_t seq_of(const json_t *row) {
	return json_integer_value(json_object_get(row, "seq"));
}

/* Page by page exactly what fits, in order. The number of pages. */
static size_t check_listing(struct world *world, const json_t *rows, const struct history_filter *filter, bool newest) {
	size_t position = newest ? json_array_size(rows) : 0, pages = 0, index;
	int64_t cursor = 0;
	do {
		json_t *items = json_array(), *item;
		cursor = list_page(world, filter, newest, cursor, items);
		json_array_foreach (items, index, item) {
			const json_t *row;
			do {
				assert_true(newest ? position > 0 : position < json_array_size(rows));
				row = json_array_get(rows, newest ? --position : position++);
			} while (!fits(filter, row));
			assert_int_equal(seq_of(item), seq_of(row));
		}
		json_decref(items);
		pages++;
	} while (cursor != 0);
	while (newest ? position > 0 : position < json_array_size(rows))
		assert_false(fits(filter, json_array_get(rows, newest ? --position : position++)));
	return pages;
}

static void every_filter_finds_exactly_what_fits(void **state) {
	const int64_t day = 24 * 3600 * INT64_C(1000), start = FIXTURE_START_MS;
	const struct history_filter filters[] = {
		{.session = 7},
		{.session = 115},
		{.session = 100000},
		{.profile = (char *)"npm"},
		{.profile = (char *)"rare"},
		{.profile = (char *)"none"},
		{.verdict = (char *)"deny"},
		{.kind = (char *)"answer"},
		{.permission = (char *)"db:access", .verdict = (char *)"deny"},
		{.since_ms = start + day / 4, .until_ms = start + day / 2},
		{.since_ms = start + day / 4},
		{.until_ms = start + day / 8},
		{.since_ms = start + 400 * day},
		{.until_ms = 1},
		{.since_ms = start + day / 4, .until_ms = start + day / 3, .verdict = (char *)"deny"},
		{.profile = (char *)"git",
		 .project = (char *)"/r",
		 .permission = (char *)"fs:read",
		 .verdict = (char *)"deny",
		 .kind = (char *)"use"},
	};
	json_t *rows = everything(*state);
	assert_int_equal(json_array_size(rows), ROWS);
	for (size_t i = 0; i < ARRAY_LENGTH(filters); i++) {
		check_listing(*state, rows, &filters[i], false);
		check_listing(*state, rows, &filters[i], true);
	}
	json_decref(rows);
}

static void a_rare_value_is_one_page_away(void **state) {
	const struct history_filter rare = {.profile = (char *)"rare"}, none = {.session = 99999};
	json_t *rows = everything(*state);
	assert_int_equal(check_listing(*state, rows, &rare, false), 1);
	assert_int_equal(check_listing(*state, rows, &rare, true), 1);
	assert_int_equal(check_listing(*state, rows, &none, true), 1);
	json_decref(rows);
}

static void bytes_that_are_no_text_are_found(void **state) {
	const struct history_filter odd = {.project = (char *)"/q/\xff"};
	json_t *items = json_array();
	list_page(*state, &odd, false, 0, items);
	assert_int_equal(json_array_size(items), LIMIT_PAGE);
	json_decref(items);
}

static void an_index_that_lags_hides_nothing(void **state) {
	struct world *world = *state;
	const struct history_filter deny = {.verdict = (char *)"deny"};
	fill(world, 2500); /* more than two blocks that nobody has indexed */
	json_t *rows = everything(world);
	check_listing(world, rows, &deny, false);
	check_listing(world, rows, &deny, true);
	json_decref(rows);
}

static void a_database_of_the_form_before_is_indexed_from_the_start(void **state) {
	struct world *world = *state;
	const struct history_filter rare = {.profile = (char *)"rare"};
	world_tamper(world, "DELETE FROM postings; DELETE FROM zones; DELETE FROM tallies;"
			    "UPDATE upkeep SET indexed_seq = 0, tallied_seq = 0");
	world_reopen(world);
	json_t *rows = everything(world);
	check_listing(world, rows, &rare, true);
	world_digest(world);
	assert_int_equal(check_listing(world, rows, &rare, true), 1);
	assert_int_equal(world_number(world, "SELECT indexed_seq FROM upkeep"), ROWS / 1024 * 1024);
	json_decref(rows);
}

static void rows_that_are_added_in_between_are_neither_lost_nor_shown_twice(void **state) {
	struct world *world = *state;
	const struct history_filter npm = {.profile = (char *)"npm"};
	int64_t cursor = 0, last = 0;
	size_t count = 0, index;
	do {
		json_t *items = json_array(), *item;
		cursor = list_page(world, &npm, false, cursor, items);
		json_array_foreach (items, index, item) {
			assert_true(seq_of(item) > last);
			last = seq_of(item);
			count++;
		}
		json_decref(items);
		if (last < ROWS) world_append(world, EVENT_USE, 1, "npm", "/p", NULL, -1);
		world_digest(world);
	} while (cursor != 0);
	assert_int_equal(count, world_number(world, "SELECT count(*) FROM events WHERE profile = 'npm'"));
}

static void a_cursor_that_nobody_gave_does_no_harm(void **state) {
	static const int64_t cursors[] = {1, 1023, 1024, 1025, ROWS, ROWS + 1, INT64_MAX - 1, INT64_MAX};
	const struct history_filter filter = {.verdict = (char *)"deny"};
	for (size_t i = 0; i < ARRAY_LENGTH(cursors); i++) {
		json_t *items = json_array();
		list_page(*state, &filter, false, cursors[i], items);
		list_page(*state, &filter, true, cursors[i], items);
		json_decref(items);
	}
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_filter_finds_exactly_what_fits, setup_filled, world_teardown),
		cmocka_unit_test_setup_teardown(a_rare_value_is_one_page_away, setup_filled, world_teardown),
		cmocka_unit_test_setup_teardown(bytes_that_are_no_text_are_found, setup_filled, world_teardown),
		cmocka_unit_test_setup_teardown(an_index_that_lags_hides_nothing, setup_filled, world_teardown),
		cmocka_unit_test_setup_teardown(a_database_of_the_form_before_is_indexed_from_the_start, setup_filled,
						world_teardown),
		cmocka_unit_test_setup_teardown(rows_that_are_added_in_between_are_neither_lost_nor_shown_twice,
						setup_filled, world_teardown),
		cmocka_unit_test_setup_teardown(a_cursor_that_nobody_gave_does_no_harm, setup_filled, world_teardown),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
