/* A process that goes through a tree: find, rg, ls. What is asked, what an answer covers, and what a denial silences.
 */
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "prompts/walk.h"
#include "prompts_fixture.h"
#include "support/cmocka.h"
#include "support/home.h"

/* What is asked about instead of the target, by itself. */

static char *tree_for(struct walks *walks, const char *target, bool listing, const char *walk, const char *root,
		      int64_t now_ms) {
	const struct request request = {.permission = permission_of(PERMISSION_FS_READ),
					.target = (char *)target,
					.process = (char *)"find (7)",
					.listing = listing,
					.walk = (char *)walk};
	const struct walk_step step = {
		.request = &request, .rule = "p:1", .root = root, .home = "/home/u", .now_ms = now_ms};
	return walk_tree(walks, &step);
}

static void expect_tree(struct walks *walks, const char *target, bool listing, const char *walk, const char *root,
			const char *expected) {
	CLEANUP_FREE char *tree = tree_for(walks, target, listing, walk, root, 1000);
	if (!string_equal(tree, expected))
		fail_msg("%s: %s, not %s", target, tree ? tree : "none", expected ? expected : "none");
}

static void a_tree_is_within_what_the_rule_names_and_not_above_home(void **state) {
	(void)state;
	static const struct {
		const char *target, *walk, *root, *tree;
	} cases[] = {
		{"/home/u/a", "/home/u", "/home/u", "/home/u"},
		{"/home/u/a/b/c", "/home/u/a", "/home/u", "/home/u/a"},
		{"/home/u/a/b/c", "/home/u/a/b", "/home/u", "/home/u/a/b"},
		{"/home/u/a", "/home", "/home/u", "/home/u"},
		{"/home/u/a", "/", "/home/u", "/home/u"},
		{"/home/u/a/b", "/home/u", "/home/u/a", "/home/u/a"},
		{"/home/u/a", "/home", "/home", NULL},
		{"/home/u/a", "/", "/", NULL},
		{"/home/u/a", "/home/u", "/home/u/a", NULL}, /* that is the target */
		{"/home/u/a", "/home/u/b", "/home/u", NULL}, /* it isn't above */
		{"/home/u/a", "/home/u", NULL, NULL},        /* the rule names a pattern */
		{"/home/u/a", "/home/u", "/srv", NULL},      /* or something else */
		{"/srv/a/b", "/srv/a", "/srv", "/srv/a"},
		{"/home/u/a", NULL, "/home/u", NULL},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct walks *walks = walks_new();
		expect_tree(walks, cases[i].target, true, cases[i].walk, cases[i].root, cases[i].tree);
		walks_free(walks);
	}
}

static void folders_listed_one_after_the_other_are_a_walk(void **state) {
	(void)state;
	struct walks *walks = walks_new();
	expect_tree(walks, "/home/u/s/a", true, NULL, "/home/u", NULL);
	expect_tree(walks, "/home/u/s/b/c", true, NULL, "/home/u", "/home/u/s");
	expect_tree(walks, "/home/u/t", true, NULL, "/home/u", "/home/u");
	walks_free(walks);
	walks = walks_new();
	CLEANUP_FREE char *first = tree_for(walks, "/home/u/a", true, NULL, "/home/u", 0);
	assert_null(first);
	CLEANUP_FREE char *late = tree_for(walks, "/home/u/b", true, NULL, "/home/u", 60 * 1000);
	assert_null(late); /* that was long ago */
	walks_free(walks);
}

static void one_name_after_itself_is_one_name(void **state) {
	(void)state;
	struct walks *walks = walks_new();
	for (int i = 0; i < 8; i++) expect_tree(walks, "/home/u/s/a", false, NULL, "/home/u", NULL);
	expect_tree(walks, "/home/u/s/b", false, NULL, "/home/u", NULL);
	expect_tree(walks, "/home/u/s/c", false, NULL, "/home/u", NULL);
	expect_tree(walks, "/home/u/s/d", false, NULL, "/home/u", "/home/u/s");
	expect_tree(walks, "/home/u/s/d", false, NULL, "/home/u", NULL);
	walks_free(walks);
}

static void allow(struct walks *walks, const char *target) {
	const struct request request = {.permission = permission_of(PERMISSION_FS_READ), .target = (char *)target};
	walk_allow(walks, &request, "p:1", target);
}

static char *tree_of_another(struct walks *walks, const char *target) {
	static unsigned process;
	CLEANUP_FREE char *name = string_format("cat (%u)", ++process);
	const struct request request = {
		.permission = permission_of(PERMISSION_FS_READ), .target = (char *)target, .process = name};
	const struct walk_step step = {
		.request = &request, .rule = "p:1", .root = "/home/u", .home = "/home/u", .now_ms = 1000};
	return walk_tree(walks, &step);
}

static void expect_folder(struct walks *walks, const char *target, const char *expected) {
	CLEANUP_FREE char *tree = tree_of_another(walks, target);
	if (!string_equal(tree, expected))
		fail_msg("%s: %s, not %s", target, tree ? tree : "none", expected ? expected : "none");
}

static void who_allowed_two_files_of_a_folder_is_asked_about_the_folder(void **state) {
	(void)state;
	struct walks *walks = walks_new();
	expect_folder(walks, "/home/u/notes/a", NULL);
	allow(walks, "/home/u/notes/a");
	allow(walks, "/home/u/notes/a"); /* for once each: that is one file */
	expect_folder(walks, "/home/u/notes/b", NULL);
	allow(walks, "/home/u/notes/b");
	expect_folder(walks, "/home/u/notes/c", "/home/u/notes");
	expect_folder(walks, "/home/u/notes/deep/c", NULL);
	expect_folder(walks, "/home/u/other/c", NULL);
	const struct request denied = {.permission = permission_of(PERMISSION_FS_READ),
				       .target = (char *)"/home/u/notes/c",
				       .process = (char *)"cat (0)"};
	walk_deny(walks, &denied, "p:1", "/home/u/notes", 7, 1000);
	expect_folder(walks, "/home/u/notes/d", NULL); /* the folder was denied: each by itself again */
	walks_free(walks);
}

static void files_in_everybodys_folder_stay_questions_of_their_own(void **state) {
	(void)state;
	static const char *const folders[] = {"/home/u", "/home/u/.config", "/home/u/.local/share", "/home", "/etc"};
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
		struct walks *walks = walks_new();
		for (int number = 0; number < 7; number++) {
			CLEANUP_FREE char *path = string_format("%s/%d", folders[i], number);
			expect_folder(walks, path, NULL);
			allow(walks, path);
		}
		walks_free(walks);
	}
}

static void three_files_are_three_questions_and_the_fourth_a_walk(void **state) {
	(void)state;
	struct walks *walks = walks_new();
	expect_tree(walks, "/home/u/s/a", false, NULL, "/home/u", NULL);
	expect_tree(walks, "/home/u/s/b", false, NULL, "/home/u", NULL);
	expect_tree(walks, "/home/u/s/c", false, NULL, "/home/u", NULL);
	expect_tree(walks, "/home/u/s/d", false, NULL, "/home/u", "/home/u/s");
	walks_free(walks);
}

static void what_is_remembered_is_bounded(void **state) {
	(void)state;
	struct walks *walks = walks_new();
	for (int i = 0; i < 10000; i++) {
		CLEANUP_FREE char *process = string_format("p (%d)", i);
		const struct request request = {.permission = permission_of(PERMISSION_FS_READ),
						.target = (char *)"/home/u/a",
						.process = process};
		const struct walk_step step = {
			.request = &request, .rule = "p:1", .root = "/home/u", .home = "/home/u", .now_ms = i};
		assert_null(walk_tree(walks, &step));
		assert_int_equal(walk_denied(walks, &step), 0);
		walk_deny(walks, &request, "p:1", "/home/u/a", i + 1, i);
		assert_int_equal(walk_denied(walks, &step), i + 1);
	}
	walks_free(walks);
}

/* With a real sbxd. */

static int64_t list_folder(struct peer *runner, const char *process, const char *path, const char *walk) {
	return peer_send(runner, "check",
			 json_pack("{s:s, s:s, s:s, s:b, s:s?}", "permission", "fs:read", "target", path, "process",
				   process, "listing", 1, "walk", walk));
}

static json_t *shown_prompt(struct peer *agent, const char *target) {
	json_t *prompt = peer_push(agent, "prompt");
	assert_string_equal(text_of(prompt, "target"), target);
	return prompt;
}

static const char *scope(const json_t *prompt, size_t index) {
	const char *text = json_string_value(json_array_get(json_object_get(prompt, "scopes"), index));
	return text ? text : "";
}

static void the_words_say_what_an_answer_gives(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *agent = agent_new("tui");
	CLEANUP_FREE char *tree = home_path("shared"), *file = home_path("shared/a"), *other = home_path("shared/b");
	static const struct {
		bool folder, listing;
		const char *words;
	} cases[] = {{false, false, ""}, {true, false, "read everything in"}, {false, true, "read everything in"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const char *path = i == 0 ? file : other;
		CLEANUP_FREE char *process = string_format("tool (%zu)", i);
		int64_t check = peer_send(runner, "check",
					  json_pack("{s:s, s:s, s:s, s:b, s:b}", "permission", "fs:read", "target",
						    path, "process", process, "folder", cases[i].folder, "listing",
						    cases[i].listing));
		json_t *prompt = shown_prompt(agent, path);
		assert_string_equal(text_of(prompt, "description"), cases[i].words);
		assert_true(json_is_null(json_object_get(prompt, "name")));
		assert_int_equal(number_of(prompt, "lifetime_ms"), 3600 * 1000);
		answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
		expect_verdict(runner, check, "deny ask");
		json_decref(prompt);
	}
	/* What a folder is asked for; a name that isn't in it is none. */
	for (int inside = 0; inside < 2; inside++) {
		int64_t check = peer_send(runner, "check",
					  json_pack("{s:s, s:s, s:s, s:b, s:s}", "permission", "fs:read", "target",
						    tree, "process", inside ? "x (1)" : "y (2)", "by_folder", 1, "name",
						    inside ? file : "/etc/passwd"));
		json_t *prompt = shown_prompt(agent, tree);
		assert_string_equal(text_of(prompt, "name"), inside ? file : "");
		answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
		expect_verdict(runner, check, "deny ask");
		json_decref(prompt);
	}
}

/* As JSON nearly each byte is six. */
static char *long_text(const char *begin, size_t size) {
	struct string text = {0};
	string_append(&text, begin);
	while (text.size < size) string_append_char(&text, text.size % 200 == 0 && text.size > 0 ? '/' : '\x01');
	return string_steal(&text);
}

static void what_is_too_long_to_be_shown_loses_its_name_first(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *agent = agent_new("tui");
	CLEANUP_FREE char *begin = home_path("shared/"), *folder = long_text(begin, LIMIT_TARGET - 8);
	CLEANUP_FREE char *name = string_format("%s/x", folder), *reason = long_text("", LIMIT_REASON);
	CLEANUP_FREE char *process = long_text("", LIMIT_PROCESS);
	int64_t check = peer_send(runner, "check",
				  json_pack("{s:s, s:s, s:s, s:s, s:b, s:s}", "permission", "fs:read", "target", folder,
					    "process", process, "reason", reason, "by_folder", 1, "name", name));
	json_t *prompt = shown_prompt(agent, folder);
	assert_true(json_is_null(json_object_get(prompt, "name")));
	assert_string_equal(text_of(prompt, "reason"), reason);
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
	expect_verdict(runner, check, "deny ask");
	json_decref(prompt);
}

static void who_walks_is_asked_about_once(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *agent = agent_new("tui");
	CLEANUP_FREE char *tree = home_path("shared"), *a = home_path("shared/a"), *b = home_path("shared/b");
	int64_t check = list_folder(runner, "find (7)", a, tree);
	json_t *prompt = shown_prompt(agent, tree);
	assert_string_equal(scope(prompt, 0), "exact");
	assert_string_equal(scope(prompt, 1), a); /* or only that */
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL);
	expect_verdict(runner, check, "allow ask");
	expect_verdict(runner, list_folder(runner, "find (7)", b, tree), "allow grants");
	json_decref(prompt);
}

/* The question about it, answered with yes, goes with the check. */
static void allow_shown(struct peer *agent, const char *target, struct peer *runner, int64_t check) {
	json_t *prompt = shown_prompt(agent, target);
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL);
	expect_verdict(runner, check, "allow ask");
	json_decref(prompt);
}

/* Neither the folder around it nor all ports of its host: what was shown is what was answered. */
static void attack_broker_08_an_allow_around_it_confirms_nothing(void **state) {
	(void)state;
	const int size = (int)(strlen(prompts_waiting) - strlen("]\n"));
	CLEANUP_FREE char *policy =
		string_format("%.*s, {target: ~/shared/keys, confirm: terminal}]\n", size, prompts_waiting);
	home_write(".config/sbx/policy.yaml", policy);
	CLEANUP_PEER struct peer *runner = runner_new(), *desktop = agent_new("desktop");
	CLEANUP_FREE char *tree = home_path("shared"), *a = home_path("shared/a"), *b = home_path("shared/b/c"),
			  *keys = home_path("shared/keys"), *key = home_path("shared/keys/k");
	allow_shown(desktop, tree, runner, list_folder(runner, "find (7)", a, tree));
	expect_verdict(runner, list_folder(runner, "find (7)", b, tree), "allow grants");
	int64_t check = list_folder(runner, "find (7)", key, tree);
	json_t *prompt = shown_prompt(desktop, key);
	assert_true(json_is_true(json_object_get(prompt, "confirm")));
	answer_refused(desktop, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL, "terminal");
	/* In the view it is to be asked about as before. */
	json_t *view = peer_push(runner, "view");
	CLEANUP_FREE char *text = json_dumps(view, 0);
	assert_true(json_is_true(json_object_get(view, "changes")));
	assert_null(strstr(text, keys));
	json_decref(view);
	/* Who is asked in a terminal may allow it, and all of it. */
	CLEANUP_PEER struct peer *user = peer_connect(true);
	answer_well(user, number_of(prompt, "id"), NULL, "allow", json_pack("{s:s}", "scope", "folder"));
	expect_verdict(runner, check, "allow ask");
	json_decref(prompt);
	check = ask(runner, "vault.test:80");
	prompt = shown_prompt(desktop, "vault.test:80");
	answer_well(desktop, number_of(prompt, "id"), text_of(prompt, "token"), "allow",
		    json_pack("{s:s}", "scope", "host"));
	expect_verdict(runner, check, "allow ask");
	json_decref(prompt);
	expect_verdict(runner, ask(runner, "vault.test:8080"), "allow grants");
	ask(runner, "vault.test:443");
	prompt = shown_prompt(desktop, "vault.test:443");
	assert_true(json_is_true(json_object_get(prompt, "confirm")));
	json_decref(prompt);
}

static void who_shows_it_later_is_asked_about_twice(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *agent = agent_new("tui");
	CLEANUP_FREE char *tree = home_path("shared"), *a = home_path("shared/a"), *b = home_path("shared/b"),
			  *c = home_path("shared/c/d");
	allow_shown(agent, a, runner, list_folder(runner, "ls (7)", a, NULL));
	allow_shown(agent, tree, runner, list_folder(runner, "ls (7)", b, NULL));
	expect_verdict(runner, list_folder(runner, "ls (7)", c, NULL), "allow grants");
}

static void threads_that_walk_share_one_question(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *agent = agent_new("tui");
	CLEANUP_FREE char *tree = home_path("shared");
	int64_t checks[8];
	json_t *first = NULL;
	for (int i = 0; i < 8; i++) {
		CLEANUP_FREE char *name = string_format("shared/%d", i), *path = home_path(name);
		checks[i] = list_folder(runner, "rg (7)", path, NULL);
		if (i == 0) first = shown_prompt(agent, path);
	}
	json_t *prompt = shown_prompt(agent, tree);
	expect_gone(agent, number_of(first, "id"), "covered");
	assert_int_equal(count_prompts(runner), 1); /* answered behind all that it has asked */
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL);
	for (int i = 0; i < 8; i++) expect_verdict(runner, checks[i], "allow ask");
	json_decref(first);
	json_decref(prompt);
}

static void of_a_walk_a_part_can_be_allowed(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *agent = agent_new("tui");
	CLEANUP_FREE char *tree = home_path("shared"), *a = home_path("shared/a"), *b = home_path("shared/b");
	int64_t one = list_folder(runner, "find (7)", a, tree), two = list_folder(runner, "find (7)", b, tree);
	json_t *prompt = shown_prompt(agent, tree);
	assert_int_equal(count_prompts(agent), 1);
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow", json_pack("{s:s}", "scope", a));
	expect_verdict(runner, one, "allow ask");
	json_decref(prompt);
	prompt = shown_prompt(agent, tree); /* the other wants an answer yet */
	assert_string_equal(scope(prompt, 1), b);
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
	expect_verdict(runner, two, "deny ask");
	json_decref(prompt);
}

static void a_denial_silences_the_walk_and_nobody_else(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *agent = agent_new("tui");
	CLEANUP_FREE char *tree = home_path("shared"), *a = home_path("shared/a"), *below = home_path("shared/a/x"),
			  *b = home_path("shared/b");
	int64_t check = list_folder(runner, "ls (7)", a, NULL);
	json_t *prompt = shown_prompt(agent, a);
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
	expect_verdict(runner, check, "deny ask");
	json_decref(prompt);
	/* The same again, what lies in it, and the walk's other names. */
	expect_verdict(runner, list_folder(runner, "ls (7)", a, NULL), "deny ask");
	expect_verdict(runner, list_folder(runner, "ls (7)", below, NULL), "deny ask");
	expect_verdict(runner, list_folder(runner, "ls (7)", b, NULL), "deny ask");
	expect_verdict(runner, list_folder(runner, "ls (7)", b, tree), "deny ask");
	json_t *reply = peer_reply(runner, list_folder(runner, "ls (7)", a, NULL));
	assert_true(json_is_true(json_object_get(json_object_get(reply, "verdict"), "user")));
	assert_non_null(strstr(text_of(json_object_get(reply, "verdict"), "why"), "a moment ago"));
	json_decref(reply);
	assert_int_equal(count_prompts(agent), 0);
	/* Another process asks for itself. */
	list_folder(runner, "ls (8)", a, NULL);
	json_decref(shown_prompt(agent, a));
}

static int64_t connect_to(struct peer *runner, const char *process, const char *target) {
	return peer_send(
		runner, "check",
		json_pack("{s:s, s:s, s:s}", "permission", "net:access", "target", target, "process", process));
}

/* A program that waits tries the name's IPv4 address when the IPv6 one was refused (getaddrinfo(3)). */
static void who_was_denied_a_host_is_not_asked_about_its_other_address(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *agent = agent_new("tui");
	int64_t check = connect_to(runner, "ssh (7)", "git.test:22");
	json_t *prompt = shown_prompt(agent, "git.test:22");
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
	expect_verdict(runner, check, "deny ask");
	json_decref(prompt);
	expect_verdict(runner, connect_to(runner, "ssh (7)", "git.test:22"), "deny ask");
	assert_int_equal(count_prompts(agent), 0);
	static const struct {
		const char *process, *target;
	} others[] = {{"ssh (8)", "git.test:22"}, {"ssh (7)", "git.test:2222"}, {"ssh (7)", "git.test:2"}};
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		connect_to(runner, others[i].process, others[i].target);
		json_decref(shown_prompt(agent, others[i].target));
	}
}

/* A storm of what was denied: few rows, and soon over. */
static void attack_broker_12_a_storm_of_file_requests_is_bounded(void **state) {
	(void)state;
	enum { STORM = 5000, AT_ONCE = 50 };
	CLEANUP_PEER struct peer *runner = runner_new(), *agent = agent_new("tui");
	CLEANUP_FREE char *tree = home_path("shared");
	int64_t check = list_folder(runner, "find (7)", tree, NULL);
	json_t *prompt = shown_prompt(agent, tree);
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
	expect_verdict(runner, check, "deny ask");
	json_decref(prompt);
	for (int i = 0; i < STORM; i += AT_ONCE) {
		int64_t checks[AT_ONCE];
		for (int j = 0; j < AT_ONCE; j++) {
			CLEANUP_FREE char *name = string_format("shared/%d", i + j), *path = home_path(name);
			checks[j] = list_folder(runner, "find (7)", path, tree);
		}
		for (int j = 0; j < AT_ONCE; j++) expect_verdict(runner, checks[j], "deny ask");
	}
	json_t *reply = peer_call(agent, "list", json_pack("{s:s, s:b}", "what", "history", "newest", 1));
	int64_t last = number_of(json_array_get(json_object_get(reply, "items"), 0), "seq");
	json_decref(reply);
	assert_in_range(last, LIMIT_DENIALS, LIMIT_DENIALS + 100);
	assert_int_equal(count_prompts(agent), 0);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_is_within_what_the_rule_names_and_not_above_home),
		cmocka_unit_test(folders_listed_one_after_the_other_are_a_walk),
		cmocka_unit_test(one_name_after_itself_is_one_name),
		cmocka_unit_test(who_allowed_two_files_of_a_folder_is_asked_about_the_folder),
		cmocka_unit_test(files_in_everybodys_folder_stay_questions_of_their_own),
		cmocka_unit_test(three_files_are_three_questions_and_the_fourth_a_walk),
		cmocka_unit_test(what_is_remembered_is_bounded),
		PROMPTS_TEST(the_words_say_what_an_answer_gives, prompts_setup_waits),
		PROMPTS_TEST(what_is_too_long_to_be_shown_loses_its_name_first, prompts_setup_waits),
		PROMPTS_TEST(who_walks_is_asked_about_once, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_08_an_allow_around_it_confirms_nothing, prompts_setup_waits),
		PROMPTS_TEST(who_shows_it_later_is_asked_about_twice, prompts_setup_waits),
		PROMPTS_TEST(threads_that_walk_share_one_question, prompts_setup_waits),
		PROMPTS_TEST(of_a_walk_a_part_can_be_allowed, prompts_setup_waits),
		PROMPTS_TEST(a_denial_silences_the_walk_and_nobody_else, prompts_setup_waits),
		PROMPTS_TEST(who_was_denied_a_host_is_not_asked_about_its_other_address, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_12_a_storm_of_file_requests_is_bounded, prompts_setup_waits),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
