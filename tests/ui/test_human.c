#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/cmocka.h"
#include "ui/human.h"

static void durations_say_enough_and_not_more(void **state) {
	(void)state;
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = {{-5, "0s"},   {0, "0s"},       {59, "59s"},   {60, "1m"},       {90, "1m 30s"},  {3540, "59m"},
		     {3600, "1h"}, {3900, "1h 5m"}, {86400, "1d"}, {90000, "1d 1h"}, {864000, "10d"}, {40000, "11h"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *text = human_duration(cases[i].seconds * 1000);
		assert_string_equal(text, cases[i].text);
	}
}

static void a_size_has_the_unit_that_says_enough(void **state) {
	(void)state;
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {{0, "0 B"},          {999, "999 B"},       {1000, "1.0 kB"},   {9949, "9.9 kB"},
		     {9950, "10 kB"},     {12345, "12 kB"},     {999499, "999 kB"}, {999500, "1.0 MB"},
		     {12000000, "12 MB"}, {UINT64_MAX, "18 EB"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *text = human_size(cases[i].bytes);
		assert_string_equal(text, cases[i].text);
	}
}

static void home_is_shortened_only_at_a_whole_name(void **state) {
	(void)state;
	setenv("HOME", "/home/ada", 1);
	static const struct {
		const char *path, *text;
	} cases[] = {{"/home/ada/app", "~/app"}, {"/home/ada", "~"}, {"/home/adam", "/home/adam"}, {NULL, "anywhere"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *text = human_path(cases[i].path);
		assert_string_equal(text, cases[i].text);
	}
}

static void home_is_shortened_in_a_command(void **state) {
	(void)state;
	setenv("HOME", "/home/ada", 1);
	static const char *const cases[][2] = {
		{"", ""},
		{"cat /home/ada/notes/x", "cat ~/notes/x"},
		{"/home/ada/bin/x -o/home/ada  /home/adam /home/ada", "~/bin/x -o/home/ada  /home/adam ~"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *text = human_command(cases[i][0]);
		assert_string_equal(text, cases[i][1]);
	}
}

static void the_end_of_a_grant_says_how_it_ends(void **state) {
	(void)state;
	static const struct {
		struct grant grant;
		const char *text;
	} cases[] = {
		{{.lifetime = LIFETIME_ALWAYS}, "never"},
		{{.lifetime = LIFETIME_ALWAYS, .revoked_ms = 5}, "revoked"},
		{{.lifetime = LIFETIME_SESSION, .session = 3}, "session 3, at its end"},
		{{.lifetime = LIFETIME_ONCE}, "after one use"},
		{{.lifetime = LIFETIME_ONCE, .uses = 1}, "used up"},
		{{.lifetime = LIFETIME_UNTIL, .expires_ms = 61000}, "in 1m"},
		{{.lifetime = LIFETIME_UNTIL, .expires_ms = 1000}, "ended"},
		{{.lifetime = LIFETIME_UNTIL, .expires_ms = 61000, .session = 3}, "session 3, in 1m"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *text = human_end(&cases[i].grant, 1000);
		assert_string_equal(text, cases[i].text);
	}
}

static void a_grant_is_a_sentence_of_visible_text(void **state) {
	(void)state;
	setenv("HOME", "/home/ada", 1);
	struct grant grant = {.permission = permission_of(PERMISSION_FS_READ),
			      .pattern = (char *)"/x\x1b[2J",
			      .effect = EFFECT_ALLOW,
			      .profile = (char *)"npm",
			      .project = (char *)"/home/ada/app"};
	CLEANUP_FREE char *allowed = human_grant(&grant);
	assert_string_equal(allowed, "profile npm may read /x\\x1b[2J in ~/app");
	grant.effect = EFFECT_DENY;
	grant.profile = grant.project = NULL;
	CLEANUP_FREE char *denied = human_grant(&grant);
	assert_string_equal(denied, "every profile may not read /x\\x1b[2J anywhere");
	grant.permission = permission_of(PERMISSION_FS_WRITE);
	CLEANUP_FREE char *unwritten = human_grant(&grant);
	assert_string_equal(unwritten, "every profile may not write to /x\\x1b[2J anywhere");
	grant.effect = EFFECT_ALLOW;
	CLEANUP_FREE char *written = human_grant(&grant);
	assert_string_equal(written, "every profile may read and write /x\\x1b[2J anywhere");
	grant.effect = EFFECT_DENY;
	grant.permission = permission_of(PERMISSION_FS_READ);
	grant.session = 9;
	CLEANUP_FREE char *session = human_grant(&grant);
	assert_string_equal(session, "session 9 may not read /x\\x1b[2J");
}

static char *printed(const struct grant *grant) {
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	human_print_grant(out, "Allowed", grant);
	fclose(out);
	return text;
}

static void an_answer_for_once_says_nothing_of_undoing_what_is_used(void **state) {
	(void)state;
	struct grant grant = {.id = 27,
			      .permission = permission_of(PERMISSION_FS_READ),
			      .pattern = (char *)"/x",
			      .effect = EFFECT_ALLOW,
			      .profile = (char *)"npm",
			      .lifetime = LIFETIME_ONCE,
			      .origin = GRANT_ORIGIN_PROMPT};
	CLEANUP_FREE char *answered = printed(&grant);
	assert_string_equal(answered, "Allowed (grant 27): profile npm may read /x anywhere, for one use.\n");
	grant.origin = GRANT_ORIGIN_CLI;
	CLEANUP_FREE char *beforehand = printed(&grant);
	assert_non_null(strstr(beforehand, ", for one use. To undo it: sbx revoke 27\n"));
	grant.origin = GRANT_ORIGIN_PROMPT;
	grant.lifetime = LIFETIME_ALWAYS;
	CLEANUP_FREE char *always = printed(&grant);
	assert_non_null(strstr(always, ", until you revoke it. To undo it: sbx revoke 27\n"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_say_enough_and_not_more),
		cmocka_unit_test(a_size_has_the_unit_that_says_enough),
		cmocka_unit_test(home_is_shortened_only_at_a_whole_name),
		cmocka_unit_test(home_is_shortened_in_a_command),
		cmocka_unit_test(the_end_of_a_grant_says_how_it_ends),
		cmocka_unit_test(a_grant_is_a_sentence_of_visible_text),
		cmocka_unit_test(an_answer_for_once_says_nothing_of_undoing_what_is_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
