/* Clearing what a hostile tool has made, and measuring it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "runner/home_clear.h"
#include "runner/home_size.h"
#include "support/cmocka.h"

enum { DEEP = 1000 };

static int made(char *path) {
	assert_non_null(mkdtemp(path));
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static size_t names_in(int folder) {
	DIR *stream = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	size_t count = 0;
	for (const struct dirent *entry; (entry = readdir(stream));) count += !path_is_dots(entry->d_name);
	closedir(stream);
	return count;
}

static void put_file(int folder, const char *name) {
	CLEANUP_FD int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	static const char bytes[100000];
	assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
}

static void put_deep(int folder) {
	int at = dup(folder);
	for (size_t i = 0; i < DEEP; i++) {
		assert_int_equal(mkdirat(at, "d", 0700), 0);
		const int below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = below;
	}
	put_file(at, "bottom");
	assert_int_equal(fchmod(at, 0), 0);
	close(at);
}

static void all_goes_but_what_links_lead_to(void **state) {
	(void)state;
	char home[] = "/tmp/sbx-clear.XXXXXX", outside[] = "/tmp/sbx-outside.XXXXXX";
	CLEANUP_FD int folder = made(home), other = made(outside);
	struct error error = ERROR_NONE;
	put_file(other, "mine");
	assert_int_equal(symlinkat(outside, folder, "link"), 0);
	assert_int_equal(mkfifoat(folder, "pipe", 0600), 0);
	put_deep(folder);
	if (home_clear(folder, &error) < 0) fail_msg("%s", error.message);
	assert_int_equal(names_in(folder), 0);
	assert_int_equal(names_in(other), 1);
	assert_int_equal(unlinkat(other, "mine", 0), 0);
	assert_int_equal(rmdir(home) + rmdir(outside), 0);
}

static void an_inode_counts_once_and_what_is_too_deep_is_told(void **state) {
	(void)state;
	char home[] = "/tmp/sbx-size.XXXXXX";
	CLEANUP_FD int folder = made(home);
	struct home_size once, twice;
	put_file(folder, "one");
	home_size(folder, &once);
	assert_true(once.bytes >= 100000 && !once.more);
	assert_int_equal(linkat(folder, "one", folder, "two", 0), 0);
	home_size(folder, &twice);
	assert_int_equal(once.bytes, twice.bytes);
	put_deep(folder);
	home_size(folder, &twice);
	assert_true(twice.more);
	assert_int_equal(home_clear(folder, NULL), 0);
	assert_int_equal(rmdir(home), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_goes_but_what_links_lead_to),
		cmocka_unit_test(an_inode_counts_once_and_what_is_too_deep_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
