/* Homes that last: what is listed of one, who has it, and what a sandbox finds when it enters one. */
#include "runner/homes.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "plan/point.h"
#include "plan/residents.h"
#include "sandbox/own_home.h"
#include "support/cmocka.h"

static char *top;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

static int setup(void **state) {
	(void)state;
	char name[] = "/tmp/sbx-homes.XXXXXX";
	if (!mkdtemp(name)) return -1;
	top = realpath(name, NULL);
	return 0;
}

static int teardown(void **state) {
	(void)state;
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(top);
	return 0;
}

static void folder(const char *name, mode_t mode) {
	CLEANUP_FREE char *path = path_join(top, name);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void file(const char *name, mode_t mode) {
	CLEANUP_FREE char *path = path_join(top, name);
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static bool is_there(const char *name) {
	CLEANUP_FREE char *path = path_join(top, name);
	struct stat status;
	return lstat(path, &status) == 0;
}

static void a_listing_has_what_tools_made(void **state) {
	(void)state;
	folder("home", 0700);
	folder("home/.config", 0700);
	folder("home/.config/newtool", 0755);
	folder("home/.local", POINT_FOLDER); /* others are mounted in it */
	folder("home/.local/share", 0700);
	file("home/.local/share/kept", 0600);
	file("home/.local/share/node", POINT_FILE);
	folder("home/notes", POINT_FOLDER);
	file("home/.toolrc", 0644);
	CLEANUP_FREE char *path = path_join(top, "home");
	CLEANUP_FD int home = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(symlinkat("/etc/passwd", home, ".ours"), 0);
	assert_int_equal(point_mark_link(home, ".ours"), 0);
	assert_int_equal(symlinkat("/etc", home, ".cache"), 0); /* isn't followed */
	CLEANUP_STRINGS struct strings names = {0};
	homes_names(home, &names);
	const char *const expected[] = {".cache", ".config/newtool", ".local/share/kept", ".toolrc"};
	assert_int_equal(names.count, ARRAY_LENGTH(expected));
	for (size_t i = 0; i < names.count; i++) assert_string_equal(names.items[i], expected[i]);
}

static void places_are_by_profile_and_project(void **state) {
	(void)state;
	setenv("XDG_STATE_HOME", "/state", 1);
	CLEANUP_FREE char *own = homes_place(VIEW_HOME_OWN, "/home/u", "npm", "/p/app");
	CLEANUP_FREE char *each = homes_place(VIEW_HOME_PROJECT, "/home/u", "npm", "/p/app");
	CLEANUP_FREE char *other = homes_place(VIEW_HOME_PROJECT, "/home/u", "npm", "/q/app");
	unsetenv("XDG_STATE_HOME");
	CLEANUP_FREE char *usual = homes_place(VIEW_HOME_OWN, "/home/u", "npm", "/p/app");
	assert_string_equal(own, "/state/sbx/homes/npm");
	assert_true(string_starts(each, "/state/sbx/projects/app-") && string_ends(each, "/homes/npm"));
	assert_string_not_equal(each, other);
	assert_string_equal(usual, "/home/u/.local/state/sbx/homes/npm");
	assert_null(homes_place(VIEW_HOME_EPHEMERAL, "/home/u", "npm", "/p/app"));
	assert_null(homes_place(VIEW_HOME_HIDDEN, "/home/u", "npm", "/p/app"));
}

static void make_plan(struct plan *plan) {
	static const char *const names[] = {"real/.node", "real/src/app"};
	*plan = (struct plan){.mounts = mem_array(struct mount, ARRAY_LENGTH(names))};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		plan->mounts[plan->count++] = (struct mount){.kind = MOUNT_READ, .path = path_join(top, names[i])};
}

static void who_enters_alone_clears_what_others_left(void **state) {
	(void)state;
	CLEANUP_PLAN struct plan plan;
	CLEANUP_FREE char *place = path_join(top, "own"), *home = path_join(top, "real");
	CLEANUP_FD int fd = -1, again = -1;
	folder("real", 0700);
	folder("real/.config", 0700);
	make_plan(&plan);
	assert_int_equal(own_home_enter(place, home, &plan, &fd, NULL), 0);
	struct stat status;
	assert_int_equal(stat(place, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_true(is_there("own/.config")); /* as the user has one */
	assert_false(is_there("own/.cache"));
	file("own/.node", POINT_FILE);
	file("own/.gone", POINT_FILE);
	file("own/.config/gone", POINT_FILE);
	folder("own/src", POINT_FOLDER);
	folder("own/src/app", POINT_FOLDER);
	folder("own/src/other", POINT_FOLDER);
	folder("own/full", POINT_FOLDER);
	file("own/full/kept", 0600);
	file("own/.tool", 0600);
	fd_close_p(&fd);
	assert_int_equal(own_home_enter(place, home, &plan, &again, NULL), 0);
	assert_true(is_there("own/.node") && is_there("own/src/app") && is_there("own/.tool"));
	assert_true(is_there("own/full/kept")); /* the tool's */
	assert_false(is_there("own/.gone") || is_there("own/.config/gone") || is_there("own/src/other"));
}

/* Another process, until it is told to end. */
static pid_t start_resident(const char *place, const char *home, const struct plan *plan) {
	int ready[2];
	char byte;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	const pid_t pid = fork();
	if (pid == 0) {
		int fd;
		if (own_home_enter(place, home, plan, &fd, NULL) < 0 || write(ready[1], "", 1) < 0) _exit(1);
		for (;;) pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void who_enters_beside_another_clears_nothing(void **state) {
	(void)state;
	CLEANUP_PLAN struct plan plan;
	CLEANUP_FREE char *place = path_join(top, "own2"), *home = path_join(top, "real");
	CLEANUP_FD int fd = -1, look = -1;
	make_plan(&plan);
	const pid_t other = start_resident(place, home, &plan);
	file("own2/.theirs", POINT_FILE);
	assert_int_equal(own_home_enter(place, home, &plan, &fd, NULL), 0);
	assert_true(is_there("own2/.theirs"));
	look = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_false(residents_alone(look, getpid()));
	kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
	assert_true(residents_alone(look, getpid()));
	assert_false(residents_alone(-1, getpid())); /* not known is no */
}

/* Neither a link nor a file of a tool's keeps the next run from its mounts. */
static void what_is_in_the_way_of_a_mount_is_put_aside(void **state) {
	(void)state;
	CLEANUP_PLAN struct plan plan;
	CLEANUP_FREE char *place = path_join(top, "own3"), *home = path_join(top, "real");
	CLEANUP_FREE char *link = path_join(top, "own3/src");
	CLEANUP_FD int fd = -1;
	make_plan(&plan);
	folder("own3", 0700);
	folder("own3/.node", 0700); /* the host's is a file */
	file("real/.node", 0600);
	assert_int_equal(symlink("/etc", link), 0);
	assert_int_equal(own_home_enter(place, home, &plan, &fd, NULL), 0);
	assert_false(is_there("own3/.node") || is_there("own3/src"));
	assert_true(is_there("own3/.node.own1") && is_there("own3/src.own1"));
}

static void a_place_of_others_is_refused(void **state) {
	(void)state;
	CLEANUP_PLAN struct plan plan;
	CLEANUP_FREE char *place = path_join(top, "link"), *open_to_all = path_join(top, "wide");
	CLEANUP_FREE char *home = path_join(top, "real");
	int fd = -1;
	make_plan(&plan);
	assert_int_equal(symlink(top, place), 0);
	assert_true(own_home_enter(place, home, &plan, &fd, NULL) < 0);
	assert_int_equal(fd, -1);
	/* but one whose mode a tool has changed is put right */
	folder("wide", 0777);
	struct stat status;
	assert_int_equal(own_home_enter(open_to_all, home, &plan, &fd, NULL), 0);
	assert_int_equal(stat(open_to_all, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_int_equal(chmod(open_to_all, 0), 0);
	fd_close(fd);
	assert_int_equal(own_home_enter(open_to_all, home, &plan, &fd, NULL), 0);
	fd_close(fd);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_listing_has_what_tools_made),
					   cmocka_unit_test(places_are_by_profile_and_project),
					   cmocka_unit_test(who_enters_alone_clears_what_others_left),
					   cmocka_unit_test(who_enters_beside_another_clears_nothing),
					   cmocka_unit_test(what_is_in_the_way_of_a_mount_is_put_aside),
					   cmocka_unit_test(a_place_of_others_is_refused)};
	return cmocka_run_group_tests(tests, setup, teardown);
}
