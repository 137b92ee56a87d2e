#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "support/cmocka.h"
#include "ui/option.h"

struct values {
	bool flag, other;
	const char *text;
	struct strings list, permissions;
	int64_t duration_ms, time_ms, number;
};

static const struct option_info options[] = {
	{"flag", OPTION_FLAG, NULL, "A flag.", offsetof(struct values, flag)},
	{"other", OPTION_FLAG, NULL, "Another.", offsetof(struct values, other)},
	{"text", OPTION_TEXT, "T", "A text.", offsetof(struct values, text)},
	{"list", OPTION_LIST, "L", "A list.", offsetof(struct values, list)},
	{"allow", OPTION_PERMISSION, "PERM=TARGET", "Permissions.", offsetof(struct values, permissions)},
	{"ttl", OPTION_DURATION, "D", "A duration.", offsetof(struct values, duration_ms)},
	{"since", OPTION_TIME, "D", "A time.", offsetof(struct values, time_ms)},
	{"session", OPTION_NUMBER, "ID", "A number.", offsetof(struct values, number)},
};
static const struct option_table table = OPTION_TABLE(options);
static const struct option_table stopping = {options, ARRAY_LENGTH(options), true};

/* One command line, parsed. */
struct parsed {
	struct values values;
	struct strings operands;
	struct error error;
	int result;
};

static void parsed_finish(struct parsed *parsed) {
	options_finish(&table, &parsed->values);
	strings_finish(&parsed->operands);
}
#define CLEANUP_PARSED __attribute__((cleanup(parsed_finish)))

static struct parsed parse_with(const struct option_table *with, char *const *argv) {
	struct parsed parsed = {0};
	parsed.result = options_parse(with, argv, &parsed.values, &parsed.operands, &parsed.error);
	return parsed;
}
#define PARSE(...) parse_with(&table, (char *const[]){__VA_ARGS__, NULL})
#define ARG(text)  ((char *)(text))

static void every_kind_takes_its_value_behind_a_space_or_an_equals_sign(void **state) {
	(void)state;
	CLEANUP_PARSED struct parsed parsed =
		PARSE(ARG("--flag"), ARG("--text"), ARG("a b"), ARG("--list=one"), ARG("--list"), ARG("two"),
		      ARG("--ttl=15m"), ARG("--session"), ARG("7"), ARG("operand"));
	assert_int_equal(parsed.result, 0);
	assert_true(parsed.values.flag);
	assert_false(parsed.values.other);
	assert_string_equal(parsed.values.text, "a b");
	assert_int_equal(parsed.values.list.count, 2);
	assert_string_equal(parsed.values.list.items[1], "two");
	assert_int_equal(parsed.values.duration_ms, 15 * 60 * 1000);
	assert_int_equal(parsed.values.number, 7);
	assert_int_equal(parsed.operands.count, 1);
}

static void a_permission_is_one_word_or_two(void **state) {
	(void)state;
	CLEANUP_PARSED struct parsed parsed =
		PARSE(ARG("--allow"), ARG("fs:read=/a=b"), ARG("--allow"), ARG("net:access"), ARG("h.test:443"),
		      ARG("--allow=fs:write"), ARG("/c"), ARG("rest"));
	assert_int_equal(parsed.result, 0);
	assert_int_equal(parsed.values.permissions.count, 3);
	assert_string_equal(parsed.values.permissions.items[0], "fs:read=/a=b");
	assert_string_equal(parsed.values.permissions.items[1], "net:access=h.test:443");
	assert_string_equal(parsed.values.permissions.items[2], "fs:write=/c");
	assert_string_equal(parsed.operands.items[0], "rest");
}

static void options_may_stand_behind_operands_and_two_dashes_end_them(void **state) {
	(void)state;
	CLEANUP_PARSED struct parsed parsed =
		PARSE(ARG("one"), ARG("--flag"), ARG("-"), ARG("--"), ARG("--other"), ARG("-x"), ARG("--"));
	assert_int_equal(parsed.result, 0);
	assert_true(parsed.values.flag);
	assert_false(parsed.values.other);
	assert_int_equal(parsed.operands.count, 5);
	assert_string_equal(parsed.operands.items[2], "--other");
	assert_string_equal(parsed.operands.items[4], "--");
	assert_null(parsed.operands.items[5]);
}

static void what_follows_the_command_of_run_is_the_commands(void **state) {
	(void)state;
	char *const argv[] = {ARG("--flag"), ARG("npm"), ARG("--help"), ARG("--other"), ARG("--"), ARG("--x"), NULL};
	CLEANUP_PARSED struct parsed parsed = parse_with(&stopping, argv);
	assert_int_equal(parsed.result, 0);
	assert_true(parsed.values.flag);
	assert_false(parsed.values.other);
	assert_int_equal(parsed.operands.count, 5);
	assert_string_equal(parsed.operands.items[1], "--help");
	assert_string_equal(parsed.operands.items[3], "--");
}

static void help_wins_wherever_it_stands(void **state) {
	(void)state;
	CLEANUP_PARSED struct parsed parsed = PARSE(ARG("operand"), ARG("--help"), ARG("--no-such"));
	assert_int_equal(parsed.result, 1);
}

static void a_time_is_a_duration_ago_a_date_or_a_stamp(void **state) {
	(void)state;
	struct moment now;
	clock_read(clock_system(), &now);
	CLEANUP_PARSED struct parsed ago = PARSE(ARG("--since"), ARG("1h"));
	assert_in_range(ago.values.time_ms, now.wall_ms - 3600 * 1000, now.wall_ms - 3590 * 1000);
	setenv("TZ", "XYZ-2", 1); /* two hours east */
	tzset();
	CLEANUP_PARSED struct parsed local = PARSE(ARG("--since=1970-01-02T03:00"));
	assert_int_equal(local.values.time_ms, (86400 + 3600) * 1000);
	setenv("TZ", "UTC", 1);
	tzset();
	CLEANUP_PARSED struct parsed date = PARSE(ARG("--since=1970-01-02"));
	assert_int_equal(date.values.time_ms, 86400 * 1000);
	CLEANUP_PARSED struct parsed stamp = PARSE(ARG("--since"), ARG("1970-01-01T00:00:01Z"));
	assert_int_equal(stamp.values.time_ms, 1000);
}

static void every_mistake_is_an_error_that_says_what_was_expected(void **state) {
	(void)state;
	static const struct {
		const char *words[4];
		const char *said;
	} cases[] = {
		{{"--flog"}, "did you mean --flag?"},
		{{"--completely-else"}, "unknown option '--completely-else'"},
		{{"--fla=\x1b[31m"}, "did you mean --flag?"},
		{{"--\x1b[31m"}, "unknown option '--\\x1b[31m'"},
		{{"-f"}, "unknown option '-f'"},
		{{"-ttl"}, "did you mean --ttl?"},
		{{"--=x"}, "unknown option"},
		{{"--flag=yes"}, "--flag takes no value"},
		{{"--text"}, "--text needs a value: --text T"},
		{{"--text", "--", "x"}, "--text needs a value"},
		{{"--text="}, "--text: the value is empty"},
		{{"--text", "a", "--text=b"}, "--text was given twice"},
		{{"--ttl", "soon"}, "15m"},
		{{"--ttl", "-1h"}, "15m"},
		{{"--ttl", "1h", "--ttl=2h"}, "twice"},
		{{"--since", "yesterdayish"}, "2026-01-31"},
		{{"--since", "2026-02-31"}, "2026-01-31"},
		{{"--since", "0026-01-31T12:00:00Z"}, "before 1970"},
		{{"--session", "0"}, "a number such as 7"},
		{{"--session", "-7"}, "a number such as 7"},
		{{"--session", "99999999999999999999"}, "a number such as 7"},
		{{"--session", "7x"}, "a number such as 7"},
		{{"--allow", "fs:read"}, "lacks its target"},
		{{"--allow", "fs:read", "--"}, "lacks its target"},
		{{"--allow", "fs:read", "--flag"}, "lacks its target"},
		{{"--allow", "fs:read="}, "empty"},
		{{"--allow", "fs:raed=/x"}, "fs:read, fs:write"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_PARSED struct parsed parsed = parse_with(&table, (char *const *)cases[i].words);
		if (parsed.result != -EINVAL || !strstr(parsed.error.message, cases[i].said))
			fail_msg("%s: %d '%s', expected '%s'", cases[i].words[0], parsed.result, parsed.error.message,
				 cases[i].said);
	}
}

static void options_that_exclude_each_other_are_named(void **state) {
	(void)state;
	CLEANUP_PARSED struct parsed both = PARSE(ARG("--ttl"), ARG("1h"), ARG("--other"));
	struct error error = ERROR_NONE;
	assert_int_equal(options_exclusive(&table, &both.values, "flag ttl other", &error), -EINVAL);
	assert_string_equal(error.message, "--ttl and --other exclude each other: give one of them");
	assert_int_equal(options_exclusive(&table, &both.values, "flag ttl", &error), 0);
	assert_int_equal(options_exclusive(&table, &both.values, "flag other", &error), 0);
}

static void operands_name_a_permission_in_one_word_or_two(void **state) {
	(void)state;
	struct permission permission;
	const char *target = NULL;
	CLEANUP_STRINGS struct strings one = {0};
	strings_add(&one, "db:access=prod=1");
	assert_int_equal(operands_permission(&one, &permission, &target, NULL), 0);
	assert_string_equal(permission.name, "db:access");
	assert_string_equal(target, "prod=1");
	CLEANUP_STRINGS struct strings two = {0};
	strings_add(&two, "fs:read");
	strings_add(&two, "/a=b");
	assert_int_equal(operands_permission(&two, &permission, &target, NULL), 0);
	assert_string_equal(target, "/a=b");
	CLEANUP_STRINGS struct strings bad = {0};
	strings_add(&bad, "fs:read");
	assert_int_equal(operands_permission(&bad, &permission, &target, NULL), -EINVAL);
	CLEANUP_STRINGS struct strings none = {0};
	assert_int_equal(operands_permission(&none, &permission, &target, NULL), -EINVAL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_takes_its_value_behind_a_space_or_an_equals_sign),
		cmocka_unit_test(a_permission_is_one_word_or_two),
		cmocka_unit_test(options_may_stand_behind_operands_and_two_dashes_end_them),
		cmocka_unit_test(what_follows_the_command_of_run_is_the_commands),
		cmocka_unit_test(help_wins_wherever_it_stands),
		cmocka_unit_test(a_time_is_a_duration_ago_a_date_or_a_stamp),
		cmocka_unit_test(every_mistake_is_an_error_that_says_what_was_expected),
		cmocka_unit_test(options_that_exclude_each_other_are_named),
		cmocka_unit_test(operands_name_a_permission_in_one_word_or_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
