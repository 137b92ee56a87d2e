/* What a sandbox sees at a path by its plan and view; what was swapped meanwhile. */
#include "plan/sight.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "hold/asked.h"
#include "schema/limits.h"
#include "support/cmocka.h"

static struct plan plan;
static struct view *view;
static struct sights *sights;

static struct mount *put(enum mount_kind kind, const char *path, const char *source) {
	plan.mounts = array_grow(plan.mounts, plan.count, sizeof *plan.mounts);
	struct mount *mount = &plan.mounts[plan.count++];
	*mount = (struct mount){.kind = kind, .path = string_copy(path), .source = string_copy_or_null(source)};
	return mount;
}

static int setup(void **state) {
	(void)state;
	plan = (struct plan){0};
	put(MOUNT_READ, "/usr", "/usr");
	put(MOUNT_CURTAIN, "/usr/bin/curl", NULL);
	put(MOUNT_CURTAIN, "/usr/lib/pager", NULL);
	put(MOUNT_LINK, "/bin", "usr/bin");
	put(MOUNT_FRESH, "/home/u", NULL);
	put(MOUNT_WRITE, "/home/u/p", "/home/u/p");
	put(MOUNT_READ, "/home/u/p/.git/config", "/home/u/p/.git/config");
	put(MOUNT_CURTAIN, "/home/u/notes", NULL);
	put(MOUNT_READ, "/home/u/notes-old", "/home/u/notes-old");
	strings_add(&plan.missing, "/home/u/p/.envrc");
	strings_add(&plan.missing, "/home/u/p/x/.git/hooks");
	strings_add(&plan.linked.places, "/usr/lib/pager");
	strings_add(&plan.linked.names, "/usr/bin/pager");
	strings_add(&plan.linked.places, "/usr/lib/pager");
	strings_add(&plan.linked.names, "/usr/bin/more");
	strings_add(&plan.linked.places, "/usr/lib/editor");
	strings_add(&plan.linked.names, "/usr/bin/editor");
	view = view_new();
	view->profile = string_copy("test");
	view_add_path(view, "/home/u", false, VIEW_ASK, true);
	view_add_path(view, "/home/u/p", false, VIEW_WRITE, false);
	view_add_path(view, "/home/u/p/.git/config", false, VIEW_READ, true);
	view_add_path(view, "/home/u/notes/key", false, VIEW_ABSENT, false);
	view_add_path(view, "/home/u/notes-old", false, VIEW_READ, true);
	view_add_path(view, "/**/.env", true, VIEW_ABSENT, false);
	view_add_path(view, "/**/*.pem", true, VIEW_READ, true);
	view_add_path(view, "/**/*.txt", true, VIEW_READ, false);
	view_add_path(view, "/home/u/p/src/my.pem", false, VIEW_WRITE, false);
	view_add_program(view, "curl", VIEW_ASK);
	sights = sights_new(&plan, NULL, view);
	return 0;
}

static int teardown(void **state) {
	(void)state;
	sights_free(sights);
	view_free(view);
	plan_finish(&plan);
	return 0;
}

static void each_place_is_seen_as_it_is(void **state) {
	(void)state;
	static const struct {
		const char *path;
		struct sight sight;
	} rows[] = {
		{"/", {.mode = VIEW_ABSENT, .leads = true, .above_missing = true}},
		{"/usr/share", {.mode = VIEW_READ}},
		{"/usr/bin/curl", {.mode = VIEW_ASK, .leads = true, .program = true, .visible = true}},
		{"/usr/lib/pager", {.mode = VIEW_ASK, .leads = true, .program = true, .visible = true}},
		{"/usr/lib/editor", {.mode = VIEW_READ, .program = true}},
		{"/var", {.mode = VIEW_ABSENT}},
		{"/home", {.mode = VIEW_ABSENT, .leads = true, .above_missing = true}},
		{"/home/u/new", {.mode = VIEW_WRITE}}, /* the sandbox's own */
		{"/home/u/p/src", {.mode = VIEW_WRITE}},
		{"/home/u/p/src/.env", {.mode = VIEW_WRITE, .masked_name = true}},
		{"/home/u/p/src/a.pem/b", {.mode = VIEW_WRITE, .masked_name = true}},
		{"/home/u/p/src/a.txt", {.mode = VIEW_WRITE}},
		{"/home/u/p/src/my.pem", {.mode = VIEW_WRITE}}, /* the broker has judged that path */
		{"/home/u/p/src/my.pem/a.pem", {.mode = VIEW_WRITE, .masked_name = true}},
		{"/home/u/.env", {.mode = VIEW_WRITE}}, /* the sandbox's own */
		{"/home/u/p/.git", {.mode = VIEW_WRITE, .leads = true}},
		{"/home/u/p/.git/config", {.mode = VIEW_READ, .ask_write = true, .leads = true}},
		{"/home/u/p/.envrc", {.mode = VIEW_WRITE, .masked_missing = true}},
		{"/home/u/p/x", {.mode = VIEW_WRITE, .above_missing = true}},
		{"/home/u/p/x/.git/hooks/pre-commit", {.mode = VIEW_WRITE, .masked_missing = true}},
		{"/home/u/notes", {.mode = VIEW_ASK, .leads = true}},
		{"/home/u/notes/a/b", {.mode = VIEW_ASK}},
		{"/home/u/notes/key", {.mode = VIEW_ABSENT}},
		{"/home/u/notes-old/x", {.mode = VIEW_READ, .ask_write = true}},
		{"/home/u/note", {.mode = VIEW_WRITE}},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct sight is = sights_at(sights, rows[i].path), *should = &rows[i].sight;
		bool same = is.mode == should->mode && is.ask_write == should->ask_write && is.leads == should->leads &&
			    is.program == should->program && is.visible == should->visible &&
			    is.masked_missing == should->masked_missing && is.masked_name == should->masked_name &&
			    is.above_missing == should->above_missing;
		if (!same)
			fail_msg("%s: mode %d, ask_write %d, leads %d, program %d, visible %d, missing %d, name %d, "
				 "above %d",
				 rows[i].path, (int)is.mode, is.ask_write, is.leads, is.program, is.visible,
				 is.masked_missing, is.masked_name, is.above_missing);
	}
}

static void a_program_is_asked_about_by_the_name_that_a_rule_knows(void **state) {
	(void)state;
	static const struct {
		const char *path, *used, *name;
	} rows[] = {
		{"/usr/lib/pager", NULL, "/usr/bin/pager"},
		{"/usr/lib/pager", "/usr/bin/more", "/usr/bin/more"},
		{"/usr/lib/pager", "/tmp/more", "/usr/bin/pager"}, /* no rule knows that one */
		{"/usr/lib/editor", "/usr/bin/more", "/usr/bin/editor"},
		{"/usr/bin/curl", NULL, "/usr/bin/curl"},
		{"/usr/bin/env", "/usr/bin/env", "/usr/bin/env"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		assert_string_equal(sights_program(sights, rows[i].path, rows[i].used), rows[i].name);
}

static void what_comes_leads_already(void **state) {
	(void)state;
	struct mount mount = {.kind = MOUNT_READ, .path = (char *)"/home/u/notes/deep/tree"};
	const struct plan coming = {.mounts = &mount, .count = 1};
	CLEANUP_SIGHTS struct sights *both = sights_new(&plan, &coming, view);
	assert_true(sights_at(both, "/home/u/notes/deep").leads);
	assert_int_equal(sights_at(both, "/home/u/notes/deep/tree").mode, VIEW_ASK); /* not there yet */
	assert_false(sights_at(sights, "/home/u/notes/deep").leads);
}

static void the_plans_own_links_are_followed(void **state) {
	(void)state;
	static const char *const rows[][2] = {
		{"/bin/curl", "/usr/bin/curl"}, {"/usr/bin", "/usr/bin"}, {"/bin", "/bin"}};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_FREE char *resolved = sights_resolve(sights, rows[i][0], false);
		assert_string_equal(resolved, rows[i][1]);
	}
	CLEANUP_FREE char *last = sights_resolve(sights, "/bin", true);
	assert_string_equal(last, "/usr/bin");
	put(MOUNT_LINK, "/loop", "loop/x");
	CLEANUP_SIGHTS struct sights *looped = sights_new(&plan, NULL, view);
	CLEANUP_FREE char *ends = sights_resolve(looped, "/loop/a", true); /* bounded */
	assert_non_null(ends);
}

static void set_identity(struct mount *mount) {
	struct stat status;
	assert_int_equal(lstat(mount->path, &status), 0);
	mount->device = status.st_dev;
	mount->inode = status.st_ino;
}

static void what_is_swapped_after_the_question_is_hidden(void **state) {
	(void)state;
	char top[] = "/tmp/sbx-asked.XXXXXX";
	assert_non_null(mkdtemp(top));
	CLEANUP_FREE char *shown = path_join(top, "shown"), *evil = path_join(top, "evil");
	CLEANUP_FREE char *file = path_join(shown, "file"), *away = path_join(top, "away");
	assert_int_equal(mkdir(shown, 0700) | mkdir(evil, 0700), 0);
	struct asked *asked = asked_new();
	CLEANUP_PLAN struct plan same = {.mounts = mem_array(struct mount, 2), .count = 2};
	same.mounts[0] = (struct mount){.kind = MOUNT_READ, .path = string_copy(shown), .source = string_copy(shown)};
	same.mounts[1] = (struct mount){.kind = MOUNT_PIN, .path = string_copy(file), .source = string_copy(file)};
	set_identity(&same.mounts[0]);
	asked_note(asked, file); /* an answer may be for the folder above */
	assert_null(asked_check(asked, &same));
	assert_int_equal(same.count, 2);
	assert_int_equal(rename(shown, away) | rename(evil, shown), 0);
	set_identity(&same.mounts[0]);
	assert_string_equal(asked_check(asked, &same), shown);
	assert_int_equal(same.count, 1);
	assert_int_equal(same.mounts[0].kind, MOUNT_HIDE_FOLDER);
	/* nor later in this run */
	asked_forget(asked, file);
	CLEANUP_PLAN struct plan later = {.mounts = mem_array(struct mount, 1), .count = 1};
	later.mounts[0] = (struct mount){.kind = MOUNT_WRITE, .path = string_copy(shown), .source = string_copy(shown)};
	set_identity(&later.mounts[0]);
	assert_non_null(asked_check(asked, &later));
	asked_free(asked);
	rmdir(shown);
	rmdir(away);
	rmdir(top);
}

static void what_comes_where_nothing_was_is_hidden(void **state) {
	(void)state;
	char top[] = "/tmp/sbx-asked.XXXXXX";
	assert_non_null(mkdtemp(top));
	CLEANUP_FREE char *folder = path_join(top, "none"), *file = path_join(folder, "deep");
	struct asked *asked = asked_new();
	asked_note(asked, file);
	assert_int_equal(mkdir(folder, 0700) | mkdir(file, 0700), 0);
	CLEANUP_PLAN struct plan after = {.mounts = mem_array(struct mount, 1), .count = 1};
	after.mounts[0] = (struct mount){.kind = MOUNT_READ, .path = string_copy(file), .source = string_copy(file)};
	set_identity(&after.mounts[0]);
	assert_string_equal(asked_check(asked, &after), file);
	assert_int_equal(after.mounts[0].kind, MOUNT_HIDE_FOLDER);
	asked_free(asked);
	rmdir(file);
	rmdir(folder);
	rmdir(top);
}

/* A tool chooses what it asks for; while its runner is busy with that no grant of it can be taken. */
static void many_deep_questions_cost_little(void **state) {
	enum { DEPTH = 2000, QUESTIONS = LIMIT_HELD_ASKED };
	struct asked *asked = asked_new();
	const clock_t before = clock();
	(void)state;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < QUESTIONS; i++) {
			CLEANUP_STRING struct string path = {0};
			string_appendf(&path, "/tmp/sbx-%d-%d", getpid(), i);
			for (int depth = 0; depth < DEPTH; depth++) string_append(&path, "/a");
			(round == 0 ? asked_note : asked_forget)(asked, path.data);
		}
	asked_free(asked);
	assert_true(clock() - before < 2 * CLOCKS_PER_SEC);
}

static void what_was_missing_in_a_folder_is_known(void **state) {
	(void)state;
	struct asked *asked = asked_new();
	static const char *const paths[] = {"/usr/no-such-name", "/usr/no-such-name/x", "/usr", "/etc/passwd/x"};
	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
		asked_note(asked, paths[i]);
		assert_int_equal(asked_is_missing(asked, paths[i]), i == 0);
		assert_int_equal(asked_is_folder(asked, paths[i]), i == 2);
		asked_forget(asked, paths[i]);
	}
	assert_false(asked_is_missing(asked, paths[0])); /* nobody asks any more */
	asked_free(asked);
}

#define SIGHT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		SIGHT_TEST(each_place_is_seen_as_it_is),
		SIGHT_TEST(what_comes_leads_already),
		SIGHT_TEST(a_program_is_asked_about_by_the_name_that_a_rule_knows),
		SIGHT_TEST(the_plans_own_links_are_followed),
		SIGHT_TEST(what_is_swapped_after_the_question_is_hidden),
		SIGHT_TEST(what_comes_where_nothing_was_is_hidden),
		cmocka_unit_test(what_was_missing_in_a_folder_is_known),
		SIGHT_TEST(many_deep_questions_cost_little),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
