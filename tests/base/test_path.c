#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "support/cmocka.h"

static void normal_forms(void **state) {
	(void)state;
	static const struct {
		const char *directory, *path, *expected;
	} cases[] = {
		{NULL, "/", "/"},
		{NULL, "//", "/"},
		{NULL, "/a/b/", "/a/b"},
		{NULL, "/a//b/./c", "/a/b/c"},
		{NULL, "/a/../b", "/b"},
		{NULL, "/../../a", "/a"},
		{NULL, "/a/..", "/"},
		{NULL, "/...", "/..."},
		{NULL, "/a/..b", "/a/..b"},
		{NULL, "/\x80\n", "/\x80\n"},
		{"/home/u", "x", "/home/u/x"},
		{"/home/u", "../v", "/home/v"},
		{"/home/u", "/etc", "/etc"},
		{"/", ".", "/"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *path = NULL;
		struct error error = ERROR_NONE;
		assert_int_equal(path_normalise(cases[i].directory, cases[i].path, &path, &error), 0);
		assert_string_equal(path, cases[i].expected);
	}
}

static void refusals(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	CLEANUP_FREE char *path = NULL;
	char name[NAME_MAX + 3] = "/";
	memset(name + 1, 'a', NAME_MAX + 1);
	char longest[PATH_MAX + 2];
	for (size_t i = 0; i < sizeof longest - 1; i++) longest[i] = i % 100 == 0 ? '/' : 'a';
	longest[sizeof longest - 1] = '\0';
	assert_int_equal(path_normalise(NULL, "", &path, &error), -EINVAL);
	assert_int_equal(path_normalise(NULL, "a", &path, &error), -EINVAL);
	assert_int_equal(path_normalise("b", "a", &path, &error), -EINVAL);
	assert_int_equal(path_normalise(NULL, name, &path, &error), -ENAMETOOLONG);
	assert_int_equal(path_normalise(NULL, longest, &path, &error), -ENAMETOOLONG);
	assert_null(path);
}

static void what_is_below_follows_directly(void **state) {
	(void)state;
	static const char *const sorted[] = {"/", "/a", "/a/b", "/a/b/c", "/a/c", "/a\n", "/a b", "/a-b", "/a.b", "/b"};
	for (size_t i = 0; i + 1 < ARRAY_LENGTH(sorted); i++) {
		assert_int_equal(path_compare(sorted[i], sorted[i]), 0);
		assert_true(path_compare(sorted[i], sorted[i + 1]) < 0);
		assert_true(path_compare(sorted[i + 1], sorted[i]) > 0);
	}
}

static void below_is_by_whole_names(void **state) {
	(void)state;
	assert_true(path_is_below("/a/b", "/a"));
	assert_true(path_is_below("/a", "/a"));
	assert_true(path_is_below("/a", "/"));
	assert_false(path_is_below("/ab", "/a"));
	assert_false(path_is_below("/a", "/a/b"));
	static const char *const trees[] = {"/b", "/a"};
	assert_true(path_is_below_any("/a/b", trees, 2));
	assert_false(path_is_below_any("/a/b", trees, 1));
	assert_false(path_is_below_any("/ab", trees, 2));
	assert_false(path_is_below_any("/a", NULL, 0));
}

static void parts(void **state) {
	(void)state;
	CLEANUP_FREE char *parent = path_parent("/a/b"), *top = path_parent("/a"), *joined = path_join("/", "a");
	assert_string_equal(parent, "/a");
	assert_string_equal(top, "/");
	assert_string_equal(joined, "/a");
	assert_string_equal(path_name("/a/b"), "b");
	assert_int_equal(path_depth("/"), 0);
	assert_int_equal(path_depth("/a/b"), 2);
}

static void ways_up(void **state) {
	(void)state;
	static const struct {
		const char *path;
		bool up;
	} cases[] = {{"..", true},     {"../a", true},   {"a/..", true},   {"/a/../b", true},
		     {"a/...", false}, {"..a/b", false}, {"a../b", false}, {".", false},
		     {"", false},      {"a..", false},   {"/..", true}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) assert_int_equal(path_has_up(cases[i].path), cases[i].up);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal_forms),
		cmocka_unit_test(refusals),
		cmocka_unit_test(below_is_by_whole_names),
		cmocka_unit_test(what_is_below_follows_directly),
		cmocka_unit_test(parts),
		cmocka_unit_test(ways_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
