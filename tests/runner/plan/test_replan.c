/* One more grant: what a session knows of the host is not looked up again, and what is new is found. */
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "plan/steps.h"
#include "sandbox/layout.h"
#include "sandbox/scene.h"
#include "support/cmocka.h"

static char *home;

static char *in_home(const char *path) {
	return path_join(home, path);
}

static void folder(const char *path) {
	CLEANUP_FREE char *full = in_home(path);
	assert_int_equal(file_make_directories(full, NULL), 0);
}

static void file(const char *path) {
	CLEANUP_FREE char *full = in_home(path), *parent = path_parent(full);
	assert_int_equal(file_make_directories(parent, NULL), 0);
	assert_int_equal(file_write(full, "x", 1, 0600, NULL), 0);
}

static void allow(struct view *view, const char *path, enum view_mode mode) {
	CLEANUP_FREE char *full = in_home(path);
	view_add_path(view, full, false, mode, false);
}

/* A view as the default profile makes it: the project to write, the home to ask for, a hundred rules for parts of it.
 */
static struct view *default_view(void) {
	struct view *view = view_new();
	view->profile = string_copy("default");
	view_add_path(view, home, false, VIEW_ASK, true);
	allow(view, "app", VIEW_WRITE);
	allow(view, ".ssh", VIEW_ABSENT);
	for (int i = 0; i < 100; i++) {
		CLEANUP_FREE char *path = string_format(".config/tool%d", i);
		allow(view, path, VIEW_ASK);
	}
	return view;
}

static int make_home(void **state) {
	(void)state;
	char template[] = "/var/tmp/sbx-replan.XXXXXX";
	assert_non_null(mkdtemp(template));
	home = string_copy(template);
	folder("app/.git/hooks");
	file("app/.git/config");
	file("app/.git/HEAD");
	folder("app/.git/objects");
	folder("app/.git/refs");
	file(".bashrc");
	file("notes/deep/todo");
	file("notes/.env");
	folder("other/repo/.git/objects");
	folder("other/repo/.git/refs");
	folder("other/repo/.git/hooks");
	file("other/repo/.git/HEAD");
	folder(".ssh");
	for (int i = 0; i < 120; i++) {
		CLEANUP_FREE char *path = string_format("file%d", i);
		file(path);
	}
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

static int remove_home(void **state) {
	(void)state;
	nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(home);
	return 0;
}

static void scene_make(struct scene *scene) {
	*scene = (struct scene){.home = string_copy(home),
				.search = "/usr/bin:/bin",
				.project = {.project = in_home("app"), .root = in_home("app")},
				.curtain = true};
}

static enum show shown(const struct plan *plan, const char *path) {
	CLEANUP_FREE char *full = in_home(path);
	return plan_show(plan, full);
}

static bool watches(const struct plan *plan, const char *path) {
	CLEANUP_FREE char *full = in_home(path);
	return strings_contain(&plan->watched, full);
}

/* There is no broker to ask what is denied of where a link leads: it has been asked before. */
static void nothing_denied(struct scene *scene, const char *place) {
	struct led *led = &scene->finds.led;
	led->denials = array_grow(led->denials, led->places.count, sizeof *led->denials);
	led->denials[led->places.count] = VIEW_DENIES_NOTHING;
	strings_add(&led->places, place);
}

/* The deepest that is there, and really is: not a link, not what a way leads back from. */
static void the_folder_of_what_is_missing_is_watched(void **state) {
	(void)state;
	struct scene scene;
	scene_make(&scene);
	CLEANUP_VIEW struct view *view = default_view();
	CLEANUP_PLAN struct plan plan = {0};
	CLEANUP_FREE char *link = in_home("link"), *back = in_home("notes/back");
	assert_int_equal(symlink("other/repo", link), 0);
	assert_int_equal(symlink("deep/../none", back), 0);
	CLEANUP_FREE char *notes = in_home("notes");
	strings_add(&scene.finds.own_folders, home); /* there is no broker to ask whose the links are */
	strings_add(&scene.finds.own_folders, notes);
	CLEANUP_FREE char *there = in_home("other/repo/new/x"), *none = in_home("notes/none/x");
	nothing_denied(&scene, there);
	nothing_denied(&scene, none);
	allow(view, "notes/deep/new/x", VIEW_ASK);
	allow(view, "link/new/x", VIEW_ASK);
	allow(view, "notes/back/x", VIEW_ASK);
	assert_int_equal(scene_replan(&scene, NULL, view, true, &plan, NULL), 0);
	assert_true(watches(&plan, "notes/deep"));
	assert_true(watches(&plan, "other/repo"));
	assert_true(watches(&plan, "notes"));
	assert_false(watches(&plan, "link"));
	for (size_t i = 0; i < plan.watched.count; i++) {
		struct stat status;
		assert_int_equal(lstat(plan.watched.items[i], &status), 0);
		assert_true(S_ISDIR(status.st_mode));
	}
	scene_finish(&scene);
}

static void one_more_grant_looks_at_its_own_path_alone(void **state) {
	(void)state;
	struct scene scene;
	scene_make(&scene);
	CLEANUP_VIEW struct view *view = default_view();
	CLEANUP_PLAN struct plan before = {0}, after = {0};
	CLEANUP_STEPS struct steps first = {0}, steps = {0};
	assert_int_equal(scene_replan(&scene, NULL, view, true, &before, NULL), 0);
	plan_changes(NULL, &before, &first);
	assert_int_equal(shown(&before, "notes"), SHOW_ASK);
	assert_int_equal(shown(&before, "file7"), SHOW_ASK);
	assert_int_equal(shown(&before, ".ssh"), SHOW_FRESH);
	assert_true(strings_contain(&before.watched, home));
	const size_t looks = scene.finds.book.looks;
	assert_true(looks > 100);

	allow(view, "notes", VIEW_READ);
	assert_int_equal(scene_replan(&scene, NULL, view, false, &after, NULL), 0);
	assert_true(scene.finds.book.looks <= looks + path_depth(home) + 3);
	assert_int_equal(shown(&after, "notes/deep"), SHOW_READ);
	plan_changes(&before, &after, &steps);
	assert_int_equal(steps.count, 1);
	assert_int_equal(steps.items[0].kind, STEP_PUT);

	/* nothing new, nothing looked at */
	CLEANUP_PLAN struct plan again = {0};
	const size_t known = scene.finds.book.looks;
	assert_int_equal(scene_replan(&scene, NULL, view, false, &again, NULL), 0);
	assert_int_equal(scene.finds.book.looks, known);
	scene_finish(&scene);
}

static void repositories_in_a_tree_that_was_granted_are_masked(void **state) {
	(void)state;
	struct scene scene;
	scene_make(&scene);
	CLEANUP_VIEW struct view *view = default_view();
	CLEANUP_PLAN struct plan before = {0}, after = {0};
	assert_int_equal(scene_replan(&scene, NULL, view, true, &before, NULL), 0);
	allow(view, "other", VIEW_WRITE);
	assert_int_equal(scene_replan(&scene, NULL, view, false, &after, NULL), 0);
	assert_int_equal(shown(&after, "other/repo/src"), SHOW_WRITE);
	assert_int_equal(shown(&after, "other/repo/.git/hooks"), SHOW_READ);
	scene_finish(&scene);
}

static void a_socket_in_a_tree_that_was_granted_is_hidden(void **state) {
	(void)state;
	struct scene scene;
	scene_make(&scene);
	CLEANUP_FREE char *path = in_home("notes/deep/s");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	CLEANUP_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
	CLEANUP_VIEW struct view *view = default_view();
	CLEANUP_PLAN struct plan before = {0}, after = {0};
	assert_int_equal(scene_replan(&scene, NULL, view, true, &before, NULL), 0);
	allow(view, "notes", VIEW_READ);
	assert_int_equal(scene_replan(&scene, NULL, view, false, &after, NULL), 0);
	assert_int_equal(shown(&after, "notes/deep/s"), SHOW_NOTHING);
	assert_int_equal(unlink(path), 0);
	scene_finish(&scene);
}

static void a_name_that_the_host_makes_is_a_node_when_it_is_looked_at_anew(void **state) {
	(void)state;
	struct scene scene;
	scene_make(&scene);
	CLEANUP_VIEW struct view *view = default_view();
	CLEANUP_PLAN struct plan before = {0}, same = {0}, after = {0};
	CLEANUP_STEPS struct steps steps = {0}, first = {0};
	assert_int_equal(scene_replan(&scene, NULL, view, true, &before, NULL), 0);
	plan_changes(NULL, &before, &first);
	file("late");
	assert_int_equal(scene_replan(&scene, NULL, view, false, &same, NULL), 0);
	assert_int_equal(shown(&same, "late"), SHOW_FRESH);
	assert_int_equal(scene_replan(&scene, NULL, view, true, &after, NULL), 0);
	plan_changes(&before, &after, &steps);
	assert_int_equal(steps.count, 1);
	assert_string_equal(path_name(steps.items[0].mount.path), "late");
	assert_int_equal(steps.items[0].mount.kind, MOUNT_CURTAIN);
	CLEANUP_FREE char *late = in_home("late");
	assert_int_equal(unlink(late), 0);
	scene_finish(&scene);
}

/* Which folders are real is settled when a sandbox starts: a grant in a node lies on the node. */
static void a_grant_in_a_node_leaves_the_node(void **state) {
	(void)state;
	struct scene scene;
	scene_make(&scene);
	CLEANUP_VIEW struct view *view = default_view();
	CLEANUP_PLAN struct plan before = {0}, after = {0};
	assert_int_equal(scene_replan(&scene, NULL, view, true, &before, NULL), 0);
	allow(view, "notes/deep", VIEW_WRITE);
	assert_int_equal(scene_replan(&scene, NULL, view, false, &after, NULL), 0);
	assert_int_equal(shown(&after, "notes"), SHOW_ASK);
	assert_int_equal(shown(&after, "notes/.env"), SHOW_ASK);
	assert_int_equal(shown(&after, "notes/deep"), SHOW_WRITE);
	scene_finish(&scene);
}

/* Who goes through a home (find) has it open: what is granted must be found from there. */
static void a_grant_to_read_a_real_folder_is_spread_over_its_nodes(void **state) {
	(void)state;
	struct scene scene;
	scene_make(&scene);
	CLEANUP_VIEW struct view *view = default_view();
	CLEANUP_PLAN struct plan before = {0}, after = {0}, last = {0};
	CLEANUP_STEPS struct steps first = {0}, steps = {0}, back = {0};
	assert_int_equal(scene_replan(&scene, NULL, view, true, &before, NULL), 0);
	plan_changes(NULL, &before, &first);
	assert_string_equal(view->paths[0].path, home);
	view->paths[0].mode = VIEW_READ;
	assert_int_equal(scene_replan(&scene, NULL, view, false, &after, NULL), 0);
	plan_changes(&before, &after, &steps);
	assert_int_equal(shown(&after, "new"), SHOW_FRESH); /* the home is the sandbox's own still */
	assert_int_equal(shown(&after, "notes/deep"), SHOW_READ);
	assert_int_equal(shown(&after, "file7"), SHOW_READ);
	assert_int_equal(shown(&after, "app/x"), SHOW_WRITE);
	assert_int_equal(shown(&after, ".ssh"), SHOW_FRESH);
	for (size_t i = 0; i < steps.count; i++) {
		assert_int_equal(steps.items[i].kind, STEP_PUT);
		assert_string_not_equal(steps.items[i].mount.path, home);
		if (steps.items[i].mount.kind == MOUNT_READ) assert_true(steps.items[i].mount.inode != 0);
	}
	assert_true(steps.count > 120);

	view->paths[0].mode = VIEW_ASK;
	assert_int_equal(scene_replan(&scene, NULL, view, false, &last, NULL), 0);
	plan_changes(&after, &last, &back);
	assert_int_equal(shown(&last, "file7"), SHOW_ASK);
	for (size_t i = 0; i < back.count; i++) assert_int_equal(back.items[i].kind, STEP_TAKE);
	assert_true(back.count > 120);
	scene_finish(&scene);
}

static void a_program_that_may_be_asked_for_is_a_node_or_trapped(void **state) {
	(void)state;
	for (int trapped = 0; trapped < 2; trapped++) {
		struct scene scene;
		scene_make(&scene);
		scene.curtain = !trapped;
		scene.trapped = trapped;
		CLEANUP_VIEW struct view *view = default_view();
		CLEANUP_PLAN struct plan plan = {0};
		CLEANUP_FREE char *real = realpath("/usr/bin/env", NULL);
		view_add_program(view, "env", VIEW_ASK);
		nothing_denied(&scene, real);
		assert_int_equal(scene_replan(&scene, NULL, view, true, &plan, NULL), 0);
		assert_int_equal(plan_show(&plan, real), trapped ? SHOW_READ : SHOW_ASK);
		scene_finish(&scene);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_more_grant_looks_at_its_own_path_alone),
		cmocka_unit_test(repositories_in_a_tree_that_was_granted_are_masked),
		cmocka_unit_test(a_socket_in_a_tree_that_was_granted_is_hidden),
		cmocka_unit_test(a_name_that_the_host_makes_is_a_node_when_it_is_looked_at_anew),
		cmocka_unit_test(a_grant_in_a_node_leaves_the_node),
		cmocka_unit_test(a_grant_to_read_a_real_folder_is_spread_over_its_nodes),
		cmocka_unit_test(a_program_that_may_be_asked_for_is_a_node_or_trapped),
		cmocka_unit_test(the_folder_of_what_is_missing_is_watched),
	};
	return cmocka_run_group_tests(tests, make_home, remove_home);
}
