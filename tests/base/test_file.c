#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/string.h"
#include "support/cmocka.h"

static int enter_folder(void **state) {
	char *folder = string_copy("/tmp/sbx-test-file-XXXXXX");
	*state = folder;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state) {
	CLEANUP_FREE char *folder = *state;
	CLEANUP_FREE char *nested = string_format("%s/a/b", folder), *upper = string_format("%s/a", folder);
	static const char *const names[] = {"file", "link", "open"};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) remove(names[i]);
	rmdir(nested);
	rmdir(upper);
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void whole_files(void **state) {
	(void)state;
	CLEANUP_FREE char *content = NULL;
	size_t size = 0;
	struct error error = ERROR_NONE;
	assert_int_equal(file_write("file", "a\0b", 3, 0600, &error), 0);
	assert_int_equal(file_write("file", "c\0def", 5, 0600, &error), 0);
	assert_int_equal(file_read("file", 5, &content, &size, &error), 0);
	assert_int_equal(size, 5);
	assert_memory_equal(content, "c\0def", 6);
	CLEANUP_FREE char *nothing = NULL;
	assert_int_equal(file_read("file", 4, &nothing, NULL, &error), -EFBIG);
	assert_int_equal(file_read("absent", 4, &nothing, NULL, &error), -ENOENT);
	assert_null(nothing);
}

static void attack_b11_private_directories(void **state) {
	CLEANUP_FREE char *nested = string_format("%s/a/b", (char *)*state);
	struct error error = ERROR_NONE;
	int fd = file_open_private_directory(nested, &error);
	assert_true(fd >= 0);
	struct stat status;
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	fd_close(fd);

	assert_int_equal(symlink(nested, "link"), 0);
	assert_true(file_open_private_directory("link", &error) < 0);

	assert_int_equal(mkdir("open", 0700), 0);
	assert_int_equal(chmod("open", 0777), 0);
	assert_int_equal(file_open_private_directory("open", &error), -EPERM);
	assert_non_null(strstr(error.message, "written by others"));
	assert_true(file_open_private_directory("/proc", &error) < 0 || geteuid() == 0);
}

static void attack_b11_only_what_meets_its_demands_is_opened(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	const struct file_demand own = {.kind = S_IFREG, .owner = geteuid(), .never = 0002};
	const struct file_demand others = {.kind = S_IFREG, .owner = geteuid() + 1, .or_root = false};
	assert_int_equal(file_open_demanded(AT_FDCWD, "file", "my/file", &own, &error), -ENOENT);
	assert_int_equal(file_write("file", "x", 1, 0600, NULL), 0);
	int fd = file_open_demanded(AT_FDCWD, "file", "my/file", &own, &error);
	assert_true(fd >= 0);
	fd_close(fd);
	assert_int_equal(file_open_demanded(AT_FDCWD, "file", "my/file", &others, &error), -EPERM);
	assert_non_null(strstr(error.message, "my/file belongs to user"));
	assert_int_equal(chmod("file", 0602), 0);
	assert_int_equal(file_open_demanded(AT_FDCWD, "file", "my/file", &own, &error), -EPERM);
	assert_non_null(strstr(error.message, "chmod o-w"));
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(file_open_demanded(AT_FDCWD, "link", "my/link", &own, &error), -ELOOP);
	assert_non_null(strstr(error.message, "my/link is a link and isn't followed"));
	assert_int_equal(mkdir("open", 0700), 0);
	assert_int_equal(file_open_demanded(AT_FDCWD, "open", "my/open", &own, &error), -EINVAL);
	assert_int_equal(remove("file"), 0);
	assert_int_equal(mkfifo("file", 0600), 0);
	assert_int_equal(file_open_demanded(AT_FDCWD, "file", "my/file", &own, &error), -EINVAL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_files, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(attack_b11_private_directories, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(attack_b11_only_what_meets_its_demands_is_opened, enter_folder,
						leave_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
