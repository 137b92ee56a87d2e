/* Paths that grants of patterns give: judged once each, and all again when the broker may say otherwise. */
#include "finds/given.h"

#include <errno.h>
#include <stdio.h>

#include "base/memory.h"
#include "sandbox/layout.h"
#include "schema/limits.h"
#include "support/cmocka.h"

static size_t asked;
static enum view_mode said;
static int code;

static int resolve(void *context, const struct strings *paths, struct layout_mode *modes, struct error *error) {
	(void)context, (void)error;
	for (size_t i = 0; i < paths->count; i++) modes[i] = (struct layout_mode){.mode = said};
	asked += paths->count;
	return code;
}

static const struct layout_judge judge = {.resolve = resolve};

static size_t count_rules(struct given *given, enum show show) {
	CLEANUP_RULES struct rules rules = {0};
	struct error error = ERROR_NONE;
	asked = 0;
	assert_int_equal(given_rules(given, &judge, &rules, &error), code);
	for (size_t i = 0; i < rules.count; i++) assert_int_equal(rules.items[i].show, show);
	return rules.count;
}

static void each_is_judged_once_until_something_changes(void **state) {
	struct given given = {0};
	(void)state;
	said = VIEW_READ;
	assert_int_equal(count_rules(&given, SHOW_READ), 0);
	assert_true(given_add(&given, "/data/1"));
	assert_true(given_add(&given, "/data/2"));
	assert_true(given_add(&given, "/data/2"));
	assert_int_equal(count_rules(&given, SHOW_READ), 2);
	assert_int_equal(asked, 2);
	assert_true(given_add(&given, "/data/3"));
	assert_int_equal(count_rules(&given, SHOW_READ), 3);
	assert_int_equal(asked, 1);
	given_judge_again(&given);
	said = VIEW_WRITE;
	assert_int_equal(count_rules(&given, SHOW_WRITE), 3);
	assert_int_equal(asked, 3);
	given_finish(&given);
}

static void what_nothing_gives_is_forgotten(void **state) {
	struct given given = {0};
	(void)state;
	said = VIEW_ASK;
	given_add(&given, "/data/1");
	assert_int_equal(count_rules(&given, SHOW_READ), 0);
	said = VIEW_READ;
	given_judge_again(&given);
	assert_int_equal(count_rules(&given, SHOW_READ), 0);
	assert_int_equal(asked, 0);
	given_finish(&given);
}

static void an_error_gives_nothing_and_forgets_nothing(void **state) {
	struct given given = {0};
	(void)state;
	said = VIEW_READ;
	code = -ECONNRESET;
	given_add(&given, "/data/1");
	assert_int_equal(count_rules(&given, SHOW_READ), 0);
	code = 0;
	assert_int_equal(count_rules(&given, SHOW_READ), 1);
	given_finish(&given);
}

static void they_are_bounded(void **state) {
	struct given given = {0};
	char path[32];
	(void)state;
	for (int i = 0; i < LIMIT_GIVEN; i++) {
		snprintf(path, sizeof path, "/data/%d", i);
		assert_true(given_add(&given, path));
	}
	assert_false(given_add(&given, "/data/more"));
	assert_true(given_add(&given, "/data/0"));
	given_finish(&given);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_judged_once_until_something_changes),
		cmocka_unit_test(what_nothing_gives_is_forgotten),
		cmocka_unit_test(an_error_gives_nothing_and_forgets_nothing),
		cmocka_unit_test(they_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
