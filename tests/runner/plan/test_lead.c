/* Where paths lead that have links on the way: the walker is this process itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "plan/lead.h"
#include "support/cmocka.h"

static char folder[] = "/tmp/sbx-lead-XXXXXX";

static int make_tree(void **state) {
	(void)state;
	if (!mkdtemp(folder) || chdir(folder) < 0) return -1;
	return mkdir("real", 0700) | mkdir("real/deep", 0700) | symlink("real", "link") |
	       symlink("real/new", "dangling") | symlink("/proc/self/cwd", "own") | symlink("a", "b") |
	       symlink("b", "a") | symlink("real/deep", "down");
}

static int remove_tree(void **state) {
	(void)state;
	static const char *const names[] = {"link", "dangling", "own", "a", "b", "down"};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) unlink(names[i]);
	return rmdir("real/deep") | rmdir("real") | chdir("/") | rmdir(folder);
}

static void expect(const struct lead *lead, const char *name, int code, const char *place) {
	CLEANUP_FREE char *path = name[0] == '/' ? string_copy(name) : path_join(folder, name);
	CLEANUP_FREE char *wanted = place ? path_join(folder, place) : NULL, *got = NULL;
	int r = lead_find(lead, path, &got);
	if (r != code || (wanted && !string_equal(got, wanted)))
		fail_msg("%s: %d, %s; not %d, %s", name, r, got ? got : "nowhere", code, wanted ? wanted : "nowhere");
}

/* The same, as the thread writes it. */
static void expect_way(const struct lead *lead, const char *way, int code, const char *place) {
	CLEANUP_FREE char *wanted = place ? path_join(folder, place) : NULL, *got = NULL;
	int r = lead_find(lead, way, &got);
	if (r != code || !string_equal(got ? got : "", wanted ? wanted : ""))
		fail_msg("%s: %d, %s; not %d, %s", way, r, got ? got : "nowhere", code, wanted ? wanted : "nowhere");
}

static void names_lead_where_the_kernel_would_make_them(void **state) {
	(void)state;
	const struct lead lead = {.thread = getpid(), .folder = AT_FDCWD, .last = true},
			  name = {.thread = getpid(), .folder = AT_FDCWD};
	expect(&lead, "new", 0, "new");
	expect(&lead, "real/new", 0, "real/new");
	expect(&lead, "link/new", 0, "real/new");
	expect(&lead, "link/deep/../new", 0, "real/new");
	expect(&lead, "down/../new", 0, "real/new");
	expect(&lead, "dangling", 0, "real/new");
	expect(&name, "dangling", 0, "dangling");
	expect(&lead, "own/new", 0, "new");
	expect(&lead, "own/link/deep/./../../new", 0, "new");
	expect(&lead, "link/none/new", 0, "real/none/new");
	expect(&lead, "a", -ELOOP, NULL);
	expect(&lead, "a/new", -ELOOP, NULL);
}

static void a_process_is_itself_in_proc(void **state) {
	(void)state;
	const struct lead lead = {.thread = getpid(), .folder = AT_FDCWD, .last = true};
	char name[64];
	expect(&lead, "/proc/self/cwd/new", 0, "new");
	expect(&lead, "/proc/thread-self/cwd/link/new", 0, "real/new");
	snprintf(name, sizeof name, "/proc/%d/cwd/new", getpid());
	expect(&lead, name, 0, "new");
	int fd = open("real", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(name, sizeof name, "/dev/fd/%d/new", fd);
	expect(&lead, name, 0, "real/new");
	close(fd);
	CLEANUP_FREE char *place = NULL;
	assert_int_equal(lead_find(&lead, "/dev/stderr", &place), 0); /* it is there: nothing is made behind it */
	assert_true(path_is_below(place, "/proc"));
}

/* What a descriptor stands for is found wherever it was moved, and nowhere once it was removed. */
static void folders_that_were_removed_lead_up_alone(void **state) {
	(void)state;
	char name[64];
	assert_int_equal(mkdir("gone", 0700), 0);
	CLEANUP_FD int gone = open("gone", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(rmdir("gone"), 0);
	const struct lead made = {.thread = getpid(), .folder = gone, .last = true};
	const struct lead there = {.thread = getpid(), .folder = gone, .last = true, .there = true};
	expect_way(&made, "new", -ENOENT, NULL);
	expect_way(&made, "../new", 0, "new");
	expect_way(&made, "../link/new", 0, "real/new");
	expect_way(&there, ".", 0, NULL);
	for (const char *const *at = (const char *const[]){"/proc/self", "/proc/thread-self", "/dev", NULL}; *at;
	     at++) {
		snprintf(name, sizeof name, "%s/fd/%d/../new", *at, gone);
		expect_way(&made, name, 0, "new");
		expect_way(&there, name, 0, "new");
		snprintf(name, sizeof name, "%s/fd/%d/new", *at, gone);
		expect_way(&made, name, -ENOENT, NULL);
	}
	/* a folder that only looks as if */
	assert_int_equal(mkdir("gone (deleted)", 0700), 0);
	expect_way(&made, "new", -ENOENT, NULL);
	CLEANUP_FD int odd = open("gone (deleted)", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct lead oddly = {.thread = getpid(), .folder = odd, .last = true};
	expect_way(&oddly, "new", 0, "gone (deleted)/new");
	assert_int_equal(rmdir("gone (deleted)"), 0);
}

static void what_never_had_a_name_has_no_place(void **state) {
	(void)state;
	char name[64];
	CLEANUP_FD int memory = memfd_create("lead", MFD_CLOEXEC);
	CLEANUP_FREE char *place = NULL;
	int found = -1;
	snprintf(name, sizeof name, "/proc/self/fd/%d", memory);
	const struct lead lead = {.thread = getpid(), .folder = memory, .last = true, .there = true};
	expect_way(&lead, name, 0, NULL);
	expect_way(&lead, "", 0, NULL);
	assert_int_equal(lead_open(&lead, name, &found, &place), 0);
	assert_null(place);
	close(found);
	const struct lead none = {.thread = getpid(), .folder = 12345, .last = true};
	expect_way(&none, "new", -EBADF, NULL);
}

/* Deeper than a path can say: the way up from there ends where the kernel's does. */
static void a_folder_too_deep_is_no_start_to_hide_behind(void **state) {
	(void)state;
	CLEANUP_STRING struct string up = {0};
	char name[251] = "";
	memset(name, 'd', sizeof name - 1);
	const struct lead lead = {.thread = getpid(), .folder = AT_FDCWD, .last = true};
	for (int i = 0; i < 18; i++) {
		assert_int_equal(mkdir(name, 0700) | chdir(name), 0);
		string_append(&up, "../");
	}
	expect_way(&lead, "new", 0, NULL);
	string_append(&up, "link/new");
	expect_way(&lead, up.data, 0, "real/new");
	for (int i = 0; i < 18; i++) assert_int_equal(chdir("..") | rmdir(name), 0);
}

/* Forty links that each lead a thousand names around. */
static void a_way_without_end_is_not_walked(void **state) {
	(void)state;
	const struct lead lead = {.thread = getpid(), .folder = AT_FDCWD, .last = true};
	CLEANUP_STRING struct string text = {0};
	for (int i = 0; i < 500; i++) string_append(&text, "real/../");
	string_append(&text, "real");
	assert_int_equal(symlink(text.data, "around"), 0);
	expect(&lead, "around/new", 0, "real/new");
	string_append(&text, "/../around");
	unlink("around");
	assert_int_equal(symlink(text.data, "around"), 0);
	expect(&lead, "around/new", -EXDEV, NULL);
	unlink("around");
}

/* The curtain is this file system: whatever is on it isn't looked at, and named as it was. */
static void the_curtain_is_not_walked_into(void **state) {
	(void)state;
	struct stat status;
	assert_int_equal(stat(folder, &status), 0);
	const struct lead lead = {.thread = getpid(), .folder = AT_FDCWD, .curtain = status.st_dev, .last = true};
	expect_way(&lead, "dangling", 0, "dangling");
	expect_way(&lead, "link/new", 0, "link/new");
	expect_way(&lead, "link/../new", -EXDEV, NULL);
}

/* NULL: it has to be walked. */
static void expect_straight(const struct lead *lead, int root, const char *way, const char *place) {
	CLEANUP_FREE char *wanted = place ? path_join(folder, place) : NULL, *got = NULL;
	int r = lead_straight(lead, root, way, &got);
	if (r != (place ? 0 : -EAGAIN) || !string_equal(got ? got : "", wanted ? wanted : ""))
		fail_msg("%s: %d, %s; not %s", way, r, got ? got : "nowhere", wanted ? wanted : "nowhere");
}

static void only_ways_without_links_are_straight(void **state) {
	(void)state;
	const struct lead name = {.thread = getpid(), .folder = AT_FDCWD},
			  still = {.thread = getpid(), .folder = AT_FDCWD, .still = true};
	const struct {
		const char *way, *place;
	} rows[] = {
		{"new", "new"},
		{"real", "real"},
		{"real/new", "real/new"},
		{"real/.//deep/new/", "real/deep/new"},
		{"dangling", "dangling"}, /* it isn't followed */
		{"link/new", NULL},
		{"real/../new", NULL},
		{"down/../new", NULL},
		{"..", NULL},
		{"none/new", NULL},
		{"own/new", NULL},
		{"a/new", NULL},
		{"", NULL},
		{"/", NULL},
		{"/proc/self/cwd/new", NULL},
		{"/proc/thread-self/cwd/new", NULL},
	};
	CLEANUP_FD int root = lead_root(getpid());
	assert_true(root >= 0);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		expect_straight(&name, root, rows[i].way, rows[i].place);
		expect_straight(&still, root, rows[i].way, rows[i].place);
		if (rows[i].way[0] == '/' || !rows[i].way[0]) continue;
		CLEANUP_FREE char *absolute = path_join(folder, rows[i].way);
		expect_straight(&name, root, absolute, rows[i].place);
		expect_straight(&name, -1, absolute, NULL);
	}
	CLEANUP_FREE char *magic = string_format("/proc/%d/cwd/new", getpid());
	expect_straight(&name, root, magic, NULL);
	CLEANUP_FD int real = open("real", O_PATH | O_CLOEXEC);
	const struct lead from = {.thread = getpid(), .folder = real}, none = {.thread = getpid(), .folder = 12345};
	expect_straight(&from, root, "new", "real/new");
	expect_straight(&from, root, "deep/new", "real/deep/new");
	expect_straight(&none, root, "new", NULL);
	if (geteuid() == 0) return;
	assert_int_equal(chmod("real", 0), 0);
	expect_straight(&name, root, "real/deep/new", NULL);
	assert_int_equal(chmod("real", 0700), 0);
}

static void what_follows_a_link_at_the_end_is_not_straight(void **state) {
	(void)state;
	struct stat status;
	assert_int_equal(stat(folder, &status), 0);
	const struct lead lead = {.thread = getpid(), .folder = AT_FDCWD, .last = true},
			  hidden = {.thread = getpid(), .folder = AT_FDCWD, .last = true, .curtain = status.st_dev};
	CLEANUP_FD int root = lead_root(getpid());
	expect_straight(&lead, root, "new", "new");
	expect_straight(&lead, root, "real/new", "real/new");
	expect_straight(&lead, root, "real/deep", "real/deep");
	expect_straight(&lead, root, "link", NULL);
	expect_straight(&lead, root, "dangling", NULL);
	expect_straight(&lead, root, "a", NULL);
	const struct lead still = {.thread = getpid(), .folder = AT_FDCWD, .still = true, .last = true};
	expect_straight(&still, root, "new", "new");
	expect_straight(&still, root, "real/deep", "real/deep");
	expect_straight(&still, root, "dangling", NULL);
	expect_straight(&still, root, "link/new", NULL);
	expect_straight(&still, -1, "new", NULL);
	expect_straight(&hidden, root, "never looked up", NULL); /* the curtain would be asked */
}

static void a_removed_folder_is_no_start_that_is_straight(void **state) {
	(void)state;
	assert_int_equal(mkdir("gone", 0700), 0);
	CLEANUP_FD int gone = open("gone", O_RDONLY | O_DIRECTORY | O_CLOEXEC), root = lead_root(getpid());
	const struct lead from = {.thread = getpid(), .folder = gone},
			  still = {.thread = getpid(), .folder = AT_FDCWD, .still = true, .last = true};
	expect_straight(&from, root, "new", "gone/new");
	assert_int_equal(fchdir(gone), 0);
	expect_straight(&still, root, "new", "gone/new");
	assert_int_equal(rename("../gone", "../moved"), 0);
	expect_straight(&from, root, "new", "moved/new");
	expect_straight(&still, root, "new", "moved/new");
	assert_int_equal(rmdir("../moved"), 0);
	expect_straight(&from, root, "new", NULL);
	expect_straight(&still, root, "new", NULL);
	assert_int_equal(chdir(folder), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lead_where_the_kernel_would_make_them),
		cmocka_unit_test(a_process_is_itself_in_proc),
		cmocka_unit_test(folders_that_were_removed_lead_up_alone),
		cmocka_unit_test(what_never_had_a_name_has_no_place),
		cmocka_unit_test(a_folder_too_deep_is_no_start_to_hide_behind),
		cmocka_unit_test(a_way_without_end_is_not_walked),
		cmocka_unit_test(the_curtain_is_not_walked_into),
		cmocka_unit_test(only_ways_without_links_are_straight),
		cmocka_unit_test(what_follows_a_link_at_the_end_is_not_straight),
		cmocka_unit_test(a_removed_folder_is_no_start_that_is_straight),
	};
	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
