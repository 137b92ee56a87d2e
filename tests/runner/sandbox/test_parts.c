/* The pure pieces: bwrap's arguments, variables, orders, limits on a made-up control group tree, the filter's shape. */
#include <errno.h>
#include <ftw.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "finds/linked.h"
#include "finds/walk.h"
#include "init/orders.h"
#include "plan/plan.h"
#include "run/limits.h"
#include "runner/program_links.h"
#include "sandbox/bwrap.h"
#include "sandbox/environment.h"
#include "sandbox/etc_files.h"
#include "sandbox/programs.h"
#include "support/cmocka.h"

static void attack_b_20_bwrap_sees_no_word_of_the_tool(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings argv = {0};
	bwrap_arguments(&(struct bwrap_options){.program = "/usr/bin/bwrap"}, &argv);
	CLEANUP_STRING struct string line = {0};
	for (size_t i = 0; i < argv.count; i++) string_appendf(&line, "%s%s", i ? " " : "", argv.items[i]);
	assert_string_equal(
		line.data,
		"/usr/bin/bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try "
		"--unshare-net --die-with-parent --as-pid-1 --proc /proc --dir /dev --perms 0755 --tmpfs /run "
		"--perms 0555 --ro-bind-data 4 /run/sbx/init -- /run/sbx/init");
}

static void a_rule_for_the_root_is_bwraps(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings argv = {0};
	struct mount mounts[] = {{.kind = MOUNT_READ, .path = (char *)"/", .source = (char *)"/"}};
	const struct plan plan = {.mounts = mounts, .count = 1};
	assert_int_equal(bwrap_root_of(&plan), BWRAP_ROOT_READ);
	bwrap_arguments(&(struct bwrap_options){.program = "/usr/bin/bwrap", .root = BWRAP_ROOT_READ}, &argv);
	assert_true(strings_contain(&argv, "--ro-bind"));
	mounts[0].path = (char *)"/usr";
	assert_int_equal(bwrap_root_of(&plan), BWRAP_ROOT_FRESH);
}

static bool has(const struct strings *list, const char *text) {
	return strings_contain(list, text);
}

static void only_named_variables_are_passed(void **state) {
	(void)state;
	CLEANUP_VIEW struct view *view = view_new();
	CLEANUP_STRINGS struct strings asked = {0}, environment = {0}, left_out = {0};
	strings_add(&view->environment, "LANG");
	strings_add(&view->environment, "HTTP_PROXY");
	view_set_variable(view, "CI", "1");
	view_set_variable(view, "HOME", "/evil");
	strings_add(&asked, "MINE");
	strings_add(&asked, "SET=a=b");
	strings_add(&asked, "ABSENT");
	char *const outside[] = {(char *)"LANG=C",
				 (char *)"OPENAI_API_KEY=hush",
				 (char *)"MINE=x",
				 (char *)"HTTP_PROXY=http://corp",
				 (char *)"LD_PRELOAD=evil.so",
				 (char *)"USER=u",
				 (char *)"PATH=/sbin",
				 (char *)"broken",
				 NULL};
	const struct environment_options options = {.view = view,
						    .outside = outside,
						    .asked = &asked,
						    .home = "/home/u",
						    .path = "/usr/bin",
						    .directory = "/home/u/app",
						    .proxied = true};
	environment_build(&options, &environment, &left_out);
	assert_true(has(&environment, "LANG=C") && has(&environment, "CI=1") && has(&environment, "MINE=x"));
	assert_true(has(&environment, "SET=a=b") && has(&environment, "HOME=/home/u") &&
		    has(&environment, "PATH=/usr/bin"));
	assert_true(has(&environment, "HTTP_PROXY=http://127.0.0.1:61080") && has(&environment, "USER=u"));
	assert_true(has(&environment, "all_proxy=socks5h://127.0.0.1:61080"));
	for (size_t i = 0; i < environment.count; i++) {
		assert_null(strstr(environment.items[i], "hush"));
		assert_null(strstr(environment.items[i], "evil"));
		assert_null(strstr(environment.items[i], "corp"));
	}
	assert_int_equal(left_out.count, 1);
	assert_string_equal(left_out.items[0], "OPENAI_API_KEY");
}

static void the_sandbox_knows_its_own_name_alone(void **state) {
	(void)state;
	static const struct {
		const char *name, *shown;
	} rows[] = {
		{"box", " box"}, {"box.corp.test", " box.corp.test box"},
		{"", ""},        {"localhost", ""},
		{"a b", ""},     {"a\n1.2.3.4 b", ""},
		{"-n", ""},      {"a..b", ""},
		{"a#b", ""},     {"under_score", " under_score"},
		{"(none)", ""},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_FREE char *text = etc_hosts_text(rows[i].name);
		CLEANUP_FREE char *expected =
			string_format("127.0.0.1 localhost%s\n::1 localhost ip6-localhost ip6-loopback%s\n",
				      rows[i].shown, rows[i].shown);
		assert_string_equal(text, expected);
	}
}

static void orders_come_out_as_they_went_in(void **state) {
	(void)state;
	struct sock_filter filter[3] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
	CLEANUP_STRINGS struct strings arguments = {0}, environment = {0};
	strings_add(&arguments, "tool");
	strings_add(&arguments, "");
	strings_add(&arguments, "-\n\xff");
	strings_add(&environment, "A=");
	const struct launch_orders in = {.arguments = arguments,
					 .environment = environment,
					 .program = (char *)"/bin/tool",
					 .directory = (char *)"/",
					 .filter = filter,
					 .filter_count = 3,
					 .limits = {{RLIMIT_NOFILE, 64, 65}},
					 .limit_count = 1};
	CLEANUP_STRING struct string bytes = {0};
	CLEANUP_ORDERS struct launch_orders out = {0};
	assert_int_equal(orders_pack(&in, &bytes, NULL), 0);
	assert_int_equal(orders_unpack(bytes.data, bytes.size, &out, NULL), 0);
	assert_int_equal(out.arguments.count, 3);
	assert_string_equal(out.arguments.items[2], "-\n\xff");
	assert_string_equal(out.environment.items[0], "A=");
	assert_string_equal(out.program, "/bin/tool");
	assert_memory_equal(out.filter, filter, sizeof filter);
	assert_int_equal(out.limits[0].soft, 64);
	assert_int_equal(out.limits[0].hard, 65);
}

static void malformed_orders_are_refused(void **state) {
	(void)state;
	const size_t sizes[] = {0, 1, 40, 400};
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		char block[400];
		memset(block, 0xff, sizeof block);
		CLEANUP_ORDERS struct launch_orders out = {0};
		assert_true(orders_unpack(block, sizes[i], &out, NULL) < 0);
	}
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

static void put(const char *root, const char *name, const char *text) {
	CLEANUP_FREE char *path = path_join(root, name);
	CLEANUP_FREE char *folder = path_parent(path);
	assert_int_equal(file_make_directories(folder, NULL), 0);
	assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), 0);
}

/* A plain folder isn't a control group: memory.max doesn't come with mkdir, so the group can't be used and is removed.
 */
static void memory_falls_back_to_data_never_to_address_space(void **state) {
	(void)state;
	char root[] = "/tmp/sbx-cgroup.XXXXXX";
	assert_non_null(mkdtemp(root));
	put(root, "user/app/cgroup.subtree_control", "cpu memory pids\n");
	put(root, "user/app/tool.scope/cgroup.subtree_control", "\n");
	const struct view_limits wanted = {.memory = 1 << 30, .open_files = 7};
	struct limits limits;
	limits_make(&wanted, root, "12:cpu:/\n0::/user/app/tool.scope\n", &limits);
	assert_true(limits.by_rlimit);
	assert_int_equal(limits.procs, -1);
	CLEANUP_FREE char *left = path_join(root, "user/app");
	struct stat status;
	assert_int_equal(stat(left, &status), 0);
	assert_int_equal(status.st_nlink, 3); /* itself, its name, tool.scope: no group of ours is left */
	struct launch_orders orders = {0};
	limits_for_orders(&limits, &wanted, &orders);
	assert_int_equal(orders.limits[0].resource, RLIMIT_DATA);
	for (uint32_t i = 0; i < orders.limit_count; i++) assert_int_not_equal(orders.limits[i].resource, RLIMIT_AS);
	limits_finish(&limits);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Matches of one pattern below /usr, as many as lie deeper than /usr/NAME and not in /usr/local. */
static size_t deep_matches(const char *text) {
	const struct pattern_scope scope = {.relative_anywhere = true};
	CLEANUP_PATTERNS struct patterns patterns = {0};
	CLEANUP_STRINGS struct strings trees = {0}, matches = {0}, sockets = {0};
	strings_add(&trees, "/usr");
	assert_int_equal(patterns_add(&patterns, PERMISSION_FS_READ, text, &scope, NULL), 0);
	const struct walk walk = {.trees = &trees, .patterns = &patterns};
	assert_int_equal(walk_trees(&walk, &matches, &sockets, NULL), 0);
	size_t deep = 0;
	for (size_t i = 0; i < matches.count; i++)
		deep += path_depth(matches.items[i]) > 2 && !path_is_below(matches.items[i], "/usr/local");
	return deep;
}

static void what_packages_bring_is_looked_through_only_for_what_lies_there(void **state) {
	(void)state;
	assert_int_equal(deep_matches("/**/sh"), 0);
	assert_true(deep_matches("/usr/bin/s*") > 0);
}

/* Letters that mean something in patterns are a name's own where it is the end of a link. */
static void a_pattern_means_the_place_that_its_link_leads_to(void **state) {
	static const struct pattern_scope nothing = {.home = NULL};
	const struct permission permission = permission_of(PERMISSION_FS_READ);
	CLEANUP_LINKED struct linked linked = {0};
	CLEANUP_STRINGS struct strings patterns = {0};
	CLEANUP_PATTERN struct pattern *pattern = NULL;

	(void)state;
	strings_add(&linked.names, "/home/ada/link");
	strings_add(&linked.places, "/data/${x} [1]*");
	strings_add(&patterns, "/home/ada/link/*.pem");
	linked_patterns(&linked, &patterns);
	assert_int_equal(patterns.count, 2);
	assert_int_equal(pattern_compile(&permission, patterns.items[1], &nothing, &pattern, NULL), 0);
	assert_true(pattern_match(pattern, "/data/${x} [1]*/key.pem", NULL));
	assert_false(pattern_match(pattern, "/data/${x} 1/key.pem", NULL));
}

/* Programs */

struct programs {
	char root[32];
	char *search;
	struct rules rules;
	struct facts facts;
	struct fact_book book;
	struct plan plan;
};

static char *at(const struct programs *programs, const char *name) {
	return path_join(programs->root, name);
}

static void link_to(const struct programs *programs, const char *name, const char *text) {
	CLEANUP_FREE char *path = at(programs, name);
	assert_int_equal(symlink(text, path), 0);
}

/* bin: one, two, deep/three; X11 leads to itself, pager to lib/pager. */
static void programs_make(struct programs *programs) {
	*programs = (struct programs){.root = "/tmp/sbx-programs.XXXXXX", .rules = {.curtain = true}};
	assert_non_null(mkdtemp(programs->root));
	programs->search = at(programs, "bin");
	put(programs->root, "bin/one", "1");
	put(programs->root, "bin/two", "2");
	put(programs->root, "bin/deep/three", "3");
	put(programs->root, "lib/pager", "4");
	link_to(programs, "bin/X11", ".");
	link_to(programs, "bin/pager", "../lib/pager");
	link_to(programs, "bin/gone", "../lib/gone");
}

static void programs_plan(struct programs *programs, const struct view *view) {
	assert_int_equal(programs_add(view, programs->search, false, &programs->rules, NULL), 0);
	facts_collect(&programs->rules, &programs->book, &programs->facts);
	assert_int_equal(plan_build(&programs->rules, &programs->facts, &programs->plan, NULL), 0);
}

static void programs_remove(struct programs *programs) {
	plan_finish(&programs->plan);
	facts_finish(&programs->facts);
	fact_book_finish(&programs->book);
	rules_finish(&programs->rules);
	free(programs->search);
	nftw(programs->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* NULL: there is none. */
static const struct mount *node_at(const struct programs *programs, const char *name) {
	CLEANUP_FREE char *path = at(programs, name);
	for (size_t i = 0; i < programs->plan.count; i++)
		if (programs->plan.mounts[i].kind == MOUNT_CURTAIN && strcmp(programs->plan.mounts[i].path, path) == 0)
			return &programs->plan.mounts[i];
	return NULL;
}

static void a_pattern_asks_about_each_program_and_about_no_folder(void **state) {
	static const char *const asked[] = {"bin/one", "bin/two", "bin/deep/three", "lib/pager"};
	struct programs programs;
	(void)state;
	programs_make(&programs);
	CLEANUP_FREE char *pattern = at(&programs, "bin/*"), *name = at(&programs, "bin/pager");
	CLEANUP_VIEW struct view *view = view_new();
	view_add_program(view, pattern, VIEW_ASK);
	programs_plan(&programs, view);
	for (size_t i = 0; i < ARRAY_LENGTH(asked); i++) {
		const struct mount *node = node_at(&programs, asked[i]);
		if (!node || !S_ISREG(node->mode)) fail_msg("%s is not asked about", asked[i]);
	}
	assert_null(node_at(&programs, "bin"));
	assert_int_equal(programs.plan.linked.places.count, 1);
	assert_string_equal(programs.plan.linked.places.items[0], node_at(&programs, "lib/pager")->path);
	assert_string_equal(programs.plan.linked.names.items[0], name);
	programs_remove(&programs);
}

static void where_starts_are_trapped_what_links_lead_to_is_known(void **state) {
	struct programs programs;
	(void)state;
	programs_make(&programs);
	CLEANUP_FREE char *pattern = at(&programs, "bin/*"), *place = at(&programs, "lib/pager"),
			  *name = at(&programs, "bin/pager");
	CLEANUP_VIEW struct view *view = view_new();
	view_add_program(view, pattern, VIEW_ASK);
	assert_int_equal(programs_add(view, programs.search, true, &programs.rules, NULL), 0);
	assert_int_equal(programs.rules.count, 0);
	assert_int_equal(programs.rules.linked.places.count, 1);
	assert_string_equal(programs.rules.linked.places.items[0], place);
	assert_string_equal(programs.rules.linked.names.items[0], name);
	programs_remove(&programs);
}

static void a_folder_is_named_for_the_programs_in_it(void **state) {
	struct programs programs;
	(void)state;
	programs_make(&programs);
	CLEANUP_FREE char *folder = at(&programs, "bin/deep");
	CLEANUP_VIEW struct view *view = view_new();
	view_add_program(view, folder, VIEW_ASK);
	programs_plan(&programs, view);
	assert_non_null(node_at(&programs, "bin/deep/three"));
	assert_null(node_at(&programs, "bin/deep"));
	assert_null(node_at(&programs, "bin/one"));
	programs_remove(&programs);
}

static void a_program_for_one_call_is_that_program_alone(void **state) {
	struct programs programs;
	(void)state;
	programs_make(&programs);
	CLEANUP_FREE char *pattern = at(&programs, "bin/*"), *one = at(&programs, "bin/one");
	CLEANUP_VIEW struct view *view = view_new();
	view_add_program(view, pattern, VIEW_ASK);
	view_add_program(view, one, VIEW_READ);
	programs_plan(&programs, view);
	assert_null(node_at(&programs, "bin/one"));
	assert_non_null(node_at(&programs, "bin/two"));
	programs_remove(&programs);
}

/* A busybox has hundreds; another name of the file itself, and a link to that, are none of it. */
static void each_link_to_a_program_is_found(void **state) {
	enum { LINKS = 100 };
	(void)state;
	char made[] = "/tmp/sbx-links.XXXXXX";
	assert_non_null(mkdtemp(made));
	CLEANUP_FREE char *top = realpath(made, NULL), *file = path_join(top, "file"), *hard = path_join(top, "hard");
	CLEANUP_FREE char *to_hard = path_join(top, "to-hard"), *nowhere = path_join(top, "nowhere");
	CLEANUP_STRINGS struct strings links = {0};
	assert_int_equal(file_write(file, "", 0, 0755, NULL), 0);
	assert_int_equal(link(file, hard) | symlink("hard", to_hard) | symlink("none", nowhere), 0);
	for (int i = 0; i < LINKS; i++) {
		CLEANUP_FREE char *name = string_format("%s/link%d", top, i);
		assert_int_equal(symlink(i % 2 ? "file" : file, name), 0);
	}
	program_links(file, top, &links);
	assert_int_equal(links.count, LINKS);
	for (size_t i = 0; i < links.count; i++) assert_int_equal(unlink(links.items[i]), 0);
	assert_int_equal(unlink(file) | unlink(hard) | unlink(to_hard) | unlink(nowhere) | rmdir(top), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_asks_about_each_program_and_about_no_folder),
		cmocka_unit_test(where_starts_are_trapped_what_links_lead_to_is_known),
		cmocka_unit_test(a_folder_is_named_for_the_programs_in_it),
		cmocka_unit_test(a_program_for_one_call_is_that_program_alone),
		cmocka_unit_test(each_link_to_a_program_is_found),
		cmocka_unit_test(a_pattern_means_the_place_that_its_link_leads_to),
		cmocka_unit_test(what_packages_bring_is_looked_through_only_for_what_lies_there),
		cmocka_unit_test(attack_b_20_bwrap_sees_no_word_of_the_tool),
		cmocka_unit_test(a_rule_for_the_root_is_bwraps),
		cmocka_unit_test(only_named_variables_are_passed),
		cmocka_unit_test(the_sandbox_knows_its_own_name_alone),
		cmocka_unit_test(orders_come_out_as_they_went_in),
		cmocka_unit_test(malformed_orders_are_refused),
		cmocka_unit_test(memory_falls_back_to_data_never_to_address_space),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
