/*
 * What a plan and a view say of a path, without a curtain and with one.
 */
#include "plan/sight.h"

#include <limits.h>
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

static void what_is_written_there_the_host_meets(void **state) {
	(void)state;
	static const struct mount mounts[] = {
		{.kind = MOUNT_OWN, .path = (char *)"/home/u", .source = (char *)"/home/u/state/home"},
		{.kind = MOUNT_WRITE, .path = (char *)"/home/u/app", .source = (char *)"/home/u/app"},
		{.kind = MOUNT_PIN, .path = (char *)"/home/u/app/.git", .source = (char *)"/home/u/app/.git"},
		{.kind = MOUNT_READ,
		 .path = (char *)"/home/u/app/.git/config",
		 .source = (char *)"/home/u/app/.git/config"},
		{.kind = MOUNT_FRESH, .path = (char *)"/tmp"},
	};
	const struct {
		const char *path;
		bool hosts;
	} rows[] = {{"/home/u/x", false},
		    {"/home/u/app", true},
		    {"/home/u/app/a", true},
		    {"/home/u/app/.git/HEAD", true},
		    {"/home/u/app/.git/config", false},
		    {"/tmp/x", false}};
	CLEANUP_VIEW struct view *view = view_new();
	struct plan plan = {.mounts = mem_copy(mounts, sizeof mounts), .count = ARRAY_LENGTH(mounts)};
	CLEANUP_SIGHTS struct sights *sights = sights_new(&plan, NULL, view);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (sights_at(sights, rows[i].path).hosts != rows[i].hosts) fail_msg("%s", rows[i].path);
	free(plan.mounts);
}

static void expect_plain(const struct sights *sights, const char *folder, const char *name, bool plain) {
	CLEANUP_FREE char *path = path_join(folder, name);
	if (sights_plain(sights, path) != plain) fail_msg("%s is%s plain", path, plain ? "n't" : "");
	if (!plain) return;
	const struct sight sight = sights_at(sights, path);
	assert_true(sight.mode == VIEW_WRITE && !sight.masked_missing && !sight.masked_name && sight.mask == 0);
}

#define WRITTEN(path_)                                                                                                 \
	{ .kind = MOUNT_WRITE, .path = (char *)(path_), .source = (char *)(path_) }

/* A tree that may be written, with masks that are there and that are missing, and patterns. */
static void only_names_of_masks_need_a_look(void **state) {
	(void)state;
	static const struct mount mounts[] = {
		{.kind = MOUNT_READ, .path = (char *)"/usr/lib", .source = (char *)"/usr/lib"},
		WRITTEN("/home/u/app"),
		{.kind = MOUNT_PIN, .path = (char *)"/home/u/app/.git", .source = (char *)"/home/u/app/.git"},
		{.kind = MOUNT_READ, .path = (char *)"/home/u/app/.git/hooks", .source = (char *)"…"},
		{.kind = MOUNT_HELD, .path = (char *)"/home/u/app/way"},
	};
	CLEANUP_VIEW struct view *view = view_new();
	struct plan plan = {.mounts = mem_copy(mounts, sizeof mounts), .count = ARRAY_LENGTH(mounts)};
	strings_add(&plan.missing, "/home/u/app/.vscode/Tasks.json");
	strings_add(&plan.missing, "/home/u/app/.git/commondir");
	view_add_path(view, "/home/u/app", false, VIEW_WRITE, false);
	view_add_path(view, "**/*.desktop", true, VIEW_READ, true);
	view_add_path(view, "/home/u/app/**/Makefile", true, VIEW_READ, true);
	view_add_path(view, "/home/u/app/.git/modules/*/config", true, VIEW_READ, true);
	view_add_path(view, "/home/u/app/*.allowed", true, VIEW_READ, false);
	CLEANUP_SIGHTS struct sights *sights = sights_new(&plan, NULL, view);
	const char *const named[] = {"hooks",         "HOOKS/x",   "deep/hooks/x", "Tasks.json",
				     ".x/tasks.json", "x.desktop", ".desktop/y",   "src/Makefile",
				     "makefile",      "a/config",  "way"};
	const char *const above[] = {".vscode", ".git"}; /* as a file `.git` leads to another one */
	const char *const plain[] = {"main.c",           "hook", "hooks2", "x.desktop2", "objects/aa", ".vscode/other",
				     "home/u/a.allowed", "lib",  "a"};
	for (size_t i = 0; i < ARRAY_LENGTH(named); i++) {
		expect_plain(sights, "/home/u/app", named[i], false);
		expect_plain(sights, "/home/u/app/.git", named[i], false);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(plain); i++) {
		expect_plain(sights, "/home/u/app", plain[i], true);
		expect_plain(sights, "/home/u/app/.git", plain[i], true);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(above); i++) expect_plain(sights, "/home/u/app", above[i], false);
	CLEANUP_FREE char *long_name = mem_alloc(1, NAME_MAX + 2);
	memset(long_name, 'n', NAME_MAX + 1);
	long_name[NAME_MAX + 1] = '\0';
	expect_plain(sights, "/home/u/app", long_name, false);
	expect_plain(sights, "/usr/lib", "x", false);
	expect_plain(sights, "/", "elsewhere", false);
	expect_plain(sights, "/home/u/app/.git/hooks", "x", false);
	expect_plain(sights, "/home/u/app/.vscode/Tasks.json", "x", false);
	strings_finish(&plan.missing);
	free(plan.mounts);
}

static void locks_and_own_names_are_told(void **state) {
	(void)state;
	static const struct mount mounts[] = {
		WRITTEN("/p"),
		{.kind = MOUNT_PIN, .path = (char *)"/p/.git", .source = (char *)"/p/.git"},
		{.kind = MOUNT_READ, .path = (char *)"/p/.git/config", .source = (char *)"/p/.git/config"},
	};
	CLEANUP_VIEW struct view *view = view_new();
	struct plan plan = {.mounts = mem_copy(mounts, sizeof mounts), .count = ARRAY_LENGTH(mounts)};
	strings_add(&plan.missing, "/p/.gitmodules");
	view_add_path(view, "/p", false, VIEW_WRITE, false);
	view_add_path(view, "/p/.envrc", false, VIEW_WRITE, false);
	view_add_path(view, "/p/*.code-workspace", true, VIEW_READ, true);
	view_add_path(view, "/p/.git/modules/*/config", true, VIEW_READ, true);
	CLEANUP_SIGHTS struct sights *sights = sights_new(&plan, NULL, view);
	static const char *const locks[] = {"/p/.git/config.lock", "/p/.gitmodules.lock",
					    "/p/.git/modules/m/config.lock"};
	static const char *const none[] = {"/p/.git/config", "/p/.git/index.lock", "/p/d/config.lock", "/p/.envrc.lock",
					   "/p/.git/config.lock/x"};
	for (size_t i = 0; i < ARRAY_LENGTH(locks); i++) {
		assert_true(sights_at(sights, locks[i]).masked_lock);
		assert_false(sights_plain(sights, locks[i]));
	}
	for (size_t i = 0; i < ARRAY_LENGTH(none); i++) assert_false(sights_at(sights, none[i]).masked_lock);
	assert_true(sights_at(sights, "/p/.envrc").own_name && sights_at(sights, "/p/.git/modules/m/config").own_name);
	assert_false(sights_at(sights, "/p/other").own_name || sights_at(sights, "/p/.envrc.lock").own_name);
	assert_true(sights_at(sights, "/p/d/x.code-workspace").mask_name &&
		    sights_at(sights, "/p/.gitmodules").mask_name);
	assert_false(sights_at(sights, "/p/config").mask_name || sights_at(sights, "/p/plain").mask_name);
	strings_finish(&plan.missing);
	free(plan.mounts);
}

/* What is said of a folder holds for all that is in it, also where something is mounted in there: the name is looked
 * for behind what the view says, which may be far above. */
static void a_pattern_counts_above_the_mount_too(void **state) {
	(void)state;
	static const struct mount mounts[] = {
		WRITTEN("/home/u/conf/work"),
		WRITTEN("/home/u/p"),
		{.kind = MOUNT_PIN, .path = (char *)"/home/u/p/conf", .source = (char *)"/home/u/p/conf"},
		WRITTEN("/home/u/q/conf")};
	CLEANUP_VIEW struct view *view = view_new();
	struct plan plan = {.mounts = mem_copy(mounts, sizeof mounts), .count = ARRAY_LENGTH(mounts)};
	view_add_path(view, "/home/u/work", false, VIEW_WRITE, false); /* a link to /home/u/conf/work */
	view_add_path(view, "/home/u/p", false, VIEW_WRITE, false);
	view_add_path(view, "/home/u/q/conf", false, VIEW_WRITE, false);
	view_add_path(view, "/**/conf", true, VIEW_READ, true);
	CLEANUP_SIGHTS struct sights *sights = sights_new(&plan, NULL, view);
	expect_plain(sights, "/home/u/conf/work", "x", false);
	expect_plain(sights, "/home/u/p", "x", true);
	expect_plain(sights, "/home/u/p/conf", "x", false);
	expect_plain(sights, "/home/u/q/conf", "x", true); /* the broker says more of it than the pattern */
	expect_plain(sights, "/home/u/q/conf", "d/conf", false);
	free(plan.mounts);
}

/* Where a pattern ends in whatever there is, nothing is plain; nor below a mask that is missing, whatever it is in. */
static void whatever_may_be_a_masks_is_not_plain(void **state) {
	(void)state;
	const char *const patterns[] = {"/home/u/app/*/*", "/home/u/[a/b]", "/home/u/app/\\*", "/home/*/"};
	for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
		struct mount tree = WRITTEN("/home/u/app");
		struct plan plan = {.mounts = &tree, .count = 1};
		CLEANUP_VIEW struct view *view = view_new();
		view_add_path(view, patterns[i], true, VIEW_ABSENT, false);
		CLEANUP_SIGHTS struct sights *sights = sights_new(&plan, NULL, view);
		expect_plain(sights, "/home/u/app", i == 1 ? "b]" : i == 2 ? "*" : "main.c", false);
	}
	struct mount tree = WRITTEN("/home/u/app");
	struct plan plan = {.mounts = &tree, .count = 1};
	strings_add(&plan.missing, "/home/u");
	CLEANUP_VIEW struct view *view = view_new();
	view_add_path(view, "/home/u/app", false, VIEW_WRITE, false);
	CLEANUP_SIGHTS struct sights *sights = sights_new(&plan, NULL, view);
	expect_plain(sights, "/home/u/app", "main.c", false);
	strings_finish(&plan.missing);
}

/* The tree is mounted before anybody is told that it is. */
static void masks_of_what_is_coming_are_asked_about_already(void **state) {
	(void)state;
	struct mount home = {.kind = MOUNT_FRESH, .path = (char *)"/home/u"};
	struct plan now = {.mounts = &home, .count = 1}, coming = {.mounts = &home, .count = 1};
	CLEANUP_VIEW struct view *view = view_new();
	strings_add(&coming.missing, "/home/u/beside/.envrc");
	CLEANUP_SIGHTS struct sights *before = sights_new(&now, NULL, view),
				     *meanwhile = sights_new(&now, &coming, view);
	assert_false(sights_at(before, "/home/u/beside/.envrc").masked_missing);
	assert_true(sights_at(meanwhile, "/home/u/beside/.envrc").masked_missing);
	assert_false(sights_at(meanwhile, "/home/u/beside/other").masked_missing);
	strings_finish(&coming.missing);
}

/* A home that lasts, with the project two folders deep, a tool's folder in which the host's is mounted, and /tmp. */
static void what_is_made_where_nobody_looks_would_be_lost(void **state) {
	(void)state;
	static const struct mount mounts[] = {
		{.kind = MOUNT_OWN, .path = (char *)"/home/u"},
		{.kind = MOUNT_READ, .path = (char *)"/home/u/.cargo/bin"},
		{.kind = MOUNT_WRITE, .path = (char *)"/home/u/src/app", .source = (char *)"/home/u/src/app"},
		{.kind = MOUNT_FRESH, .path = (char *)"/run"},
		{.kind = MOUNT_READ, .path = (char *)"/run/user/5/x"},
		{.kind = MOUNT_FRESH, .path = (char *)"/tmp"},
		{.kind = MOUNT_READ, .path = (char *)"/tmp/a/b"},
	};
	struct plan plan = {.mounts = mem_copy(mounts, sizeof mounts), .count = ARRAY_LENGTH(mounts)};
	CLEANUP_VIEW struct view *view = view_new();
	view_add_path(view, "/home/u/.saved", false, VIEW_WRITE, false);
	view_add_path(view, "/home/u/out", false, VIEW_WRITE, false);
	view_add_path(view, "/home/u/src/app", false, VIEW_WRITE, false);
	CLEANUP_SIGHTS struct sights *sights = sights_new(&plan, NULL, view);
	const struct {
		const char *path;
		bool lost, given;
	} rows[] = {
		{"/home/u", false, false},
		{"/home/u/report.csv", true, false},
		{"/home/u/.toolrc", false, false},
		{"/home/u/.saved", true, true},
		{"/home/u/out", true, true},
		{"/home/u/made/by/the/tool", false, false},
		{"/home/u/src", true, false},
		{"/home/u/src/repo1", true, false},
		{"/home/u/src/.hidden", true, false},
		{"/home/u/src/repo1/file", false, false},
		{"/home/u/src/app", false, true},
		{"/home/u/src/app/file", false, true},
		{"/home/u/.cargo/registry", false, false}, /* by a name with a dot the tool's own */
		{"/home/u/.config/newtool", false, false},
		{"/run/user/5/y", false, false}, /* it is sealed */
		{"/tmp/x", false, false},
		{"/tmp/a/c", true, false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct sight sight = sights_at(sights, rows[i].path);
		const struct need need = {.permission = PERMISSION_FS_WRITE, .path = rows[i].path};
		if (sight.lost != rows[i].lost || sight.given != rows[i].given)
			fail_msg("%s: lost %d, given %d", rows[i].path, sight.lost, sight.given);
		if (sight.lost) assert_false(sights_plain(sights, rows[i].path));
		if (sight.lost) assert_int_equal(sights_give(sights, &need), sight.given);
	}
	free(plan.mounts);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(masks_of_what_is_coming_are_asked_about_already),
					   cmocka_unit_test(what_nothing_stands_for_is_own_or_asked),
					   cmocka_unit_test(what_is_made_where_nobody_looks_would_be_lost),
					   cmocka_unit_test(what_is_written_there_the_host_meets),
					   cmocka_unit_test(only_names_of_masks_need_a_look),
					   cmocka_unit_test(locks_and_own_names_are_told),
					   cmocka_unit_test(a_pattern_counts_above_the_mount_too),
					   cmocka_unit_test(whatever_may_be_a_masks_is_not_plain)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
