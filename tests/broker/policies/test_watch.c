/* What inotify tells of a file: everything that may make it another, and when. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "policies/watch.h"
#include "support/cmocka.h"
#include "support/home.h"

struct world {
	char *folder, *path; /* a/b/c, a/b/c/file */
	struct watch *watch;
	struct watched *watched;
};

static int setup(void **state) {
	static unsigned number;
	struct world *world = mem_new(struct world);
	CLEANUP_FREE char *name = string_format("w%u/a/b/c", number++);
	world->folder = home_path(name);
	world->path = path_join(world->folder, "file");
	world->watch = watch_new();
	if (watch_is_blind(world->watch)) return -1;
	world->watched = watch_file(world->watch, world->path);
	*state = world;
	return file_make_directories(world->folder, NULL);
}

static int teardown(void **state) {
	struct world *world = *state;
	watched_free(world->watched);
	watch_free(world->watch);
	free(world->folder);
	free(world->path);
	free(world);
	return 0;
}

/* Nothing waits: what was done before must be told of now. */
static bool is_told(struct world *world) {
	return watch_read(world->watch) && watched_take(world->watched);
}

static void write_plainly(const char *path, const char *text) {
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void a_new_one_is_stirred_once(void **state) {
	assert_true(is_told(*state));
	assert_false(is_told(*state));
}

static void writing_replacing_and_removing_are_told_of(void **state) {
	struct world *world = *state;
	assert_true(is_told(world));
	write_plainly(world->path, "one");
	assert_true(is_told(world));
	write_plainly(world->path, "two");
	assert_true(is_told(world));
	assert_int_equal(file_write(world->path, "three", 5, 0600, NULL),
			 0); /* as editors do: beside it, renamed over */
	assert_true(is_told(world));
	assert_int_equal(chmod(world->path, 0644), 0);
	assert_true(is_told(world));
	assert_int_equal(unlink(world->path), 0);
	assert_true(is_told(world));
	write_plainly(world->path, "four");
	assert_true(is_told(world));
	assert_false(is_told(world));
}

static void a_file_that_is_still_being_written_is_not(void **state) {
	struct world *world = *state;
	write_plainly(world->path, "one");
	assert_true(is_told(world));
	CLEANUP_FD int fd = open(world->path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "two", 3), 3);
	assert_false(is_told(world));
	fd_close(fd_steal(&fd));
	assert_true(is_told(world));
}

static void other_names_are_not_told_of(void **state) {
	struct world *world = *state;
	assert_true(is_told(world));
	CLEANUP_FREE char *other = path_join(world->folder, "file2"), *above = path_parent(world->folder);
	CLEANUP_FREE char *beside = path_join(above, "beside");
	write_plainly(other, "x");
	write_plainly(beside, "x");
	assert_int_equal(unlink(other), 0);
	assert_false(is_told(world));
}

static void folders_on_the_way_that_come_go_and_change_are_told_of(void **state) {
	struct world *world = *state;
	assert_true(is_told(world));
	CLEANUP_FREE char *above = path_parent(world->folder);
	CLEANUP_FREE char *away = path_join(above, "away"), *far = string_format("%s.far", above);
	assert_int_equal(rename(world->folder, away), 0); /* the folder itself */
	assert_true(is_told(world));
	assert_int_equal(rename(away, world->folder), 0);
	assert_true(is_told(world));
	assert_int_equal(rename(above, far), 0); /* one above it */
	assert_true(is_told(world));
	assert_int_equal(mkdir(above, 0700), 0);
	assert_true(is_told(world));
	assert_int_equal(mkdir(world->folder, 0700), 0);
	assert_true(is_told(world));
	write_plainly(world->path, "made later");
	assert_true(is_told(world));
	/* The old place means nothing any more. */
	CLEANUP_FREE char *old = path_join(far, "c/file");
	write_plainly(old, "x");
	assert_false(is_told(world));
}

static void links_that_are_swapped_are_told_of(void **state) {
	struct world *world = *state;
	CLEANUP_FREE char *above = path_parent(world->folder);
	CLEANUP_FREE char *one = path_join(above, "one"), *two = path_join(above, "two"), *link = path_join(above, "l");
	assert_int_equal(mkdir(one, 0700) + mkdir(two, 0700) + rmdir(world->folder), 0);
	assert_int_equal(symlink("one", world->folder), 0);
	assert_true(is_told(world));
	assert_int_equal(symlink("two", link) + rename(link, world->folder), 0);
	assert_true(is_told(world));
	CLEANUP_FREE char *file = path_join(two, "file");
	write_plainly(file, "behind the link");
	assert_true(is_told(world));
}

static void every_name_in_a_folder_can_be_watched(void **state) {
	struct world *world = *state;
	struct watched *folder = watch_folder(world->watch, world->folder);
	assert_true(is_told(world));
	assert_true(watched_take(folder));
	CLEANUP_FREE char *other = path_join(world->folder, "10-other.yaml");
	write_plainly(other, "x");
	assert_true(watch_read(world->watch));
	assert_false(watched_take(world->watched));
	assert_true(watched_take(folder));
	watched_free(folder);
	/* The other still is watched, through the same folders. */
	write_plainly(world->path, "x");
	assert_true(is_told(world));
}

/* max_queued_events is 16384 (inotify(7)); what was lost counts as told. */
static void an_overflow_stirs_everything(void **state) {
	struct world *world = *state;
	CLEANUP_FREE char *a = path_join(world->folder, "x"), *b = path_join(world->folder, "y");
	assert_true(is_told(world));
	write_plainly(a, "");
	for (int i = 0; i < 12000; i++) assert_int_equal(i % 2 == 0 ? rename(a, b) : rename(b, a), 0);
	assert_true(is_told(world));
	assert_false(is_told(world));
	write_plainly(world->path, "x");
	assert_true(is_told(world));
}

static void who_is_blind_looks_every_time(void **state) {
	(void)state;
	struct rlimit limit, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	struct watch *watch = watch_new();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(watch_is_blind(watch));
	assert_int_equal(watch_fd(watch), -1);
	struct watched *watched = watch_file(watch, "/etc/passwd");
	for (int i = 0; i < 3; i++) {
		assert_true(watch_read(watch));
		assert_true(watched_take(watched));
	}
	watched_free(watched);
	watch_free(watch);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_new_one_is_stirred_once, setup, teardown),
		cmocka_unit_test_setup_teardown(writing_replacing_and_removing_are_told_of, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_that_is_still_being_written_is_not, setup, teardown),
		cmocka_unit_test_setup_teardown(other_names_are_not_told_of, setup, teardown),
		cmocka_unit_test_setup_teardown(folders_on_the_way_that_come_go_and_change_are_told_of, setup,
						teardown),
		cmocka_unit_test_setup_teardown(links_that_are_swapped_are_told_of, setup, teardown),
		cmocka_unit_test_setup_teardown(every_name_in_a_folder_can_be_watched, setup, teardown),
		cmocka_unit_test_setup_teardown(an_overflow_stirs_everything, setup, teardown),
		cmocka_unit_test(who_is_blind_looks_every_time),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
