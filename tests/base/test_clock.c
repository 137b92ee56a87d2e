#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "support/cmocka.h"

static void durations_that_are_right(void **state) {
	(void)state;
	static const struct {
		const char *text;
		int64_t ms;
		const char *shown;
	} cases[] = {{"500ms", 500, "500ms"}, {"90s", 90000, "90s"},           {"60s", 60000, "1m"},
		     {"15m", 900000, "15m"},  {"1h", 3600000, "1h"},           {"7d", 604800000, "7d"},
		     {"24h", 86400000, "1d"}, {"3660d", 316224000000, "3660d"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		int64_t ms = 0;
		assert_int_equal(duration_parse(cases[i].text, &ms, NULL), 0);
		assert_int_equal(ms, cases[i].ms);
		CLEANUP_FREE char *shown = duration_format(ms);
		assert_string_equal(shown, cases[i].shown);
	}
}

static void milliseconds_as_timers_are_told_them(void **state) {
	(void)state;
	static const struct {
		int64_t ms, seconds, microseconds;
	} cases[] = {{0, 0, 0}, {1, 0, 1000}, {999, 0, 999000}, {1000, 1, 0}, {316224000001, 316224000, 1000}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct timeval time = clock_timeval(cases[i].ms);
		assert_int_equal(time.tv_sec, cases[i].seconds);
		assert_int_equal(time.tv_usec, cases[i].microseconds);
	}
}

static void durations_that_are_wrong(void **state) {
	(void)state;
	static const char *const cases[] = {"",
					    "1",
					    "h",
					    "1 h",
					    "-1s",
					    "+1s",
					    "1.5h",
					    "0s",
					    "1w",
					    "1hh",
					    "1H",
					    "3661d",
					    "99999999999999999999s",
					    "9223372036854775807d"};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error error = ERROR_NONE;
		int64_t ms = -7;
		assert_true(duration_parse(cases[i], &ms, &error) < 0);
		assert_int_equal(ms, -7);
		assert_non_null(strstr(error.message, "duration"));
	}
}

static void stamps_there_and_back(void **state) {
	(void)state;
	static const int64_t cases[] = {0, 1, 999, 1000, 951782400123, 1795000000999, 253402300799999};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char text[CLOCK_STAMP_SIZE];
		int64_t back = -1;
		stamp_format(cases[i], text);
		assert_int_equal(stamp_parse(text, &back, NULL), 0);
		assert_int_equal(back, cases[i]);
	}
	char text[CLOCK_STAMP_SIZE];
	stamp_format(951782400123, text);
	assert_string_equal(text, "2000-02-29T00:00:00.123Z");
	int64_t ms;
	assert_int_equal(stamp_parse("2000-02-29T00:00:00Z", &ms, NULL), 0);
	assert_int_equal(ms, 951782400000);
	assert_true(stamp_parse("2000-02-29", &ms, NULL) < 0);
	assert_true(stamp_parse("2000-02-29T00:00:00+01:00", &ms, NULL) < 0);
}

static void both_clocks_go_forward(void **state) {
	(void)state;
	struct moment a, b;
	clock_read(clock_system(), &a);
	clock_read(clock_system(), &b);
	assert_true(a.boot_ms > 0 && b.boot_ms >= a.boot_ms);
	assert_int_equal(strlen(a.boot_id), CLOCK_BOOT_ID_SIZE - 1);
	assert_string_equal(a.boot_id, b.boot_id);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_that_are_right), cmocka_unit_test(milliseconds_as_timers_are_told_them),
		cmocka_unit_test(durations_that_are_wrong), cmocka_unit_test(stamps_there_and_back),
		cmocka_unit_test(both_clocks_go_forward),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
