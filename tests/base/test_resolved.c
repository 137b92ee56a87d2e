#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/resolved.h"
#include "base/string.h"
#include "support/cmocka.h"

static void leads(const char *path, const struct strings *outside, const char *expected) {
	CLEANUP_FREE char *real = outside ? resolved_path_outside(path, outside) : resolved_path(path);
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
		{"nothing/../chain/./a", "real/a"},
		{"chain/../real/b", "real/b"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_FREE char *path = string_format("%s/%s", base, rows[i][0]);
		CLEANUP_FREE char *real = rows[i][1] ? string_format("%s/%s", base, rows[i][1]) : NULL;
		leads(path, NULL, real);
	}
	CLEANUP_FREE char *loop = string_format("%s/loop", base);
	leads(loop, NULL, loop);
	CLEANUP_STRINGS struct strings outside = {0};
	CLEANUP_FREE char *chain = string_format("%s/chain/x", base), *absolute = string_format("%s/absolute/x", base);
	strings_addf(&outside, "%s/absolute", base);
	leads(chain, &outside, absolute); /* the link behind the first one lies in there */
	leads(absolute, &outside, NULL);
	static const char *const names[] = {"absolute", "chain", "real/up", "loop", "dangling"};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) unlink(names[i]);
	assert_int_equal(rmdir("real"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(base), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_followed_as_the_kernel_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
