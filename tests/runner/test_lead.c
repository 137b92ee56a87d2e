/* Where paths lead that have links on the way: the walker is this process itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "lead.h"
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

static void names_lead_where_the_kernel_would_make_them(void **state) {
	(void)state;
	const struct lead lead = {.thread = getpid(), .last = true}, name = {.thread = getpid()};
	expect(&lead, "new", 0, "new");
	expect(&lead, "real/new", 0, "real/new");
	expect(&lead, "link/new", 0, "real/new");
	expect(&lead, "link/deep/../new", 0, "real/new");
	expect(&lead, "down/../new", 0, "real/new");
	expect(&lead, "dangling", 0, "real/new");
	expect(&name, "dangling", 0, "dangling");
	expect(&lead, "own/new", 0, "new");
	expect(&lead, "own/link/deep/./../../new", 0, "new");
	expect(&lead, "link/none/new", -ENOENT, NULL);
	expect(&lead, "a", -ELOOP, NULL);
	expect(&lead, "a/new", -ELOOP, NULL);
}

static void a_process_is_itself_in_proc(void **state) {
	(void)state;
	const struct lead lead = {.thread = getpid(), .last = true};
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

static void below_a_root_of_the_tools_choice_nothing_is_claimed(void **state) {
	(void)state;
	const struct lead lead = {.thread = getpid(), .last = true, .rooted = true};
	expect(&lead, "link/new", 0, "real/new");
	expect(&lead, "own/new", -EXDEV, NULL);
}

/* Forty links that each lead a thousand names around. */
static void a_way_without_end_is_not_walked(void **state) {
	(void)state;
	const struct lead lead = {.thread = getpid(), .last = true};
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
	const struct lead lead = {.thread = getpid(), .curtain = status.st_dev, .last = true};
	expect(&lead, "dangling", 0, "dangling");
	expect(&lead, "link/new", 0, "link/new");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lead_where_the_kernel_would_make_them),
		cmocka_unit_test(a_process_is_itself_in_proc),
		cmocka_unit_test(below_a_root_of_the_tools_choice_nothing_is_claimed),
		cmocka_unit_test(a_way_without_end_is_not_walked),
		cmocka_unit_test(the_curtain_is_not_walked_into),
	};
	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
