/* Where the texts of links lead, in a folder that the test makes. */
#include "plan/link_target.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "support/cmocka.h"

static char *top;

static char *in(const char *name) {
	return path_join(top, name);
}

static void folder(const char *name) {
	CLEANUP_FREE char *path = in(name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void link_to(const char *name, const char *text) {
	CLEANUP_FREE char *path = in(name);
	assert_int_equal(symlink(text, path), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

/* /tree/sub and /out, /out/file; links in the tree that were there before. */
static int setup(void **state) {
	(void)state;
	char name[] = "/tmp/sbx-target.XXXXXX";
	if (!mkdtemp(name)) return -1;
	top = realpath(name, NULL);
	folder("tree");
	folder("tree/sub");
	folder("out");
	CLEANUP_FREE char *file = in("out/file");
	FILE *stream = fopen(file, "we");
	if (!stream || fclose(stream) != 0) return -1;
	link_to("tree/away", "../out");
	link_to("tree/round", "circle");
	link_to("tree/circle", "round");
	return 0;
}

static int teardown(void **state) {
	(void)state;
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(top);
	return 0;
}

static void links_lead_where_the_kernel_follows_them(void **state) {
	(void)state;
	static const struct {
		const char *text;
		enum link_reach reach;
		const char *path;
	} cases[] = {
		{"sub", LINK_THERE, "tree/sub"},
		{"./sub/../sub/", LINK_THERE, "tree/sub"},
		{"../out/file", LINK_THERE, "out/file"},
		{"away/file", LINK_THERE, "out/file"}, /* within the tree by its text */
		{"away/..", LINK_THERE, ""},
		{"away/new", LINK_MISSING, "out/new"},
		{"no/such/name", LINK_MISSING, "tree/no/such/name"},
		{"no/../sub", LINK_MISSING, "tree/sub"}, /* the kernel doesn't get there, but a tool may make it */
		{"round", LINK_NOWHERE, "tree/circle"},
		{"away/file/x", LINK_NOWHERE, "out/file/x"},
	};
	CLEANUP_FREE char *tree = in("tree");
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_LINK_TARGET struct link_target target = {0};
		CLEANUP_FREE char *path = cases[i].path[0] ? in(cases[i].path) : string_copy(top);
		link_target_find(tree, cases[i].text, NULL, &target);
		assert_int_equal(target.reach, cases[i].reach);
		if (target.reach != LINK_NOWHERE) assert_string_equal(target.path, path);
	}
}

static void an_absolute_text_begins_at_the_root(void **state) {
	(void)state;
	CLEANUP_LINK_TARGET struct link_target root = {0}, file = {0};
	CLEANUP_FREE char *tree = in("tree"), *path = in("out/file"), *text = in("tree/../out/./file");
	link_target_find(tree, "/", NULL, &root);
	assert_string_equal(root.path, "/");
	assert_true(S_ISDIR(root.mode));
	link_target_find(tree, text, NULL, &file);
	assert_string_equal(file.path, path);
	assert_true(S_ISREG(file.mode));
}

static void what_is_shut_is_not_looked_at(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings shut = {0};
	CLEANUP_LINK_TARGET struct link_target target = {0}, beside = {0};
	CLEANUP_FREE char *tree = in("tree"), *path = in("out/file");
	strings_take(&shut, in("out"));
	link_target_find(tree, "away/file", &shut, &target);
	assert_int_equal(target.reach, LINK_UNKNOWN);
	assert_string_equal(target.path, path);
	link_target_find(tree, "sub", &shut, &beside);
	assert_int_equal(beside.reach, LINK_THERE);
}

/* Forty links of forty names each would be 80,000 looks. */
static void a_way_that_is_laid_to_be_long_is_given_up(void **state) {
	(void)state;
	CLEANUP_STRING struct string text = {0};
	CLEANUP_LINK_TARGET struct link_target target = {0};
	CLEANUP_FREE char *tree = in("tree");
	for (int i = 0; i < 300; i++) string_append(&text, "sub/../");
	link_target_find(tree, text.data, NULL, &target);
	assert_int_equal(target.reach, LINK_UNKNOWN);
	CLEANUP_STRING struct string dots = {0};
	CLEANUP_LINK_TARGET struct link_target other = {0};
	for (int i = 0; i < 300; i++) string_append(&dots, "./");
	link_target_find(tree, dots.data, NULL, &other);
	assert_int_equal(other.reach, LINK_UNKNOWN);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_lead_where_the_kernel_follows_them),
		cmocka_unit_test(an_absolute_text_begins_at_the_root),
		cmocka_unit_test(what_is_shut_is_not_looked_at),
		cmocka_unit_test(a_way_that_is_laid_to_be_long_is_given_up),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
