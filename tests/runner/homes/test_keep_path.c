/* What may be named to be kept. */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "runner/home_keep.h"
#include "support/cmocka.h"

static void each_way_to_name_it_is_one_path(void **state) {
	(void)state;
	static const struct {
		const char *home, *text, *path;
	} cases[] = {{"/home/ada", ".toolrc", ".toolrc"},
		     {"/home/ada/", "~/.toolrc", ".toolrc"},
		     {"/home/ada", "/home/ada/.toolrc", ".toolrc"},
		     {"/home//ada", "/home/ada//./a/b/", "a/b"},
		     {"/home/ada", ".config/newtool", ".config/newtool"},
		     {"/home/ada", "~ada/x", "~ada/x"},
		     {"/home/ada", "..x/y", "..x/y"},
		     {"/", "/x", "x"},
		     {"/home/ada", "a\nb\xff", "a\nb\xff"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *path = NULL;
		struct error error = ERROR_NONE;
		if (keep_path(cases[i].home, cases[i].text, &path, &error) < 0) fail_msg("%s", error.message);
		assert_string_equal(path, cases[i].path);
	}
}

static void what_is_elsewhere_or_shared_is_refused(void **state) {
	(void)state;
	static const struct {
		const char *text, *said;
	} cases[] = {{"", "empty"},
		     {"..", "'..'"},
		     {"a/../b", "'..'"},
		     {"/home/ada/../eve/x", "'..'"},
		     {"/home/adam/x", "not in your home"},
		     {"/etc/passwd", "not in your home"},
		     {"/", "not in your home"},
		     {"~", "share"},
		     {"~/", "share"},
		     {".", "share"},
		     {"/home/ada", "share"},
		     {".config", "share"},
		     {".local/share/", "share"},
		     {"/\x1b[2J", "'/\\x1b[2J'"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *path = NULL;
		struct error error = ERROR_NONE;
		assert_int_equal(keep_path("/home/ada", cases[i].text, &path, &error), -EINVAL);
		if (!strstr(error.message, cases[i].said)) fail_msg("%s: %s", cases[i].text, error.message);
		assert_null(path);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_to_name_it_is_one_path),
		cmocka_unit_test(what_is_elsewhere_or_shared_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
