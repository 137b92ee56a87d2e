/* Folders to which no link leads, for a moment. */
#include "hold/straight.h"

#include <time.h>

#include "base/clock.h"
#include "base/string.h"
#include "schema/limits.h"
#include "support/cmocka.h"
#include "support/patience.h"

static void what_was_found_is_known_for_its_folder_alone(void **state) {
	(void)state;
	CLEANUP_STRAIGHT struct straight *straight = straight_new();
	assert_false(straight_has(straight, "/p/a/file"));
	straight_add(straight, "/p/a/file");
	assert_true(straight_has(straight, "/p/a/other"));
	assert_false(straight_has(straight, "/p/a"));
	assert_false(straight_has(straight, "/p/ab/file"));
	assert_false(straight_has(straight, "/p/a/b/file"));
	straight_add(straight, "/top");
	assert_true(straight_has(straight, "/other"));
	straight_forget(straight);
	assert_false(straight_has(straight, "/p/a/other"));
	assert_false(straight_has(straight, "/other"));
}

/* More than are kept: some are forgotten, none is mixed up. */
static void many_folders_take_each_others_place(void **state) {
	(void)state;
	CLEANUP_STRAIGHT struct straight *straight = straight_new();
	for (int i = 0; i < 10000; i++) {
		CLEANUP_FREE char *path = string_format("/p/%d/x", i), *never = string_format("/p/%dn/x", i);
		straight_add(straight, path);
		assert_true(straight_has(straight, path));
		assert_false(straight_has(straight, never));
	}
}

static void it_holds_for_a_moment(void **state) {
	(void)state;
	CLEANUP_STRAIGHT struct straight *straight = straight_new();
	const int64_t added_ms = clock_ms(CLOCK_MONOTONIC);
	straight_add(straight, "/p/x");
	wait_until(!straight_has(straight, "/p/x"));
	assert_true(clock_ms(CLOCK_MONOTONIC) - added_ms >= LIMIT_STRAIGHT_MS - 20); /* a coarse clock's tick or two */
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_found_is_known_for_its_folder_alone),
					   cmocka_unit_test(many_folders_take_each_others_place),
					   cmocka_unit_test(it_holds_for_a_moment)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
