#include "base/memory.h"
#include "rows.h"
#include "support/cmocka.h"

enum { PAGE = 100 };

/* A listing of the broker's: rows with the numbers 1 to `count` but those in a gap. */
struct listing {
	int64_t count, gap_from, gap_to;
	size_t asked;
};

static bool is_there(const struct listing *listing, int64_t number) {
	return number >= 1 && number <= listing->count && (number < listing->gap_from || number > listing->gap_to);
}

static json_t *reply_to(struct listing *listing, json_t *body) {
	bool newest = json_is_true(json_object_get(body, "newest"));
	int64_t cursor = json_integer_value(json_object_get(body, "cursor")), step = newest ? -1 : 1;
	int64_t number = cursor != 0 ? cursor + step : newest ? listing->count : 1, last = 0;
	json_t *items = json_array();
	for (; number >= 1 && number <= listing->count && json_array_size(items) < PAGE; number += step) {
		if (!is_there(listing, number)) continue;
		json_array_append_new(items, json_pack("{s:I}", "id", (json_int_t)number));
		last = number;
	}
	bool more = number >= 1 && number <= listing->count;
	listing->asked++;
	json_decref(body);
	return json_pack("{s:o, s:o}", "items", items, "next", more ? json_integer(last) : json_null());
}

static void serve(struct monitor_rows *rows, struct listing *listing, bool reload) {
	json_t *body;
	while ((body = rows_ask(rows, reload))) {
		assert_null(rows_ask(rows, true)); /* one at a time */
		json_t *reply = reply_to(listing, body);
		rows_take(rows, reply);
		json_decref(reply);
		assert_true(rows_count(rows) <= ROWS_KEPT + PAGE);
	}
}

static int64_t chosen_number(const struct monitor_rows *rows) {
	return rows_number(rows, rows->chosen);
}

static void start(struct monitor_rows *rows, struct listing *listing, bool follows) {
	rows_init(rows, "grants", "id", follows);
	serve(rows, listing, true);
}

static void ten_thousand_rows_are_walked_through_page_by_page(void **state) {
	(void)state;
	struct listing listing = {.count = 10000};
	struct monitor_rows rows;
	start(&rows, &listing, false);
	assert_true(listing.asked <= 2); /* only what is near */
	for (int64_t number = 10000; number >= 1; number--) {
		assert_int_equal(chosen_number(&rows), number);
		rows_move(&rows, 1);
		serve(&rows, &listing, false);
	}
	assert_int_equal(rows.older, 0);
	for (int64_t number = 1; number <= 10000; number++) {
		assert_int_equal(chosen_number(&rows), number);
		rows_move(&rows, -1);
		serve(&rows, &listing, true);
	}
	assert_int_equal(rows.newer, 0);
	assert_true(listing.asked < 400);
	rows_finish(&rows);
}

static void the_ends_are_reached_at_once(void **state) {
	(void)state;
	struct listing listing = {.count = 10000};
	struct monitor_rows rows;
	start(&rows, &listing, false);
	size_t before = listing.asked;
	rows_oldest(&rows);
	serve(&rows, &listing, true);
	assert_int_equal(chosen_number(&rows), 1);
	rows_newest(&rows);
	serve(&rows, &listing, true);
	assert_int_equal(chosen_number(&rows), 10000);
	assert_true(listing.asked - before <= 8);
	rows_finish(&rows);
}

static void the_choice_stays_with_its_row(void **state) {
	(void)state;
	struct listing listing = {.count = 250};
	struct monitor_rows rows;
	start(&rows, &listing, false);
	rows_move(&rows, 10);
	assert_int_equal(chosen_number(&rows), 240);
	listing.count = 260;
	rows.stale = true;
	serve(&rows, &listing, true);
	assert_int_equal(chosen_number(&rows), 240);
	assert_int_equal(rows_number(&rows, 0), 260);
	/* Gone: the one below it. */
	listing.gap_from = 239;
	listing.gap_to = 241;
	rows.stale = true;
	serve(&rows, &listing, true);
	assert_int_equal(chosen_number(&rows), 238);
	/* All of them. */
	listing.count = 0;
	rows.stale = true;
	serve(&rows, &listing, true);
	assert_int_equal(rows_count(&rows), 0);
	assert_int_equal(rows.chosen, 0);
	rows_finish(&rows);
}

static void what_is_stale_may_wait_but_the_first_page_does_not(void **state) {
	(void)state;
	struct listing listing = {.count = 5};
	struct monitor_rows rows;
	rows_init(&rows, "grants", "id", false);
	serve(&rows, &listing, false);
	assert_int_equal(rows_count(&rows), 5);
	rows.stale = true;
	assert_null(rows_ask(&rows, false));
	serve(&rows, &listing, true);
	rows_finish(&rows);
}

static void add(struct monitor_rows *rows, int64_t number) {
	json_t *item = json_pack("{s:I}", "id", (json_int_t)number);
	rows_add(rows, item);
	json_decref(item);
}

static void the_newest_stays_the_newest_and_any_other_stays_itself(void **state) {
	(void)state;
	struct listing listing = {.count = 50};
	struct monitor_rows rows;
	start(&rows, &listing, true);
	add(&rows, 51);
	assert_int_equal(chosen_number(&rows), 51);
	add(&rows, 51); /* told twice */
	assert_int_equal(rows_count(&rows), 51);
	rows_move(&rows, 5);
	add(&rows, 52);
	assert_int_equal(chosen_number(&rows), 46);
	rows_finish(&rows);
}

static void rows_that_come_while_others_are_read_are_kept(void **state) {
	(void)state;
	struct listing listing = {.count = 50};
	struct monitor_rows rows;
	start(&rows, &listing, true);
	rows.stale = true;
	json_t *reply = reply_to(&listing, rows_ask(&rows, true));
	add(&rows, 51);
	rows_take(&rows, reply);
	json_decref(reply);
	assert_int_equal(rows_number(&rows, 0), 51);
	assert_int_equal(rows_count(&rows), 51);
	rows_finish(&rows);
}

static void however_many_come_no_more_are_kept(void **state) {
	(void)state;
	struct listing listing = {.count = 50};
	struct monitor_rows rows;
	start(&rows, &listing, true);
	for (int64_t number = 51; number <= 5000; number++) add(&rows, number);
	assert_int_equal(rows_count(&rows), ROWS_KEPT);
	assert_int_equal(chosen_number(&rows), 5000);
	/* Who reads far below isn't carried off: what is newer is fetched when it is wanted. */
	rows_move(&rows, ROWS_KEPT - 1);
	int64_t here = chosen_number(&rows);
	for (int64_t number = 5001; number <= 5200; number++) add(&rows, number);
	assert_int_equal(chosen_number(&rows), here);
	listing.count = 5200;
	rows_newest(&rows);
	serve(&rows, &listing, true);
	assert_int_equal(chosen_number(&rows), 5200);
	rows_finish(&rows);
}

static void what_was_lost_is_asked_for_again(void **state) {
	(void)state;
	struct listing listing = {.count = 150};
	struct monitor_rows rows;
	rows_init(&rows, "grants", "id", false);
	json_decref(rows_ask(&rows, true));
	rows_lose(&rows);
	serve(&rows, &listing, true);
	assert_int_equal(rows_number(&rows, 0), 150);
	rows_finish(&rows);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_thousand_rows_are_walked_through_page_by_page),
		cmocka_unit_test(the_ends_are_reached_at_once),
		cmocka_unit_test(the_choice_stays_with_its_row),
		cmocka_unit_test(what_is_stale_may_wait_but_the_first_page_does_not),
		cmocka_unit_test(the_newest_stays_the_newest_and_any_other_stays_itself),
		cmocka_unit_test(rows_that_come_while_others_are_read_are_kept),
		cmocka_unit_test(however_many_come_no_more_are_kept),
		cmocka_unit_test(what_was_lost_is_asked_for_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
