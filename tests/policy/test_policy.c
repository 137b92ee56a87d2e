/* The assembled policy: names, settings, merging, errors that only show when the layers meet. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/string.h"
#include "policy/stack.h"
#include "scenario.h"

static const struct pattern_scope scope = {.home = "/home/u", .project = "/home/u/app", .uid = 1000};

static struct policy_document *document(enum policy_layer layer, const char *name, const char *text) {
	CLEANUP_STRINGS struct strings errors = {0};
	struct policy_document *loaded = policy_load(layer, name, text, strlen(text), &errors);
	for (size_t i = 0; i < errors.count; i++) print_error("%s\n", errors.items[i]);
	assert_non_null(loaded);
	return loaded;
}

static void the_built_in_profiles_are_there(void **state) {
	(void)state;
	struct policy_document *builtin = policy_load_builtin();
	struct policy *policy = policy_new(&builtin, 1);
	CLEANUP_STRINGS struct strings names = {0};
	static const char *const expected[] = {"aider", "base", "default", "git", "node", "npm", "python"};
	policy_profile_names(policy, &names);
	assert_int_equal(names.count, ARRAY_LENGTH(expected));
	for (size_t i = 0; i < names.count; i++) {
		assert_string_equal(names.items[i], expected[i]);
		struct ruleset *ruleset = NULL;
		assert_int_equal(ruleset_new(policy, names.items[i], &scope, NULL, &ruleset, NULL), 0);
		assert_string_equal(ruleset_profile(ruleset), expected[i]);
		assert_ptr_equal(ruleset_policy(ruleset), policy);
		assert_int_equal(ruleset_home(ruleset), VIEW_HOME_OWN);
		assert_int_equal(ruleset_network(ruleset), VIEW_NETWORK_NATIVE);
		ruleset_unref(ruleset);
	}
	assert_true(policy_has_profile(policy, "npm"));
	assert_false(policy_has_profile(policy, "nmp"));
	policy_unref(policy);
}

static void a_command_picks_its_profile_from_the_first_layer_that_lists_it(void **state) {
	(void)state;
	struct policy_document *documents[] = {
		policy_load_builtin(),
		document(POLICY_LAYER_PROJECT, "project",
			 "version: 1\nprofiles: {theirs: {commands: [npm, make, mine]}, npm: {commands: [deno]}}"),
		document(POLICY_LAYER_USER, "user", "version: 1\nprofiles: {own: {commands: [node, mine]}}"),
	};
	struct policy *policy = policy_new(documents, 3);
	assert_string_equal(policy_profile_of_command(policy, "node"), "own");
	assert_string_equal(policy_profile_of_command(policy, "mine"), "own");
	assert_string_equal(policy_profile_of_command(policy, "npm"), "theirs");
	assert_string_equal(policy_profile_of_command(policy, "make"), "theirs");
	assert_string_equal(policy_profile_of_command(policy, "deno"), "npm");
	assert_string_equal(policy_profile_of_command(policy, "npx"), "npm");
	assert_string_equal(policy_profile_of_command(policy, "ls"), "default");
	assert_string_equal(policy_profile_of_command(policy, ""), "default");
	policy_unref(policy);
}

static void settings_come_from_the_first_layer_that_says_them(void **state) {
	(void)state;
	struct policy_document *documents[] = {
		policy_load_builtin(),
		document(POLICY_LAYER_USER, "user",
			 "version: 1\nprompt: {timeout: 90s, without-agent: wait}\nhistory: {keep: 7d}\n"
			 "upstream: http://u:p@proxy.test:3128/\n"),
		document(POLICY_LAYER_ADMIN, "admin", "version: 1\nprompt: {timeout: 10s}\n"),
	};
	struct policy *defaults = policy_new(documents, 1);
	struct policy_prompt_settings settings = policy_prompt_settings(defaults);
	assert_int_equal(settings.timeout_ms, 60000);
	assert_int_equal(settings.lifetime_ms, 3600000);
	assert_false(settings.wait_without_agent);
	assert_true(policy_history_keep_ms(defaults) == INT64_C(365) * 86400000);
	assert_null(policy_upstream(defaults));
	policy_unref(defaults);
	struct policy *policy = policy_new(documents + 1, 2);
	settings = policy_prompt_settings(policy);
	assert_int_equal(settings.timeout_ms, 10000);
	assert_int_equal(settings.lifetime_ms, 3600000);
	assert_true(settings.wait_without_agent);
	assert_true(policy_history_keep_ms(policy) == INT64_C(7) * 86400000);
	assert_string_equal(policy_upstream(policy), "http://u:p@proxy.test:3128/");
	policy_unref(policy);
}

/* A profile may have a proxy of its own, or none. */
static void the_proxy_is_the_profiles_own_or_the_policys(void **state) {
	(void)state;
	static const struct {
		const char *profile, *upstream;
	} cases[] = {{"plain", "http://u:p@all.test:1"}, {"own", "http://own.test:2"}, {"none", NULL}, {"child", NULL}};
	struct policy_document *documents[] = {document(POLICY_LAYER_USER, "user",
							"version: 1\nupstream: http://u:p@all.test:1\nprofiles:\n"
							"  plain: {}\n"
							"  own: {upstream: http://own.test:2}\n"
							"  none: {upstream: none}\n"
							"  child: {extends: [none]}\n")};
	struct policy *policy = policy_new(documents, 1);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct ruleset *ruleset = NULL;
		assert_int_equal(ruleset_new(policy, cases[i].profile, &scope, NULL, &ruleset, NULL), 0);
		assert_true(string_equal(ruleset_upstream(ruleset), cases[i].upstream));
		ruleset_unref(ruleset);
	}
	policy_unref(policy);
}

static void expect_failure(struct policy *policy, const char *profile, const struct pattern_scope *with, int code,
			   const char *words) {
	struct ruleset *ruleset = NULL;
	struct error error = ERROR_NONE;
	assert_int_equal(ruleset_new(policy, profile, with, NULL, &ruleset, &error), code);
	assert_null(ruleset);
	assert_int_equal(error.code, -code);
	if (!strstr(error.message, words)) fail_msg("%s", error.message);
}

static void faults_between_layers_are_errors_of_the_rule_set(void **state) {
	(void)state;
	struct policy_document *documents[] = {
		policy_load_builtin(),
		document(POLICY_LAYER_USER, "user",
			 "version: 1\nprofiles: {a: {extends: [b]}, b: {}, uses-project: {allow: {fs:read: "
			 "[\"${project}\"]}}}"),
		document(POLICY_LAYER_PROJECT, "project",
			 "version: 1\nprofiles: {b: {extends: [a]}, c: {extends: [nowhere]}}"),
	};
	struct policy *policy = policy_new(documents, 3);
	const struct pattern_scope homeless = {.home = "/home/u"};
	expect_failure(policy, "a", &scope, -ELOOP, "the profile a extends itself: a → b → a");
	expect_failure(policy, "c", &scope, -ENOENT, "the profile c extends \"nowhere\", which doesn't exist");
	expect_failure(policy, "x\033[31m", &scope, -ENOENT, "there is no profile \"x\\x1b[31m\"");
	expect_failure(policy, "uses-project", &homeless, -EINVAL, "user:2:");
	policy_unref(policy);
}

static void a_rule_set_keeps_its_policy(void **state) {
	(void)state;
	struct policy_document *builtin = policy_load_builtin();
	struct policy *policy = policy_new(&builtin, 1);
	struct ruleset *ruleset = NULL;
	const struct permission read = permission_of(PERMISSION_FS_READ);
	assert_int_equal(ruleset_new(policy, "npm", &scope, NULL, &ruleset, NULL), 0);
	policy_unref(policy_ref(policy));
	policy_unref(policy);
	struct pattern_rank rank = {0};
	const struct rule *rule = ruleset_find(ruleset, &read, "/home/u/.ssh/id", &rank);
	assert_non_null(rule);
	assert_true(rule->sticky);
	assert_int_equal(rank.depth, 3);
	assert_ptr_equal(ruleset_find_sticky(ruleset, &read, "/home/u/.ssh/id", &rank), rule);
	assert_null(ruleset_find_sticky(ruleset, &read, "/home/u/app/x", NULL));
	assert_non_null(ruleset_policy(ruleset));
	ruleset_unref(ruleset);
}

static void a_question_about_a_sensitive_place_is_shown_as_it_counts(void **state) {
	(void)state;
	static const char user[] = "version: 1\n"
				   "profiles: {mine: {ask: {fs:read: [~/.ssh/config, ~/.sshx], fs:write: [~/.aws]}}}\n";
	struct policy_document *documents[] = {document(POLICY_LAYER_USER, "mine.yaml", user), policy_load_builtin()};
	struct policy *policy = policy_new(documents, 2);
	CLEANUP_FREE char *shown = policy_show(policy);
	policy_unref(policy);
	assert_non_null(strstr(shown,
			       "{target: \"~/.ssh/config\", confirm: terminal}  # mine.yaml:2, in a terminal since "
			       "base keeps ~/.ssh\n"));
	assert_non_null(strstr(shown, "{target: \"~/.aws\", confirm: terminal}  # mine.yaml:2, in a terminal"));
	assert_non_null(strstr(shown, "- \"~/.sshx\"  # mine.yaml:2\n"));
}

static void quiet_hours_are_those_of_the_first_who_says_some(void **state) {
	(void)state;
	static const char admin[] = "version: 1\nquiet: [\"22:00-07:00\", \"12:00-13:30\"]\n";
	static const char user[] = "version: 1\nquiet: [\"01:00-02:00\"]\n";
	struct policy_document *documents[] = {document(POLICY_LAYER_USER, "user", user),
					       document(POLICY_LAYER_ADMIN, "admin", admin), policy_load_builtin()};
	struct policy *policy = policy_new(documents, 3);
	assert_int_equal(policy_quiet(policy)->count, 2);
	assert_string_equal(policy_quiet(policy)->items[0], "22:00-07:00");
	policy_unref(policy);
	struct policy_document *builtin = policy_load_builtin();
	policy = policy_new(&builtin, 1);
	assert_int_equal(policy_quiet(policy)->count, 0);
	policy_unref(policy);
}

/* What a show prints is a policy that decides the same. */
static void a_shown_policy_can_be_loaded_again(void **state) {
	(void)state;
	static const char user[] =
		"version: 1\n"
		"prompt: {timeout: 90s, without-agent: wait}\n"
		"quiet: [\"22:00-07:00\"]\n"
		"upstream: http://u:secret@proxy.test:3128\n"
		"permissions: {\"db:access\": \"use \\\"it\\\"\"}\n"
		"profiles:\n"
		"  npm:\n"
		"    allow:\n"
		"      fs:read: [\"/a \\\"b\\\"\\\\\\\\c\", \"/tab\\there\", \"/\\u00e9\\u202e\\U0001F600\\x7f\"]\n"
		"      net:access: [{target: x.test, private: true, direct: true}]\n"
		"      db:access: [\"*\"]\n"
		"    ask: {fs:write: [{target: /m, confirm: terminal}]}\n"
		"    env: {A: \"1\\n2\", B: \"\"}\n"
		"    hosts: {x.test: 10.0.0.1}\n"
		"    limits: {memory: 1536M, processes: 5, open-files: 6, cpu-time: 90s}\n"
		"    home: own\n"
		"    network: proxy\n"
		"    doorbell: none\n"
		"    upstream: none\n";
	struct policy_document *documents[] = {document(POLICY_LAYER_USER, "user file.yaml", user),
					       policy_load_builtin()};
	struct policy *policy = policy_new(documents, 2);
	CLEANUP_FREE char *shown = policy_show(policy);
	policy_unref(policy);
	assert_null(strstr(shown, "secret"));
	assert_non_null(strstr(shown, "\nupstream: http://proxy.test:3128  # and a user with a password\n"));
	assert_non_null(strstr(shown, "# user file.yaml:9"));
	assert_non_null(strstr(shown, "# built-in/npm.yaml:"));
	struct policy_document *again = document(POLICY_LAYER_USER, "again", shown);
	struct policy *reloaded = policy_new(&again, 1);
	CLEANUP_FREE char *twice = policy_show(reloaded);
	policy_unref(reloaded);
	/* The same but for where the rules stand. */
	for (const char *a = shown, *b = twice; *a || *b;) {
		size_t a_size = strcspn(a, "\n"), b_size = strcspn(b, "\n");
		const char *a_comment = memmem(a, a_size, "  # ", 4), *b_comment = memmem(b, b_size, "  # ", 4);
		size_t a_text = a_comment ? (size_t)(a_comment - a) : a_size,
		       b_text = b_comment ? (size_t)(b_comment - b) : b_size;
		if (a_text != b_text || memcmp(a, b, a_text) != 0)
			fail_msg("%.*s\n%.*s", (int)a_size, a, (int)b_size, b);
		a += a_size + (a[a_size] ? 1 : 0);
		b += b_size + (b[b_size] ? 1 : 0);
	}
	golden_check(SBX_TEST_DATA "/show.golden", strstr(shown, "  npm:\n"));
}

/* The same files that schema.py holds against the JSON Schema. */
static void good_files_load(void **state) {
	(void)state;
	static const struct {
		const char *name;
		enum policy_layer layer;
	} files[] = {
		{"user-design", POLICY_LAYER_USER},      {"user-everything", POLICY_LAYER_USER},
		{"user-bom-crlf", POLICY_LAYER_USER},    {"user-cjk", POLICY_LAYER_USER},
		{"project-plain", POLICY_LAYER_PROJECT}, {"admin-stack", POLICY_LAYER_ADMIN},
		{"admin-exec", POLICY_LAYER_ADMIN},      {"admin-deny", POLICY_LAYER_ADMIN},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		CLEANUP_FREE char *path = string_format("%s/good/%s.yaml", SBX_TEST_DATA, files[i].name);
		CLEANUP_FREE char *text = golden_read(path);
		policy_document_unref(document(files[i].layer, files[i].name, text));
	}
}

/* What is shown of a stack can be put into a file again. */
static void the_stack_is_shown_as_it_is_written(void **state) {
	(void)state;
	static const char *const expected[] = {
		"requisite: protect",
		"requisite: {exec: [\"/usr/local/bin/judge\"]}",
		"{exec: [\"/usr/local/bin/opa-bridge\", \"--policy\", \"a b\", \"é\\U0000202e\\\"\\\\\"], timeout: 1m}",
		"sufficient: {exec: [\"/usr/bin/second\"], timeout: 250ms}",
		"ask",
	};
	CLEANUP_FREE char *text = golden_read(SBX_TEST_DATA "/good/admin-exec.yaml");
	CLEANUP_STRING struct string again = {0};
	string_append(&again, "version: 1\nstack:\n");
	for (int round = 0; round < 2; round++) {
		CLEANUP_STRINGS struct strings lines = {0};
		struct policy_document *admin = document(POLICY_LAYER_ADMIN, "admin", round == 0 ? text : again.data);
		struct policy *policy = policy_new(&admin, 1);
		policy_stack_texts(policy, &lines);
		policy_unref(policy);
		assert_int_equal(lines.count, ARRAY_LENGTH(expected));
		for (size_t i = 0; i < lines.count; i++) {
			assert_string_equal(lines.items[i], expected[i]);
			string_appendf(&again, "  - %s\n", lines.items[i]);
		}
	}
}

static size_t line_with(const struct strings *lines, const char *words) {
	for (size_t i = 0; i < lines->count; i++)
		if (strstr(lines->items[i], words)) return i;
	fail_msg("nothing says \"%s\"", words);
	return 0;
}

/* Before it is trusted: hundreds of lines hide neither the one that matters, nor does a value stay unsaid. */
static void what_widens_is_said_first_and_the_widest_in_short(void **state) {
	(void)state;
	CLEANUP_STRING struct string text = {0};
	CLEANUP_STRINGS struct strings lines = {0};
	string_append(&text, "version: 1\nprofiles:\n  a:\n    home: own\n    limits: {memory: 2G, processes: 7}\n"
			     "    env: {NODE_OPTIONS: \"--require x\"}\n    deny:\n      fs:read:\n");
	for (int i = 0; i < 40; i++) string_appendf(&text, "        - ~/d%d\n", i);
	string_append(&text, "  b:\n    ask: {net:access: [\"*\"]}\n    allow:\n      fs:write:\n");
	for (int i = 0; i < 9; i++) string_appendf(&text, "        - ${project}/w%d\n", i);
	string_append(&text, "        - ~/\n");
	struct policy_document *project = document(POLICY_LAYER_PROJECT, "project", text.data);
	policy_document_describe(project, &lines);
	assert_true(line_with(&lines, "may read and write ~") < line_with(&lines, "may not read ~/d0"));
	line_with(&lines, "sets the variable NODE_OPTIONS to --require x");
	line_with(&lines, "at most 2048 MiB of memory");
	line_with(&lines, "at most 7 processes");
	line_with(&lines, "keeps a home directory of its own from run to run (home: own)");
	CLEANUP_FREE char *summary = policy_document_summary(project);
	assert_string_equal(summary,
			    "11 rules that allow or ask, 4 settings, 40 denials; the widest: may read and write ~/ "
			    "(line 62); asks before it may connect to * (line 50)");
	policy_document_unref(project);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_built_in_profiles_are_there),
		cmocka_unit_test(a_command_picks_its_profile_from_the_first_layer_that_lists_it),
		cmocka_unit_test(settings_come_from_the_first_layer_that_says_them),
		cmocka_unit_test(the_proxy_is_the_profiles_own_or_the_policys),
		cmocka_unit_test(faults_between_layers_are_errors_of_the_rule_set),
		cmocka_unit_test(a_rule_set_keeps_its_policy),
		cmocka_unit_test(good_files_load),
		cmocka_unit_test(the_stack_is_shown_as_it_is_written),
		cmocka_unit_test(what_widens_is_said_first_and_the_widest_in_short),
		cmocka_unit_test(a_shown_policy_can_be_loaded_again),
		cmocka_unit_test(a_question_about_a_sensitive_place_is_shown_as_it_counts),
		cmocka_unit_test(quiet_hours_are_those_of_the_first_who_says_some),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
