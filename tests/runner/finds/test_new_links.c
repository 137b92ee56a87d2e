/* The look at links that a run has left, in a home that the test makes. */
#include "finds/new_links.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "support/cmocka.h"

static char *top;

static char *in(const char *name) {
	return path_join(top, name);
}

static void shell(const char *line) {
	pid_t pid = fork();
	if (pid == 0) {
		if (chdir(top) < 0 || setenv("HOME", top, 1) < 0) _exit(1);
		execl("/bin/sh", "sh", "-ec", line, NULL);
		_exit(1);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

static int setup(void **state) {
	(void)state;
	char name[] = "/tmp/sbx-links.XXXXXX";
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

/* The plan of a project in which `.envrc` and `.git/config` are masked, one of them missing. */
static void make_plan(struct plan *plan) {
	static const struct {
		enum mount_kind kind;
		const char *name;
	} mounts[] = {
		{MOUNT_WRITE, "p"}, {MOUNT_PIN, "p/.git"}, {MOUNT_READ, "p/.git/config"}, {MOUNT_READ, "p/locked"}};
	for (size_t i = 0; i < ARRAY_LENGTH(mounts); i++) {
		plan->mounts = array_grow(plan->mounts, plan->count, sizeof *plan->mounts);
		plan->mounts[plan->count++] = (struct mount){.kind = mounts[i].kind, .path = in(mounts[i].name)};
	}
	strings_take(&plan->missing, in("p/.envrc"));
}

static void look(struct timespec since, size_t entries, struct new_links *links) {
	CLEANUP_PLAN struct plan plan = {0};
	CLEANUP_STRINGS struct strings trees = {0}, git = {0};
	make_plan(&plan);
	strings_take(&trees, in("p"));
	strings_take(&trees, in("p/sub")); /* in another one: looked at once */
	strings_take(&git, in("p/bare"));
	const struct new_links_options options = {
		.plan = &plan, .trees = &trees, .git = &git, .home = top, .since = since, .entries = entries};
	new_links_find(&options, links);
}

static struct timespec now(void) {
	struct timespec time;
	clock_gettime(CLOCK_REALTIME_COARSE, &time);
	return time;
}

static void expect(const struct new_links *links, const char *want) {
	CLEANUP_STRINGS struct strings lines = {0};
	CLEANUP_STRING struct string found = {0};
	for (size_t i = 0; i < links->count; i++)
		strings_addf(&lines, "%s %s", links->items[i].path + strlen(top) + 1,
			     path_is_below(links->items[i].leads, top) ? links->items[i].leads + strlen(top)
								       : links->items[i].leads);
	strings_sort(&lines);
	for (size_t i = 0; i < lines.count; i++) string_appendf(&found, "%s\n", lines.items[i]);
	assert_string_equal(found.data ? found.data : "", want);
}

static void attack_r_14_links_that_a_run_has_left_are_found(void **state) {
	(void)state;
	CLEANUP_NEW_LINKS struct new_links links = {0};
	shell("mkdir -p p/.git p/sub p/locked p/bare other; touch .bashrc p/.git/config p/.git/HEAD p/locked/file "
	      "p/file; ln -s "
	      "../other "
	      "p/old; ln -s ../../other p/sub/old; sleep 0.05");
	const struct timespec since = now();
	shell("cd p; ln -s ~/.bashrc absolute; ln -s ../../.bashrc sub/relative; ln -s old/.profile through; ln -s / "
	      "root;"
	      "ln -s ~/gone/deep nowhere; ln -s ~/new home; ln -s .git/HEAD head; ln -s .git/config masked; ln -s "
	      ".envrc missing; ln -s .git git; ln -s "
	      "locked/file "
	      "locked.link;"
	      "ln -s ../file .git/COMMIT_EDITMSG; ln -s ../file bare/HEAD; ln sub/old renamed;"
	      "ln -s file within; ln -s sub/none within.missing; ln -s /usr/bin/env usr; ln -s /etc/none etc;"
	      "ln -s /dev/null null; ln -s loop loop; ln -s file/x through.file");
	look(since, 0, &links);
	assert_false(links.cut);
	expect(&links, "p/.git/COMMIT_EDITMSG /p/file\n"
		       "p/absolute /.bashrc\n"
		       "p/bare/HEAD /p/file\n"
		       "p/git /p/.git\n"
		       "p/home /new\n"
		       "p/locked.link /p/locked/file\n"
		       "p/masked /p/.git/config\n"
		       "p/missing /p/.envrc\n"
		       "p/renamed /tmp/other\n" /* its text leads elsewhere from there */
		       "p/root /\n"
		       "p/sub/old /other\n" /* its other name has changed it, too */
		       "p/sub/relative /.bashrc\n"
		       "p/through /other/.profile\n");
	shell("chmod -R u+w p; rm -rf p other .bashrc");
}

static void a_link_that_was_there_is_found_when_it_was_replaced_or_renamed(void **state) {
	(void)state;
	CLEANUP_NEW_LINKS struct new_links before = {0}, after = {0};
	shell("mkdir -p p/sub other; ln -s ../other p/old; ln -s ../other p/moved; sleep 0.05");
	const struct timespec since = now();
	look(since, 0, &before);
	expect(&before, "");
	shell("cd p; ln -s ../other new; mv -T new old; mv moved here");
	look(since, 0, &after);
	expect(&after, "p/here /other\np/old /other\n");
	shell("rm -rf p other");
}

static void what_lies_past_a_bound_is_said(void **state) {
	(void)state;
	CLEANUP_NEW_LINKS struct new_links few = {0}, all = {0};
	shell("mkdir -p p/a/b other; touch $(seq -f p/%g 20); ln -s ../../../other p/a/b/deep");
	const struct timespec since = {0};
	look(since, 10, &few);
	assert_true(few.cut);
	expect(&few, "");
	look(since, 0, &all);
	assert_false(all.cut);
	assert_int_equal(all.entries, 23);
	expect(&all, "p/a/b/deep /other\n");
	shell("rm -rf p other");
}

/* Whoever knows the name goes through it. Root reads everything. */
static void a_folder_that_was_made_unreadable_is_said(void **state) {
	(void)state;
	CLEANUP_NEW_LINKS struct new_links links = {0};
	if (geteuid() == 0) skip();
	shell("mkdir -p p/shut other; ln -s ../../other p/shut/link; chmod 0311 p/shut");
	look((struct timespec){0}, 0, &links);
	assert_int_equal(links.shut.count, 1);
	assert_true(string_ends(links.shut.items[0], "/p/shut"));
	shell("chmod 0700 p/shut; rm -rf p other");
}

/* A tree of folders deeper than a path can say. */
static void a_tree_deeper_than_a_path_is_not_looked_at_to_its_end(void **state) {
	(void)state;
	CLEANUP_NEW_LINKS struct new_links links = {0};
	shell("mkdir p; cd p; name=$(printf %0200d 0); for i in $(seq 25); do mkdir $name; cd -P $name; done");
	look((struct timespec){0}, 0, &links);
	assert_true(links.cut);
	shell("cd p; name=$(printf %0200d 0); mv $name a; for i in $(seq 24); do mv a/$name b; rmdir a; mv b a; done; "
	      "rmdir a; cd ..; rmdir p");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_r_14_links_that_a_run_has_left_are_found),
		cmocka_unit_test(a_link_that_was_there_is_found_when_it_was_replaced_or_renamed),
		cmocka_unit_test(what_lies_past_a_bound_is_said),
		cmocka_unit_test(a_folder_that_was_made_unreadable_is_said),
		cmocka_unit_test(a_tree_deeper_than_a_path_is_not_looked_at_to_its_end),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
