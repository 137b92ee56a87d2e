/* Walks that know what an earlier one has found, in a tree that the test makes: they find what one that knows nothing
 * does. */
#include "finds/known.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "finds/walk.h"
#include "support/cmocka.h"

enum { FOLDERS = 210, FILES = 100 }; /* more than are worth a file */

static char *top, *tree, *file;

static char *in(const char *name) {
	return path_join(tree, name);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

static void touch(const char *name) {
	CLEANUP_FREE char *path = in(name);
	const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0) close(fd);
}

static int set_up(void **state) {
	(void)state;
	top = string_copy("/dev/shm/sbx-known.XXXXXX");
	assert_non_null(mkdtemp(top));
	tree = path_join(top, "tree");
	file = path_join(top, "state/folders");
	assert_int_equal(mkdir(tree, 0700), 0);
	for (int i = 0; i < FOLDERS; i++) {
		CLEANUP_FREE char *name = string_format("f%d/in", i), *path = in(name);
		assert_int_equal(file_make_directories(path, NULL), 0);
		for (int k = 0; k < FILES; k++) {
			CLEANUP_FREE char *one = string_format("f%d/in/%d", i, k);
			touch(one);
		}
	}
	usleep((KNOWN_SETTLED_MS + 50) * 1000);
	return 0;
}

static int tear_down(void **state) {
	(void)state;
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(top);
	free(tree);
	free(file);
	return 0;
}

struct found {
	struct strings matches, sockets, shut;
};

static void found_finish(struct found *found) {
	strings_finish(&found->matches);
	strings_finish(&found->sockets);
	strings_finish(&found->shut);
}

static void look(const char *known, struct found *found) {
	const struct pattern_scope scope = {.relative_anywhere = true};
	CLEANUP_PATTERNS struct patterns patterns = {0};
	CLEANUP_STRINGS struct strings trees = {0};
	strings_add(&trees, tree);
	assert_int_equal(patterns_add(&patterns, PERMISSION_FS_READ, "/**/.env", &scope, NULL), 0);
	assert_int_equal(patterns_add(&patterns, PERMISSION_FS_READ, "/**/*.key", &scope, NULL), 0);
	*found = (struct found){0};
	const struct walk walk = {.trees = &trees, .patterns = &patterns, .known = known, .shut = &found->shut};
	assert_int_equal(walk_trees(&walk, &found->matches, &found->sockets, NULL), 0);
	strings_sort(&found->matches);
	strings_sort(&found->sockets);
	strings_sort(&found->shut);
}

static void expect_the_same(void) {
	__attribute__((cleanup(found_finish))) struct found with, without;
	look(file, &with);
	look(NULL, &without);
	assert_true(strings_equal(&with.matches, &without.matches));
	assert_true(strings_equal(&with.sockets, &without.sockets));
	assert_true(strings_equal(&with.shut, &without.shut));
}

static ino_t file_number(void) {
	struct stat status;
	assert_int_equal(stat(file, &status), 0);
	return status.st_ino;
}

/* The file is made anew when much was read. */
static void a_folder_that_has_not_changed_is_not_read_again(void **state) {
	(void)state;
	__attribute__((cleanup(found_finish))) struct found first, second;
	touch("f7/in/.env");
	usleep((KNOWN_SETTLED_MS + 50) * 1000);
	look(file, &first);
	const ino_t number = file_number();
	look(file, &second);
	assert_int_equal(file_number(), number);
	assert_int_equal(second.matches.count, 1);
	assert_true(strings_equal(&first.matches, &second.matches));
	touch("f8/in/a.key");
	expect_the_same();
	assert_int_equal(file_number(), number);
}

/* The kernel's clock may not have ticked between the look and what came then. */
static void what_comes_right_after_a_look_is_found(void **state) {
	(void)state;
	for (int i = 0; i < 30; i++) {
		CLEANUP_FREE char *folder = string_format("f%d/in/fresh", i), *name = string_format("%s/.env", folder);
		CLEANUP_FREE char *path = in(folder);
		__attribute__((cleanup(found_finish))) struct found before;
		assert_int_equal(mkdir(path, 0700), 0);
		unlink(file); /* so that it is made anew, with the folder that has just come */
		look(file, &before);
		touch(name);
		expect_the_same();
	}
}

/* By the clock at the end of the reading it would be settled, though a name may have come in the tick of that time. */
static void a_folder_that_changed_right_before_a_long_reading_is_read_again(void **state) {
	(void)state;
	static const struct strings nothing = {0};
	const struct known_found found = {.entries = FOLDERS * FILES};
	CLEANUP_FREE char *folder = in("slow");
	CLEANUP_KNOWN struct known *known = known_load(file, &nothing), *after = NULL;
	struct known_seen seen;
	assert_int_equal(mkdir(folder, 0700), 0);
	CLEANUP_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(known_see(fd, &seen), 0);
	usleep((KNOWN_SETTLED_MS + 50) * 1000); /* it is read */
	known_add(known, KNOWN_TREE, folder, fd, &seen, &found);
	assert_int_equal(known_save(known, file, NULL), 0);
	after = known_load(file, &nothing);
	assert_non_null(known_tree(after, folder));
	assert_int_equal(known_tree(after, folder)->seconds, 0);
	assert_int_equal(rmdir(folder), 0);
}

static void make_socket(const char *name) {
	CLEANUP_FREE char *path = in(name);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	(void)bind(fd, (const struct sockaddr *)&address, sizeof address); /* it may be there */
	close(fd);
}

static void change(unsigned random) {
	CLEANUP_FREE char *folder = string_format("f%u", random / 8 % FOLDERS),
			  *inside = string_format("%s/in", folder);
	CLEANUP_FREE char *env = string_format("%s/.env", inside), *key = string_format("%s/x.key", folder);
	CLEANUP_FREE char *socket = string_format("%s/s", folder), *there = in(inside), *named = in(env);
	CLEANUP_FREE char *other = string_format("f%u/moved", random / 4096 % FOLDERS), *to = in(other);
	switch (random % 8) {
	case 0:
		touch(env);
		break;
	case 1:
		unlink(named);
		break;
	case 2:
		touch(key);
		break;
	case 3:
		rename(there, to);
		break;
	case 4:
		rename(to, there);
		break;
	case 5:
		chmod(there, 0);
		break;
	case 6:
		chmod(there, 0700);
		break;
	case 7:
		make_socket(socket);
		break;
	}
}

static void whatever_changes_is_found(void **state) {
	(void)state;
	unsigned random = 12345;
	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < 1 + round % 5; i++) {
			random = random * 1103515245U + 12345U;
			change(random >> 8);
		}
		if (round % 10 == 0) usleep((KNOWN_SETTLED_MS + 50) * 1000);
		expect_the_same();
	}
	for (int i = 0; i < FOLDERS; i++) {
		CLEANUP_FREE char *name = string_format("f%d/in", i), *path = in(name);
		chmod(path, 0700);
	}
}

static void other_patterns_are_looked_for_anew(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings one = {0}, other = {0};
	strings_add(&one, "/**/.env");
	strings_add(&one, "/**/*.key");
	strings_add(&other, "/**/.env");
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_KNOWN struct known *known = NULL, *none = NULL;
	size_t size;
	__attribute__((cleanup(found_finish))) struct found found;
	look(file, &found);
	assert_int_equal(file_read(file, KNOWN_FILE, &bytes, &size, NULL), 0);
	assert_int_equal(known_read(bytes, size, &one, &known), 0);
	const struct known_folder *root = known_tree(known, tree);
	CLEANUP_FREE char *deep = in("f9/in"), *gone = in("f9/gone");
	assert_non_null(root);
	assert_non_null(known_tree(known, deep));
	assert_null(known_tree(known, gone));
	assert_true(known_read(bytes, size, &other, &none) < 0);
}

/* Each length, and bytes that are others: refused or read, and what is read can be walked. */
static void a_damaged_file_is_as_none(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings patterns = {0};
	CLEANUP_FREE char *bytes = NULL;
	size_t size;
	strings_add(&patterns, "/**/.env");
	strings_add(&patterns, "/**/*.key");
	assert_int_equal(file_read(file, KNOWN_FILE, &bytes, &size, NULL), 0);
	assert_true(size > 4000);
	for (size_t i = 0; i < 4000; i++) {
		CLEANUP_KNOWN struct known *cut = NULL, *other = NULL;
		known_read(bytes, i, &patterns, &cut);
		bytes[i] ^= (char)(1 + i % 255);
		if (known_read(bytes, 4000, &patterns, &other) == 0) known_tree(other, tree);
		bytes[i] ^= (char)(1 + i % 255);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_that_has_not_changed_is_not_read_again),
		cmocka_unit_test(what_comes_right_after_a_look_is_found),
		cmocka_unit_test(a_folder_that_changed_right_before_a_long_reading_is_read_again),
		cmocka_unit_test(whatever_changes_is_found),
		cmocka_unit_test(other_patterns_are_looked_for_anew),
		cmocka_unit_test(a_damaged_file_is_as_none),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
