#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/resolved.h"
#include "base/string.h"
#include "support/cmocka.h"

static void leads(const char *path, struct resolver *resolver, const char *expected) {
	size_t looks = 1000;
	CLEANUP_FREE char *real = resolver ? resolver_path(resolver, path, &looks) : resolved_path(path);
	if (expected)
		assert_string_equal(real, expected);
	else
		assert_null(real);
}

static void links_are_followed_as_the_kernel_does(void **state) {
	(void)state;
	char base[] = "/tmp/sbx-resolved-XXXXXX", text[PATH_MAX];
	assert_non_null(mkdtemp(base));
	assert_int_equal(chdir(base), 0);
	assert_int_equal(mkdir("real", 0700), 0);
	snprintf(text, sizeof text, "%s/real", base);
	assert_int_equal(symlink(text, "absolute"), 0);
	assert_int_equal(symlink("absolute", "chain"), 0);
	assert_int_equal(symlink("../chain/..", "real/up"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_int_equal(symlink("nothing/here", "dangling"), 0);
	static const char *const rows[][2] = {
		{"real/file", NULL},
		{"absolute/file", "real/file"},
		{"chain", "real"},
		{"real/up/x", "x"},
		{"dangling/x", "nothing/here/x"},
		{"nothing/../chain/./a", NULL}, /* nothing is there */
		{"./chain/./a", "real/a"},
		{"chain/../real/b", "real/b"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_FREE char *path = string_format("%s/%s", base, rows[i][0]);
		CLEANUP_FREE char *real = rows[i][1] ? string_format("%s/%s", base, rows[i][1]) : NULL;
		leads(path, NULL, real);
	}
	CLEANUP_FREE char *loop = string_format("%s/loop", base);
	leads(loop, NULL, loop);
	CLEANUP(resolver_finish) struct resolver outside = {0};
	CLEANUP_FREE char *chain = string_format("%s/chain/x", base), *absolute = string_format("%s/absolute/x", base);
	strings_addf(&outside.unseen, "%s/absolute", base);
	leads(chain, &outside, absolute); /* the link behind the first one lies in there */
	leads(absolute, &outside, NULL);
	static const char *const names[] = {"absolute", "chain", "real/up", "loop", "dangling"};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) unlink(names[i]);
	assert_int_equal(rmdir("real"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(base), 0);
}

/* A folder of mkdtemp(3), without links. */
static char *folder_make(void) {
	char base[] = "/tmp/sbx-resolved-XXXXXX";
	assert_non_null(mkdtemp(base));
	assert_int_equal(chdir(base), 0);
	return string_copy(base);
}

/* 40 links, one after the other, each with a text as long as a link's may be. */
static void links_make(const char *step) {
	for (int i = 0; i < 40; i++) {
		CLEANUP_STRING struct string text = {0};
		while (text.size + strlen(step) < 4000) string_append(&text, step);
		string_appendf(&text, "l%d", i + 1);
		CLEANUP_FREE char *name = string_format("l%d", i);
		assert_int_equal(symlink(text.data, name), 0);
	}
}

static void links_remove(const char *base) {
	for (int i = 0; i < 40; i++) {
		CLEANUP_FREE char *name = string_format("l%d", i);
		assert_int_equal(unlink(name), 0);
	}
	rmdir("a");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(base), 0);
}

static void no_more_is_looked_at_than_is_allowed(void **state) {
	(void)state;
	static const char *const steps[] = {"a/../", "././"};
	for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
		CLEANUP_FREE char *base = folder_make(), *path = string_format("%s/l0/x", base);
		CLEANUP_FREE char *real = string_format("%s/l40/x", base);
		assert_int_equal(mkdir("a", 0700), 0);
		links_make(steps[i]);
		leads(path, NULL, real);
		CLEANUP(resolver_finish) struct resolver resolver = {0};
		size_t looks = 100;
		assert_null(resolver_path(&resolver, path, &looks));
		assert_int_equal(looks, 0);
		links_remove(base);
	}
}

static void nothing_is_looked_at_below_what_is_not_there(void **state) {
	(void)state;
	CLEANUP(resolver_finish) struct resolver resolver = {0};
	CLEANUP_FREE char *base = folder_make(), *path = string_format("%s/l0/x/y", base);
	links_make("a/../");
	size_t looks = 1000;
	CLEANUP_FREE char *real = resolver_path(&resolver, path, &looks);
	CLEANUP_FREE char *expected = string_format("%s/l1/x/y", base);
	assert_string_equal(real, expected);
	assert_true(looks > 900);
	links_remove(base);
}

/* What a path costs behind one that was looked up before. */
static size_t cost_behind(const char *before, const char *path) {
	CLEANUP(resolver_finish) struct resolver resolver = {0};
	size_t looks = 1000;
	free(resolver_path(&resolver, before, &looks));
	const size_t left = looks;
	free(resolver_path(&resolver, path, &looks));
	return left - looks;
}

static void a_way_without_links_is_looked_up_once(void **state) {
	(void)state;
	CLEANUP_FREE char *base = folder_make();
	assert_int_equal(mkdir("a", 0700), 0);
	assert_int_equal(mkdir("ab", 0700), 0);
	assert_int_equal(symlink("a", "link"), 0);
	static const struct {
		const char *before, *path;
		size_t cost;
	} rows[] = {
		{"a", "a/x", 1}, {"a/x", "a/y", 1}, {"a/x", "ab", 1}, {"a/x", "ab/x", 2}, {"link/x", "a", 1},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_FREE char *before = string_format("%s/%s", base, rows[i].before);
		CLEANUP_FREE char *path = string_format("%s/%s", base, rows[i].path);
		assert_int_equal(cost_behind(before, path), rows[i].cost);
	}
	CLEANUP(resolver_finish) struct resolver resolver = {0};
	CLEANUP_FREE char *plain = string_format("%s/a/x", base), *linked = string_format("%s/link/x", base);
	leads(plain, &resolver, NULL);
	leads(linked, &resolver, plain);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(rmdir("a"), 0);
	assert_int_equal(rmdir("ab"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(base), 0);
}

static void a_path_that_is_too_long_leads_nowhere(void **state) {
	(void)state;
	CLEANUP_FREE char *base = folder_make();
	CLEANUP_STRING struct string long_name = {0};
	while (long_name.size < PATH_MAX - 200) string_append(&long_name, "/x");
	assert_int_equal(symlink(base, "link"), 0);
	assert_int_equal(symlink(long_name.data, "far"), 0);
	CLEANUP_FREE char *near = string_format("%s/link%s", base, long_name.data);
	CLEANUP_FREE char *far = string_format("%s/far%s", base, long_name.data);
	CLEANUP_FREE char *real = string_format("%s%s", base, long_name.data);
	leads(near, NULL, real);
	leads(far, NULL, NULL);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(unlink("far"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(base), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_is_looked_at_than_is_allowed),
		cmocka_unit_test(nothing_is_looked_at_below_what_is_not_there),
		cmocka_unit_test(a_way_without_links_is_looked_up_once),
		cmocka_unit_test(a_path_that_is_too_long_leads_nowhere),
		cmocka_unit_test(links_are_followed_as_the_kernel_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
