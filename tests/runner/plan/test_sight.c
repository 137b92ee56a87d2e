/*
 * What a plan and a view say of a path, without a curtain and with one.
 */
#include "plan/sight.h"

#include <string.h>

#include "base/path.h"
#include "base/string.h"
#include "support/cmocka.h"

/* Home is fresh and asked about, a part of it is granted to read, one may be written there if somebody allows it. */
static struct sights *make(struct plan *plan, struct view *view) {
	static const struct mount mounts[] = {
		{.kind = MOUNT_FRESH, .path = (char *)"/home/u"},
		{.kind = MOUNT_CURTAIN, .path = (char *)"/home/u/node"},
		{.kind = MOUNT_READ, .path = (char *)"/home/u/read"},
	};
	*plan = (struct plan){.mounts = mem_copy(mounts, sizeof mounts), .count = ARRAY_LENGTH(mounts)};
	view_add_path(view, "/home/u", false, VIEW_ASK, false);
	view_add_path(view, "/home/u/read", false, VIEW_READ, true);
	view_add_path(view, "/home/u/secret", false, VIEW_ABSENT, false);
	return sights_new(plan, NULL, view);
}

static void what_nothing_stands_for_is_own_or_asked(void **state) {
	(void)state;
	CLEANUP_VIEW struct view *view = view_new();
	struct plan plan;
	CLEANUP_SIGHTS struct sights *sights = make(&plan, view);
	const struct {
		const char *path;
		enum view_mode mode;
		bool own_or_asked, ask_write;
	} rows[] = {
		{"/home/u", VIEW_WRITE, false, false},
		{"/home/u/new", VIEW_WRITE, true, false},
		{"/home/u/new/deeper", VIEW_WRITE, true, false},
		{"/home/u/secret", VIEW_WRITE, false, false}, /* a rule says no: nobody is asked */
		{"/home/u/node", VIEW_ASK, false, false},
		{"/home/u/node/file", VIEW_ASK, false, false},
		{"/home/u/read/file", VIEW_READ, false, true},
		{"/elsewhere", VIEW_ABSENT, false, false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct sight sight = sights_at(sights, rows[i].path);
		if (sight.mode != rows[i].mode || sight.own_or_asked != rows[i].own_or_asked ||
		    sight.ask_write != rows[i].ask_write)
			fail_msg("%s: mode %d, own_or_asked %d, ask_write %d", rows[i].path, sight.mode,
				 sight.own_or_asked, sight.ask_write);
	}
	const struct {
		struct need need;
		bool given;
	} needs[] = {
		{{.permission = PERMISSION_FS_WRITE, .path = "/home/u"}, true},
		{{.permission = PERMISSION_FS_READ, .path = "/home/u/new"}, false},
		{{.permission = PERMISSION_FS_WRITE, .path = "/home/u/new"}, false},
		{{.permission = PERMISSION_FS_READ, .path = "/home/u/read/file"}, true},
		{{.permission = PERMISSION_FS_WRITE, .path = "/home/u/read/file"}, false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(needs); i++)
		assert_int_equal(sights_give(sights, &needs[i].need), needs[i].given);
	free(plan.mounts);
}

/* A tree that may be written, with masks that are there and that are missing, and patterns. */
static void only_names_of_masks_need_a_look(void **state) {
	(void)state;
	static const struct mount mounts[] = {
		{.kind = MOUNT_READ, .path = (char *)"/usr/lib", .source = (char *)"/usr/lib"},
		{.kind = MOUNT_WRITE, .path = (char *)"/home/u/app", .source = (char *)"/home/u/app"},
		{.kind = MOUNT_PIN, .path = (char *)"/home/u/app/.git", .source = (char *)"/home/u/app/.git"},
		{.kind = MOUNT_HIDE_FOLDER, .path = (char *)"/home/u/app/.git/hooks"},
	};
	const struct mount coming[] = {mounts[1], {.kind = MOUNT_READ, .path = (char *)"/home/u/app/soon"}};
	CLEANUP_VIEW struct view *view = view_new();
	struct plan plan = {.mounts = mem_copy(mounts, sizeof mounts), .count = ARRAY_LENGTH(mounts)};
	struct plan next = {.mounts = mem_copy(coming, sizeof coming), .count = ARRAY_LENGTH(coming)};
	strings_add(&plan.missing, "/home/u/app/.vscode/Tasks.json");
	view_add_path(view, "**/*.desktop", true, VIEW_READ, true);
	view_add_path(view, "/home/u/app/**/Makefile", true, VIEW_READ, true);
	view_add_path(view, "/home/u/app/.git/modules/*/config", true, VIEW_READ, true);
	view_add_path(view, "/home/u/app/*.allowed", true, VIEW_WRITE, false);
	CLEANUP_SIGHTS struct sights *sights = sights_new(&plan, &next, view);
	const char *const named[] = {"hooks",     "HOOKS/x",    "deep/hooks/x", "Tasks.json", ".vscode/tasks.json/x",
				     "x.desktop", ".desktop/y", "src/Makefile", "makefile",   "a/config",
				     "soon"};
	const char *const plain[] = {"main.c",    "hook", "hooks2", "x.desktop2", ".git/objects/aa", ".vscode/other",
				     "a.allowed", "lib",  ""};
	for (size_t i = 0; i < ARRAY_LENGTH(named); i++) {
		CLEANUP_FREE char *path = path_join("/home/u/app", named[i]),
				  *git = path_join("/home/u/app/.git", named[i]);
		if (sights_plain(sights, path) || sights_plain(sights, git)) fail_msg("%s is plain", named[i]);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(plain); i++) {
		CLEANUP_FREE char *path = path_join("/home/u/app", plain[i]);
		if (!sights_plain(sights, path)) fail_msg("%s isn't plain", plain[i]);
	}
	assert_false(sights_plain(sights, "/usr/lib/x")); /* read-only */
	assert_false(sights_plain(sights, "/elsewhere"));
	assert_false(sights_plain(sights, "/home/u/app/.git/hooks/x"));
	strings_finish(&plan.missing);
	free(plan.mounts);
	free(next.mounts);
}

/* What ends in anything, or in a part of what is in braces, may have any name. */
static void a_pattern_that_ends_in_any_name_needs_a_look_at_all(void **state) {
	(void)state;
	const char *const patterns[] = {"/home/u/app/deep/**", "/home/u/{a,b/c}"};
	for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
		struct mount tree = {
			.kind = MOUNT_WRITE, .path = (char *)"/home/u/app", .source = (char *)"/home/u/app"};
		const struct plan plan = {.mounts = &tree, .count = 1};
		CLEANUP_VIEW struct view *view = view_new();
		view_add_path(view, patterns[i], true, VIEW_ABSENT, false);
		CLEANUP_SIGHTS struct sights *sights = sights_new(&plan, NULL, view);
		assert_false(sights_plain(sights, "/home/u/app/main.c"));
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_nothing_stands_for_is_own_or_asked),
					   cmocka_unit_test(only_names_of_masks_need_a_look),
					   cmocka_unit_test(a_pattern_that_ends_in_any_name_needs_a_look_at_all)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
