/* Projects and git's layouts, in repositories that git itself makes. */
#include <errno.h>
#include <ftw.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "git/git.h"
#include "git/git_index.h"
#include "git/git_review.h"
#include "git/git_survey.h"
#include "runner/project.h"
#include "support/cmocka.h"

static char *top;

static char *in(const char *name) {
	return path_join(top, name);
}

/* A line of sh in the test's folder. */
static void shell(const char *line) {
	pid_t pid = fork();
	if (pid == 0) {
		if (chdir(top) < 0 || setenv("HOME", top, 1) < 0) _exit(1);
		setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
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
	char name[] = "/tmp/sbx-project.XXXXXX";
	if (!mkdtemp(name)) return -1;
	top = realpath(name, NULL);
	shell("git config --global user.email a@example.test; git config --global user.name a;"
	      "git config --global init.defaultBranch main; git config --global protocol.file.allow always;"
	      "mkdir plain; git init -q repo; mkdir -p repo/a/b; git -C repo commit -q --allow-empty -m one");
	return 0;
}

static int teardown(void **state) {
	(void)state;
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(top);
	return 0;
}

static void expect_project(const char *asked, const char *directory, const char *project, const char *root) {
	CLEANUP_PROJECT struct project found = {0};
	struct error error = ERROR_NONE;
	CLEANUP_FREE char *from = in(directory), *want_project = in(project), *want_root = in(root);
	int r = project_find(asked, from, top, &found, &error);
	if (r < 0) fail_msg("%s", error.message);
	assert_string_equal(found.project, want_project);
	assert_string_equal(found.root, want_root);
}

static void project_is_the_git_top_level_or_the_folder(void **state) {
	(void)state;
	expect_project(NULL, "repo/a/b", "repo", "repo");
	expect_project(NULL, "plain", "plain", "plain");
	expect_project("../plain", "repo", "plain", "plain");
	expect_project("a", "repo", "repo/a", "repo/a");
}

static void attack_f_13_home_and_root_must_be_said_aloud(void **state) {
	(void)state;
	CLEANUP_PROJECT struct project found = {0};
	struct error error = ERROR_NONE;
	assert_int_equal(project_find(NULL, top, top, &found, &error), -EPERM);
	assert_non_null(strstr(error.message, "--project"));
	assert_int_equal(project_find(NULL, "/", top, &found, &error), -EPERM);
	assert_int_equal(project_find(NULL, "/tmp", top, &found, &error), -EPERM);
	assert_int_equal(project_find("/", top, top, &found, &error), 0);
	assert_string_equal(found.root, "/");
}

static void a_home_that_is_a_repository_does_not_swallow_its_folders(void **state) {
	(void)state;
	shell("git init -q .; mkdir -p work/thing; git commit -q --allow-empty -m dotfiles");
	expect_project(NULL, "work/thing", "work/thing", "work/thing");
	shell("rm -rf .git work");
}

static void a_linked_worktree_shares_the_main_ones_grants(void **state) {
	(void)state;
	shell("git -C repo worktree add -q ../linked -b linked 2>/dev/null; mkdir linked/sub");
	expect_project(NULL, "linked/sub", "repo", "linked");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_FREE char *linked = in("linked"), *common = in("repo/.git"), *hooks = in("repo/.git/hooks"),
			  *pointer = in("linked/.git"), *config = in("repo/.git/config"),
			  *commondir = in("repo/.git/worktrees/linked/commondir");
	assert_int_equal(git_find(linked, top, &git), 1);
	assert_true(git.linked && git.outside);
	assert_string_equal(git.common, common);
	assert_true(strings_contain(&git.protect, hooks));
	assert_true(strings_contain(&git.protect, config));
	assert_true(strings_contain(&git.protect, pointer));
	assert_true(strings_contain(&git.protect, commondir));
}

static void attack_f_06_a_repository_can_not_claim_to_be_part_of_another(void **state) {
	(void)state;
	shell("mkdir liar; printf 'gitdir: %s/repo/.git/worktrees/linked\\n' \"$HOME\" >liar/.git;"
	      "mkdir thief; printf 'gitdir: ../repo/.git\\n' >thief/.git; mkdir -p forged/g; "
	      "printf 'gitdir: g\\n' >forged/.git; printf '../../repo/.git\\n' >forged/g/commondir; touch "
	      "forged/g/HEAD");
	const char *const names[] = {"liar", "thief", "forged"};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		CLEANUP_GIT_LAYOUT struct git_layout git = {0};
		CLEANUP_FREE char *path = in(names[i]);
		assert_int_equal(git_find(path, top, &git), 0);
		assert_false(git.linked || git.outside);
		expect_project(NULL, names[i], names[i], names[i]);
	}
}

static void attack_f_06_a_repository_can_not_widen_its_project_to_what_holds_it(void **state) {
	(void)state;
	shell("mkdir -p wide/worktrees/tool wide/home; cd wide/worktrees/tool; echo 'gitdir: .'>.git; echo "
	      "../..>commondir;"
	      "echo .git>gitdir; echo 'ref: refs/heads/x'>HEAD");
	shell("mkdir -p wide/worktrees/full; cd wide/worktrees/full; echo 'gitdir: .'>.git; echo ../..>commondir;"
	      "echo .git>gitdir; cp ../tool/HEAD .; cp HEAD ../..; mkdir ../../objects ../../refs");
	shell("mkdir -p up/work up/objects up/refs; cd up; cp ../wide/HEAD .; printf '[core]\nworktree = work\n' "
	      ">config;"
	      "echo 'gitdir: ..' >work/.git");
	const char *const names[] = {"wide/worktrees/tool", "wide/worktrees/full", "up/work"};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		CLEANUP_GIT_LAYOUT struct git_layout git = {0};
		CLEANUP_FREE char *path = in(names[i]), *pointer = path_join(path, ".git");
		assert_int_equal(git_find(path, top, &git), 0);
		assert_false(git.linked || git.outside);
		assert_true(strings_contain(&git.protect, pointer));
		expect_project(NULL, names[i], names[i], names[i]);
	}
	shell("rm -rf wide up");
}

static void attack_f_13_a_worktree_of_a_home_that_is_a_repository_is_its_own_project(void **state) {
	(void)state;
	shell("git init -q .; git commit -q --allow-empty -m dotfiles; git worktree add -q side -b side 2>/dev/null");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_FREE char *side = in("side");
	git_find(side, top, &git);
	expect_project(NULL, "side", "side", "side");
	shell("git worktree remove --force side; rm -rf .git");
}

static void expect_protected(const char *directory, const char *name, bool want) {
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_FREE char *from = in(directory), *path = in(name);
	git_find(from, top, &git);
	assert_int_equal(strings_contain(&git.protect, path), want);
}

static void attack_f_04_a_git_folder_that_was_broken_inside_stays_protected(void **state) {
	(void)state;
	shell("git init -q broken; cd broken; git config core.hooksPath .husky; git commit -q --allow-empty -m one;"
	      "head=$(git symbolic-ref HEAD); git pack-refs --all; ln -sfn $head .git/HEAD; git status >/dev/null");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_FREE char *broken = in("broken");
	assert_int_equal(git_find(broken, top, &git), 1);
	expect_protected("broken", "broken/.git/config", true);
	expect_protected("broken", "broken/.husky", true);
	expect_protected("broken", "broken/.git", false);
	const char *const breaks[] = {"mv .git/refs .git/r2", "mv .git/objects .git/o2", "rm .git/HEAD"};
	for (size_t i = 0; i < ARRAY_LENGTH(breaks); i++) {
		CLEANUP_FREE char *line = string_format("cd broken; %s", breaks[i]);
		shell(line);
		expect_protected("broken", "broken/.git", true);
		expect_protected("broken", "broken/.husky", true);
	}
	shell("rm -rf broken/.git; mkfifo broken/.git");
	expect_protected("broken", "broken/.git", true);
	shell("rm broken/.git; ln -s nowhere broken/.git");
	expect_protected("broken", "broken/.git", true);
	shell("rm -rf broken");
}

static void the_target_of_a_link_among_the_hooks_is_protected(void **state) {
	(void)state;
	shell("git init -q hooked; cd hooked; mkdir scripts; echo >scripts/pc; ln -s ../../scripts/pc "
	      ".git/hooks/pre-commit;"
	      "ln -s ../.. .git/hooks/post-commit");
	expect_protected("hooked", "hooked/.git/hooks/pre-commit", true);
	expect_protected("hooked", "hooked/.git/hooks/post-commit", false);
	shell("rm -rf hooked");
}

static void expect_gitlinks(const char *before) {
	CLEANUP_GIT_INDEX struct git_index read = {0};
	CLEANUP_FREE char *index = in("indexed/.git/index");
	shell(before);
	git_index_read(index, 20, &read);
	assert_true(read.whole);
	assert_int_equal(read.links.count, 2);
	assert_string_equal(read.links.items[0], "deps/one");
	assert_string_equal(read.links.items[1], "deps/two");
}

static bool is_whole(const char *name) {
	CLEANUP_GIT_INDEX struct git_index read = {0};
	CLEANUP_FREE char *index = in(name);
	git_index_read(index, 20, &read);
	return read.whole;
}

static void gitlinks_are_found_in_every_version_of_the_index(void **state) {
	(void)state;
	shell("git init -q indexed; cd indexed; mkdir deps other; touch a deps/on deps/tzz other/file z; git add .;"
	      "for n in one two; do git update-index --add --cacheinfo 160000,$(git -C ../repo rev-parse HEAD),deps/$n;"
	      "done");
	expect_gitlinks("cd indexed; git update-index --index-version 2");
	expect_gitlinks("cd indexed; git update-index --index-version 4");
	expect_gitlinks("cd indexed; git update-index --index-version 3; touch n; git add -N n");
	assert_true(is_whole("indexed/.git/none"));
	shell("cd indexed; git update-index --split-index");
	assert_false(is_whole("indexed/.git/index"));
	shell("cd indexed; git update-index --no-split-index; head -c 200 .git/index >c; mv c .git/index");
	assert_false(is_whole("indexed/.git/index"));
	shell("cd indexed; rm .git/index; mkfifo .git/index");
	assert_false(is_whole("indexed/.git/index"));
	shell("rm -rf indexed");
}

/* Extensions have no order that whoever reads them asks for: one that splits the index may come behind another. */
static void an_index_is_split_wherever_it_says_so(void **state) {
	(void)state;
	static const char head[] = "DIRC\0\0\0\2\0\0\0\0", tree[] = "TREE\0\0\0\3abc", link[] = "link\0\0\0\0";
	static const char hash[20] = {0};
	for (int split = 0; split < 2; split++) {
		CLEANUP_STRING struct string bytes = {0};
		CLEANUP_GIT_INDEX struct git_index read = {0};
		string_append_bytes(&bytes, head, sizeof head - 1);
		string_append_bytes(&bytes, tree, sizeof tree - 1);
		if (split) string_append_bytes(&bytes, link, sizeof link - 1);
		string_append_bytes(&bytes, hash, sizeof hash);
		git_index_parse(bytes.data, bytes.size, 20, &read);
		assert_int_equal(read.whole, !split);
	}
}

static void expect_hidden(const char *before, size_t hash_size) {
	CLEANUP_GIT_INDEX struct git_index read = {0};
	CLEANUP_FREE char *index = in("hiding/.git/index");
	shell(before);
	git_index_read(index, hash_size, &read);
	assert_true(read.whole);
	assert_int_equal(read.assumed.count, 2);
	assert_string_equal(read.assumed.items[0], "a");
	assert_string_equal(read.assumed.items[1], "sub/both");
	assert_int_equal(read.skipped.count, 2);
	assert_string_equal(read.skipped.items[0], "sub/both");
	assert_string_equal(read.skipped.items[1], "sub/skipped");
}

static void entries_that_git_takes_for_unchanged_are_found_in_every_version_of_the_index(void **state) {
	(void)state;
	static const char make[] = "cd hiding; mkdir sub; touch a b sub/both sub/skipped sub/z; git add .;"
				   "git update-index --assume-unchanged a sub/both; git update-index --skip-worktree "
				   "sub/both sub/skipped";
	shell("git init -q hiding");
	shell(make);
	expect_hidden("cd hiding; git update-index --index-version 3", 20);
	expect_hidden("cd hiding; git update-index --index-version 4", 20);
	shell("rm -rf hiding; git init -q --object-format=sha256 hiding");
	shell(make);
	expect_hidden("true", 32);
	shell("rm -rf hiding");
}

/* What a perl program makes of the index; its hash is put right. */
static void forge(const char *program) {
	CLEANUP_FREE char *script = string_format("cd wrong; perl -MDigest::SHA=sha1 -0777 -e 'open F, q(.git/index); "
						  "$d = <F>; $d = substr($d, 0, -20); %s; open G, "
						  "q(>.git/index); print G $d . sha1($d)'",
						  program);
	shell(script);
}

static void read_forged(struct git_index *ret_read) {
	CLEANUP_FREE char *index = in("wrong/.git/index");
	git_index_finish(ret_read);
	git_index_read(index, 20, ret_read);
}

static void expect_forged(const char *program, const char *name) {
	CLEANUP_GIT_INDEX struct git_index read = {0};
	forge(program);
	read_forged(&read);
	assert_true(read.whole);
	assert_int_equal(read.forged.count, 1);
	assert_string_equal(read.forged.items[0], name);
}

static void attack_r_14_names_that_git_would_write_anywhere_are_found_in_an_index(void **state) {
	(void)state;
	CLEANUP_GIT_INDEX struct git_index read = {0};
	shell("git init -q wrong; cd wrong; mkdir xx .gix; touch .gix/hook xx/rc aa z; git add .; git config "
	      "core.fileMode true");
	read_forged(&read);
	assert_int_equal(read.forged.count, 0);
	shell("cp wrong/.git/index kept");
	expect_forged("$d =~ s/\\.gix/.git/", ".git/hook");
	shell("cp kept wrong/.git/index");
	expect_forged("$d =~ s/\\.gix/.GIT/", ".GIT/hook");
	shell("cp kept wrong/.git/index");
	expect_forged("$d =~ s{xx/}{../}", "../rc");
	shell("cp kept wrong/.git/index");
	expect_forged("$d =~ s{aa\\0}{/a\\0}", "/a");
	shell("cp kept wrong/.git/index");
	expect_forged("$d =~ s{xx/}{x//}", "x//rc");
	shell("rm -rf wrong kept");
}

/* Git takes what has the format's bits for a gitlink (S_ISGITLINK), whatever the others are. */
static void attack_r_14_a_gitlink_is_one_whatever_else_its_mode_says(void **state) {
	(void)state;
	CLEANUP_GIT_INDEX struct git_index read = {0};
	shell("git init -q wrong; cd wrong; touch a; git add .; git update-index --add --cacheinfo "
	      "160000,$(git -C ../repo rev-parse HEAD),deep/one");
	forge("$d =~ s/\\0\\0\\xe0\\0(?=.{34}deep)/\\0\\0\\xe0\\x01/s");
	read_forged(&read);
	assert_true(read.whole);
	assert_int_equal(read.links.count, 1);
	assert_string_equal(read.links.items[0], "deep/one");
	assert_int_equal(read.forged.count, 1);
	shell("rm -rf wrong");
}

/* Git reads the second flags in version 2 as well, a name's length in the first, and blocks where they are said to be.
 */
static void attack_r_14_an_index_is_read_as_git_reads_it(void **state) {
	(void)state;
	CLEANUP_GIT_INDEX struct git_index read = {0};
	shell("git init -q wrong; cd wrong; touch a b; git add .; git update-index --skip-worktree b");
	forge("substr($d, 7, 1) = chr(2)");
	read_forged(&read);
	assert_true(read.whole);
	assert_int_equal(read.skipped.count, 1);
	assert_string_equal(read.skipped.items[0], "b");
	shell("rm -rf wrong; git init -q wrong; cd wrong; touch a b; git add .");
	read_forged(&read);
	assert_true(read.whole);
	forge("$d =~ s/\\0\\x01a\\0/\\0\\x02a\\0/");
	read_forged(&read);
	assert_false(read.whole);
	shell("rm -rf wrong; git init -q wrong; cd wrong; for n in $(seq 1000); do echo >$n; done;"
	      "git config index.threads 4; git add .; git update-index --force-write-index");
	for (int version = 2; version <= 4; version += 2) {
		CLEANUP_FREE char *script = string_format(
			"cd wrong; git update-index --index-version %d; grep -q IEOT .git/index", version);
		shell(script);
		read_forged(&read);
		assert_true(read.whole);
	}
	shell("cp wrong/.git/index kept");
	forge("$d =~ s/(IEOT.{8}..)(..)/$1 . pack(q(n), unpack(q(n), $2) + 1)/se");
	read_forged(&read);
	assert_false(read.whole);
	shell("cp kept wrong/.git/index");
	forge("$d =~ s/(EOIE.{4}..)(..)/$1 . pack(q(n), unpack(q(n), $2) - 8)/se");
	read_forged(&read);
	assert_false(read.whole);
	shell("rm -rf wrong kept");
}

struct hidings {
	struct strings texts;
};

static void add_hiding(void *context, const struct git_reviewed *of, enum git_news what, const char *name) {
	static const char *const whats[] = {"assumed", "skipped", "excluded", "reordered", "unread",
					    "forged",  "linked",  "planned",  "below"};
	struct hidings *hidings = context;
	const char *near = string_starts(name, top) ? name + strlen(top) + 1 : name;
	strings_addf(&hidings->texts, "%s %s %s", of->directory + strlen(top) + 1, whats[what], near);
}

/* All that is told, a line each, sorted. */
static void expect_told(const struct git_review *review, const char *want) {
	struct hidings hidings = {0};
	CLEANUP_STRING struct string told = {0};
	assert_true(git_review_compare(review, add_hiding, &hidings));
	strings_sort(&hidings.texts);
	for (size_t i = 0; i < hidings.texts.count; i++) string_appendf(&told, "%s\n", hidings.texts.items[i]);
	strings_finish(&hidings.texts);
	assert_string_equal(told.data ? told.data : "", want);
}

static void attack_r_14_what_git_shows_no_longer_is_told_and_what_it_did_not_show_before_is_not(void **state) {
	(void)state;
	shell("git init -q shown; cd shown; touch a b c d; git add .; git commit -qm one; git update-index "
	      "--assume-unchanged d; printf '# x\n*.log\n!kept.log\n' >.git/info/exclude;"
	      "git submodule --quiet add \"$HOME/repo\" part >/dev/null 2>&1;"
	      "git worktree add -q ../beside -b beside 2>/dev/null");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_FREE char *shown = in("shown");
	struct git_review review = {0};
	assert_int_equal(git_find(shown, top, &git), 1);
	git_review_add(&review, &git);
	git_review_add(&review, &git);
	assert_int_equal(review.count, 3);
	expect_told(&review, "");
	shell("cd shown; git update-index --assume-unchanged a; git update-index --skip-worktree c d;"
	      "echo evil >>.git/info/exclude; echo inner >>.git/modules/part/info/exclude;"
	      "cd ../beside; git update-index --skip-worktree b");
	expect_told(&review,
		    "shown/.git assumed a\nshown/.git excluded evil\nshown/.git skipped c\nshown/.git skipped d\n"
		    "shown/.git/modules/part excluded inner\nshown/.git/worktrees/beside skipped b\n");
	shell("cd shown; git update-index --no-assume-unchanged a; git update-index --no-skip-worktree c d;"
	      "printf '*.log\n' >.git/info/exclude; rm .git/modules/part/info/exclude; git update-index --split-index;"
	      "cd ../beside; git update-index --no-skip-worktree b");
	expect_told(&review, "shown/.git reordered \nshown/.git unread index\n");
	shell("cd shown; printf '!kept.log\n*.log\n' >.git/info/exclude; rm .git/index; ln -s nowhere .git/index");
	expect_told(&review, "shown/.git reordered \nshown/.git unread index\n");
	git_review_finish(&review);
	shell("rm -rf shown beside");
}

static void what_git_on_the_host_would_go_to_or_go_on_with_is_told(void **state) {
	(void)state;
	shell("git init -q shown; cd shown; touch a; git add .; git commit -qm one; mkdir -p .git/rebase-merge;"
	      "printf 'pick 1 a\nexec make\n' >.git/rebase-merge/git-rebase-todo");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_FREE char *shown = in("shown");
	struct git_review review = {0};
	assert_int_equal(git_find(shown, top, &git), 1);
	git_review_add(&review, &git);
	shell("cd shown; echo 'exec make' >.git/rebase-merge/git-rebase-todo");
	expect_told(&review, "");
	shell("cd shown; echo 'x  evil' >>.git/rebase-merge/git-rebase-todo; mkdir -p .git/sequencer "
	      ".git/modules/a/b/lib "
	      ".git/worktrees/new; touch .git/modules/a/b/lib/HEAD .git/worktrees/new/gitdir;"
	      "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),deep/one");
	expect_told(&review, "shown/.git below shown/.git/modules/a/b/lib\nshown/.git below shown/.git/worktrees/new\n"
			     "shown/.git linked deep/one\nshown/.git planned rebase-merge/git-rebase-todo\n"
			     "shown/.git planned sequencer\n");
	git_review_finish(&review);
	shell("rm -rf shown");
}

static void expect_new(const struct git_survey *before, const char *name) {
	CLEANUP_STRINGS struct strings paths = {0};
	CLEANUP_FREE char *want = in(name);
	size_t folders;
	assert_true(git_survey_compare(before, &paths, &folders));
	if (!strings_contain(&paths, want)) fail_msg("%s was not found to be new", name);
}

static void a_survey_finds_what_is_nested_and_what_is_new(void **state) {
	(void)state;
	shell("git init -q outer; cd outer; git init -q vendor/in; git init -q node_modules/x;"
	      "mkdir -p far/a; echo gitdir: x >far/a/.git");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_GIT_SURVEY struct git_survey survey = {0};
	CLEANUP_STRINGS struct strings paths = {0};
	CLEANUP_FREE char *outer = in("outer"), *vendor = in("outer/vendor/in"), *far = in("outer/far/a");
	assert_int_equal(git_find(outer, top, &git), 1);
	git_survey_take(outer, &git, &survey);
	CLEANUP_FREE char *package = in("outer/node_modules/x");
	assert_int_equal(survey.repositories.count, 4);
	assert_string_equal(survey.repositories.items[0], outer);
	assert_true(strings_contain(&survey.repositories, vendor) && strings_contain(&survey.repositories, far));
	assert_true(strings_contain(&survey.repositories, package));
	assert_int_equal(survey.notes.count, 0);
	size_t folders;
	assert_true(git_survey_compare(&survey, &paths, &folders));
	assert_int_equal(paths.count, 0);
	shell("cd outer; git init -q fresh; git init -q node_modules/y; git init -q node_modules/@z/z");
	expect_new(&survey, "outer/fresh/.git");
	expect_new(&survey, "outer/node_modules/y/.git");
	expect_new(&survey, "outer/node_modules/@z/z/.git");
	shell("rm -rf outer");
}

static const char *const directories[] = {
	"led",        "files", "node_modules",       "node_modules/@s",      "node_modules/@s/p",
	"store/real", "store", "node_modules/.pnpm", "node_modules/.pnpm/e", "node_modules/.pnpm/e/node_modules/e",
};

/* The rest has what git looks for but for one thing. */
static void attack_r_14_a_survey_takes_for_a_git_directory_what_git_takes_for_one(void **state) {
	(void)state;
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_GIT_SURVEY struct git_survey before = {0}, survey = {0};
	CLEANUP_FREE char *forms = in("forms");
	shell("mkdir forms");
	git_survey_take(forms, &git, &before);
	shell("cd forms; mkdir -p common/objects common/refs led files node_modules/@s/p store/real none/objects "
	      "none/refs lost/objects lost/refs plain word/objects word/refs node_modules/.pnpm/e/node_modules/e;"
	      "for at in node_modules node_modules/@s node_modules/@s/p store/real store node_modules/.pnpm "
	      "node_modules/.pnpm/e node_modules/.pnpm/e/node_modules/e; do mkdir $at/objects $at/refs; echo 'ref: "
	      "refs/heads/x' >$at/HEAD; done; for at in led files plain lost; do cp node_modules/HEAD $at; done;"
	      "echo ../common >led/commondir; echo nowhere >lost/commondir; echo word >word/HEAD;"
	      "touch files/objects files/refs plain/objects plain/refs; chmod +x files/objects files/refs;"
	      "ln -s ../store/real node_modules/link; ln -s .pnpm/e/node_modules/e node_modules/e;"
	      "ln -s / node_modules/far");
	git_survey_take(forms, &git, &survey);
	assert_int_equal(survey.bare.count, ARRAY_LENGTH(directories));
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		CLEANUP_FREE char *name = path_join("forms", directories[i]), *path = in(name);
		if (!strings_contain(&survey.bare, path)) fail_msg("%s was not found", name);
		expect_new(&before, name);
	}
	shell("rm -rf forms");
}

static void a_survey_is_bounded_and_says_so(void **state) {
	(void)state;
	shell("mkdir -p many/z/deep; git init -q many/z; for i in $(seq 45); do mkdir -p $(seq -f many/a$i/%g 50); "
	      "done");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_GIT_SURVEY struct git_survey survey = {0};
	CLEANUP_FREE char *many = in("many"), *z = in("many/z");
	git_survey_take(many, &git, &survey);
	assert_true(strings_contain(&survey.repositories, z));
	assert_int_equal(survey.notes.count, 1);
	assert_true(survey.cut);
	CLEANUP_STRINGS struct strings paths = {0};
	size_t folders = 0;
	assert_false(git_survey_compare(&survey, &paths, &folders));
	assert_int_equal(folders, survey.folders);
	shell("rm -rf many");
}

static void attack_r_08_a_folder_of_many_names_takes_no_other_one_s_git_out_of_sight(void **state) {
	(void)state;
	shell("mkdir -p wide/a wide/b wide/c; (cd wide/a; seq 51000 | xargs touch); git init -q wide/b; mkdir "
	      "wide/c/.git;"
	      "mkdir wide/d; chmod 0 wide/d");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_GIT_SURVEY struct git_survey survey = {0};
	CLEANUP_FREE char *wide = in("wide"), *b = in("wide/b"), *c = in("wide/c"), *d = in("wide/d");
	git_survey_take(wide, &git, &survey);
	assert_true(survey.cut);
	assert_true(strings_contain(&survey.repositories, b) && strings_contain(&survey.repositories, c));
	if (geteuid() != 0) assert_true(strings_contain(&survey.shut, d));
	shell("rm -rf wide");
}

/* Whatever the order of its entries is. */
static void a_folder_with_more_folders_than_are_looked_into_has_its_own_git_found(void **state) {
	(void)state;
	shell("mkdir wide; cd wide; for i in $(seq 3); do mkdir -p $i; mkdir $(seq -f $i/%g 900); git init -q $i; "
	      "done");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_GIT_SURVEY struct git_survey survey = {0};
	CLEANUP_FREE char *wide = in("wide");
	git_survey_take(wide, &git, &survey);
	assert_true(survey.cut);
	assert_int_equal(survey.repositories.count, 3);
	shell("rm -rf wide");
}

static void a_submodule_points_back_by_its_configuration(void **state) {
	(void)state;
	shell("git init -q super; git -C super submodule --quiet add \"$HOME/repo\" part >/dev/null 2>&1");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0}, outer = {0};
	CLEANUP_FREE char *part = in("super/part"), *directory = in("super/.git/modules/part"), *super = in("super"),
			  *hooks = in("super/.git/modules/part/hooks");
	assert_int_equal(git_find(part, top, &git), 1);
	assert_true(git.outside && !git.linked);
	assert_string_equal(git.directory, directory);
	expect_project(NULL, "super/part", "super/part", "super/part");
	assert_int_equal(git_find(super, top, &outer), 1);
	assert_true(strings_contain(&outer.protect, hooks));
}

static void the_effective_hooks_path_is_protected_wherever_it_is_configured(void **state) {
	(void)state;
	shell("git -C repo config core.hooksPath tools/hooks; printf '[include]\\n\\tpath = extra # c\\n' "
	      ">>repo/.git/config;"
	      "printf '[Core]\\n\\tHooksPath = \"~/glo\\\\\"bal\" ; x\\n' >repo/.git/extra");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_FREE char *repo = in("repo"), *hooks = in("repo/tools/hooks"), *global = in("glo\"bal"),
			  *extra = in("repo/.git/extra");
	assert_int_equal(git_find(repo, top, &git), 1);
	assert_true(strings_contain(&git.protect, hooks));
	assert_true(strings_contain(&git.protect, global));
	assert_true(strings_contain(&git.protect, extra));
}

static void attack_r_09_what_git_runs_is_protected_however_its_configuration_writes_it(void **state) {
	static const char *const names[] = {
		"quoted a/clean", "escaped a/clean", "gpg a/program", "old/clean",
		"inner/a",        "inner b/c",       "template",      "missing/one",
	};
	(void)state;
	const struct passwd *account = getpwuid(getuid());
	shell("git init -q run; cd run; for at in 'quoted a' 'escaped a' 'gpg a' old inner 'inner b'; do mkdir "
	      "\"$at\"; "
	      "touch \"$at/clean\" \"$at/program\" \"$at/a\" \"$at/c\"; done;"
	      "printf '%s\n' '[filter.f]' 'clean = old/clean' '[filter \"q\"]' "
	      "'clean = \"\\\"./quoted a/clean\\\" %f\"' 'smudge = ./escaped\\\\ a/clean' '[gpg]' "
	      "'program = ./gpg a/program' '[alias]' 'x = !sh -c \"inner/a; missing/one\"' "
	      "'y = \"!\\\"inner b/c\\\" x\"' '[init]' 'templateDir = template' >>.git/config");
	CLEANUP_FREE char *users = string_format("printf '[core]\\nhooksPath = ~%s%s/user/hooks\\n' >>run/.git/config",
						 account->pw_name, "/sbx-test");
	shell(users);
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_FREE char *run = in("run");
	assert_int_equal(git_find(run, top, &git), 1);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		CLEANUP_FREE char *path = path_join(run, names[i]);
		if (!strings_contain(&git.protect, path)) fail_msg("%s isn't protected", names[i]);
	}
	CLEANUP_FREE char *hooks = path_join(account->pw_dir, "sbx-test/user/hooks");
	assert_true(strings_contain(&git.protect, hooks));
	shell("rm -rf run");
}

static void attack_r_08_more_than_is_looked_at_below_modules_is_said(void **state) {
	(void)state;
	shell("git init -q full; mkdir full/.git/modules; cd full/.git/modules; seq 6000 | xargs mkdir");
	CLEANUP_GIT_LAYOUT struct git_layout few = {0}, many = {0};
	CLEANUP_FREE char *full = in("full");
	assert_int_equal(git_find(full, top, &few), 1);
	assert_false(few.cut);
	shell("cd full/.git/modules; seq 6001 8000 | xargs mkdir");
	assert_int_equal(git_find(full, top, &many), 1);
	assert_true(many.cut);
	shell("rm -rf full");
}

static void a_fifo_for_a_configuration_does_not_hang(void **state) {
	(void)state;
	shell("git init -q trap; rm trap/.git/config; mkfifo trap/.git/config");
	CLEANUP_GIT_LAYOUT struct git_layout git = {0};
	CLEANUP_FREE char *trap = in("trap");
	assert_int_equal(git_find(trap, top, &git), 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(project_is_the_git_top_level_or_the_folder),
		cmocka_unit_test(attack_f_13_home_and_root_must_be_said_aloud),
		cmocka_unit_test(a_home_that_is_a_repository_does_not_swallow_its_folders),
		cmocka_unit_test(a_linked_worktree_shares_the_main_ones_grants),
		cmocka_unit_test(attack_f_06_a_repository_can_not_claim_to_be_part_of_another),
		cmocka_unit_test(attack_f_06_a_repository_can_not_widen_its_project_to_what_holds_it),
		cmocka_unit_test(attack_f_13_a_worktree_of_a_home_that_is_a_repository_is_its_own_project),
		cmocka_unit_test(attack_f_04_a_git_folder_that_was_broken_inside_stays_protected),
		cmocka_unit_test(the_target_of_a_link_among_the_hooks_is_protected),
		cmocka_unit_test(gitlinks_are_found_in_every_version_of_the_index),
		cmocka_unit_test(an_index_is_split_wherever_it_says_so),
		cmocka_unit_test(entries_that_git_takes_for_unchanged_are_found_in_every_version_of_the_index),
		cmocka_unit_test(attack_r_14_names_that_git_would_write_anywhere_are_found_in_an_index),
		cmocka_unit_test(attack_r_14_a_gitlink_is_one_whatever_else_its_mode_says),
		cmocka_unit_test(attack_r_14_an_index_is_read_as_git_reads_it),
		cmocka_unit_test(what_git_on_the_host_would_go_to_or_go_on_with_is_told),
		cmocka_unit_test(attack_r_14_what_git_shows_no_longer_is_told_and_what_it_did_not_show_before_is_not),
		cmocka_unit_test(a_folder_with_more_folders_than_are_looked_into_has_its_own_git_found),
		cmocka_unit_test(a_survey_finds_what_is_nested_and_what_is_new),
		cmocka_unit_test(attack_r_14_a_survey_takes_for_a_git_directory_what_git_takes_for_one),
		cmocka_unit_test(a_survey_is_bounded_and_says_so),
		cmocka_unit_test(attack_r_08_a_folder_of_many_names_takes_no_other_one_s_git_out_of_sight),
		cmocka_unit_test(a_submodule_points_back_by_its_configuration),
		cmocka_unit_test(the_effective_hooks_path_is_protected_wherever_it_is_configured),
		cmocka_unit_test(attack_r_09_what_git_runs_is_protected_however_its_configuration_writes_it),
		cmocka_unit_test(attack_r_08_more_than_is_looked_at_below_modules_is_said),
		cmocka_unit_test(a_fifo_for_a_configuration_does_not_hang),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
