/*
 * Which links are asked about, by what the host has and by a sight that the test makes.
 */
#include "hold/symlink.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/string.h"
#include "support/cmocka.h"

static char top[] = "/tmp/sbx-test-link-XXXXXX";

/* TOP/p is the project, with masks at p/.envrc (which isn't there), p/.git and p/.git/config; TOP/g another tree that
 * may be written. */
static struct sight sight(void *context, const char *path) {
	struct sight sight = {.mode = VIEW_ABSENT};
	(void)context;
	const char *rest = path_is_below(path, top) ? path + strlen(top) : "";
	sight.hosts = path_is_below(rest, "/p") || path_is_below(rest, "/g");
	if (sight.hosts) sight.mode = VIEW_WRITE;
	if (path_is_below(rest, "/p/.git/config")) sight.mode = VIEW_READ;
	sight.masked_missing = path_is_below(rest, "/p/.envrc");
	sight.mask_name = strcmp(path_name(path), ".envrc") == 0 || strcmp(path_name(path), ".git") == 0;
	sight.masked_name = path_is_below(rest, "/p/x.desktop");
	if (path_is_below(rest, "/own")) sight.mode = VIEW_WRITE; /* the sandbox's */
	return sight;
}

static void make_folder(const char *name) {
	CLEANUP_FREE char *path = path_join(top, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void make_file(const char *name) {
	CLEANUP_FREE char *path = path_join(top, name);
	const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static int set_up(void **state) {
	static const char *const folders[] = {"p",           "p/a",  "p/a/b",     "p/.git",    "p/.git/logs",
					      "g",           "home", "home/.cfg", "p/bare",    "p/bare/objects",
					      "p/bare/refs", "own",  "p/sub",     "p/sub/.git"};
	static const char *const files[] = {"p/f", "home/.bashrc", "p/.git/config", "p/.git/index", "g/f"};
	(void)state;
	assert_non_null(mkdtemp(top));
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) make_folder(folders[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) make_file(files[i]);
	CLEANUP_FREE char *users = path_join(top, "p/users"), *home = path_join(top, "home");
	CLEANUP_FREE char *loop = path_join(top, "p/loop"), *inner = path_join(top, "p/inner");
	CLEANUP_FREE char *head = path_join(top, "p/bare/HEAD");
	assert_int_equal(symlink(home, users), 0);
	assert_int_equal(symlink("loop", loop), 0);
	assert_int_equal(symlink("a", inner), 0);
	assert_int_equal(symlink("refs/heads/main", head), 0);
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk) {
	(void)status, (void)type, (void)walk;
	return remove(path);
}

static int tear_down(void **state) {
	(void)state;
	return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Texts that begin with TOP get the folder's name in its place. "": nothing is asked. */
static void check(const char *place, const char *text, const char *expected) {
	CLEANUP_FREE char *at = path_join(top, place);
	CLEANUP_FREE char *whole =
		string_starts(text, "TOP") ? string_format("%s%s", top, text + 3) : string_copy(text);
	CLEANUP_SYMLINK struct symlink link = {.place = NULL};
	symlink_read(at, whole, &link);
	const char *asked = symlink_asks(&link, sight, NULL);
	if (asked && path_is_below(asked, top)) asked += strlen(top);
	if (!string_equal(asked ? asked : "", expected))
		fail_msg("%s -> %s: '%s', not '%s'", place, text, asked ? asked : "", expected);
}

static void in_the_tree(void **state) {
	(void)state;
	static const struct {
		const char *place, *text, *asked;
	} rows[] = {
		{"p/l", "f", ""},
		{"p/l", "./f", ""},
		{"p/l", "nothing", ""},
		{"p/l", "user@host.77:1", ""},
		{"p/l", "a/b", ""},
		{"p/a/b/l", "../../f", ""},
		{"p/a/b/l", "./.././../f", ""},
		{"p/a/b/l", "..", ""},
		{"p/a/b/l", "../new/deep", ""},
		{"p/l", "inner/b", ""},
		{"p/l", "TOP/p/f", ""},
		{"p/l", "TOP/p/new", ""},
		/* what it goes through may become a link that leads up */
		{"p/l", "a/../f", "/p/f"},
		{"p/l", "a/b/../../../home/x", "/home/x"},
		{"p/l", "TOP/p/a/../f", "/p/f"},
		/* masked, or that by another link */
		{"p/l", ".envrc", "/p/.envrc"},
		{"p/l", "x.desktop", "/p/x.desktop"},
		{"p/l", ".git/config", "/p/.git/config"},
		{"p/l", ".git", "/p/.git"},
		{"p/l", ".", ""},
		{"p/l", "a/.envrc", "/p/a/.envrc"},
		{"p/l", "new/.envrc", "/p/new/.envrc"}, /* nor is its folder there */
		{"p/l", ".envrc/new/f", "/p/.envrc/new/f"},
		{"p/l", "new/.git/hooks/x", "/p/new/.git/hooks/x"},
		{"p/a/l", "../.envrc", "/p/.envrc"},
		{"p/a/l", "../../p/a/.envrc", "/p/a/.envrc"},
		{"p/l", "TOP/p/a/.envrc", "/p/a/.envrc"},
		{"p/l", ".git/config.new", "/p/.git/config.new"},
		{"p/l", ".git/logs", "/p/.git/logs"},
		{"p/l", ".git/index", ""},
		{"p/l", ".git/annex/objects/a/b", ""},
		{"p/l", "bare", "/p/bare"},
		{"p/l", "bare/refs", "/p/bare/refs"},
		/* by a link of the user's */
		{"p/l", "users/.bashrc", "/home/.bashrc"},
		{"p/l", "users", "/home"},
		{"p/l", "loop", "/p/loop"},
		{"p/l", "", ""}, /* ENOENT */
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) check(rows[i].place, rows[i].text, rows[i].asked);
}

static void out_of_the_tree(void **state) {
	(void)state;
	static const struct {
		const char *place, *text, *asked;
	} rows[] = {
		{"p/l", "../home/.bashrc", "/home/.bashrc"},
		{"p/l", "TOP/home/.bashrc", "/home/.bashrc"},
		{"p/l", "TOP/home/.bash_login", "/home/.bash_login"}, /* isn't there, and could be made */
		{"p/l", "TOP/home/.new/x", ""},                       /* can't be made by writing */
		{"p/l", "TOP/home", "/home"},
		{"p/l", "../g/f", "/g/f"}, /* another tree: what allows that may end */
		{"g/l", "../p/f", "/p/f"},
		{"p/l", "/", "/"},
		{"p/l", "/home", "/home"}, /* what is in it another link says */
		{"p/l", "/tmp/x", "/tmp/x"},
		{"p/l", "/proc/self/cwd/x", "/proc/self/cwd/x"},
		{"p/l", "/dev/stdout", "/dev/stdout"},
		{"p/l", "/dev/null", ""},
		/* where no program of the host meets it */
		{"own/l", "TOP/home/.bashrc", ""},
		{"home/l", "TOP/home/.bashrc", ""},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) check(rows[i].place, rows[i].text, rows[i].asked);
	if (geteuid() == 0) return; /* may write all of it */
	check("p/l", "/usr/bin/env", "");
	check("p/l", "/usr/bin", "");
	check("p/l", "/usr/lib/nothing-there", "");
	check("p/l", "/nix/store/nothing/bin/x", "");
	check("p/l", "/var", "/var");
}

static void in_a_git_directory(void **state) {
	(void)state;
	check("p/.git/COMMIT_EDITMSG", "../f", "/p/f");
	check("p/.git/logs/HEAD", "x", "/p/.git/logs/x");
	check("p/.git/logs/HEAD", "/dev/null", "/dev/null");
	check("p/.git/t0aZ9Bb", "testing", ""); /* git's own trial */
	check("p/.git/COMMIT_EDITMSG", "testing", "/p/.git/testing");
	check("p/bare/l", "f", "/p/bare/f");
	check("p/bare/refs/l", "f", "/p/bare/refs/f");
	check("p/sub/.git/l", "f", "/p/sub/.git/f");
	check("p/sub/l", "f", "");
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_the_tree), cmocka_unit_test(out_of_the_tree),
					   cmocka_unit_test(in_a_git_directory)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
