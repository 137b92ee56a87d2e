/* Bounds on what a file may be (attacks B17 and F16), and what loading costs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/string.h"
#include "policy/stack.h"
#include "schema/limits.h"
#include "support/long_run.h"

/* Far more than any of these takes, under a sanitizer too, and far less than one that grows with the square would. */
enum { PATIENCE_MS = 5000 };

static const struct pattern_scope scope = {.home = "/home/u", .project = "/home/u/app", .uid = 1000};

/* Of the processor: the machine may have others to serve. */
static int64_t now_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static struct policy_document *load(struct string *text, struct strings *errors) {
	int64_t start = now_us();
	struct policy_document *document = policy_load(POLICY_LAYER_USER, "p", text->data, text->size, errors);
	assert_true(now_us() - start < PATIENCE_MS * 1000);
	string_finish(text);
	return document;
}

/* Refused, and the first error has these words. */
static void refuse(struct string *text, const char *words) {
	CLEANUP_STRINGS struct strings errors = {0};
	assert_null(load(text, &errors));
	assert_true(errors.count > 0 && errors.count <= LIMIT_POLICY_ERRORS);
	if (!strstr(errors.items[0], words)) fail_msg("%s", errors.items[0]);
}

static void append_times(struct string *text, const char *what, size_t count) {
	for (size_t i = 0; i < count; i++) string_append(text, what);
}

static void attack_b17_alias_bomb(void **state) {
	(void)state;
	struct string text = {0};
	string_append(&text, "version: 1\nprofiles:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 30; i++)
		string_appendf(&text, "  a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1);
	refuse(&text, "p:3:7: the anchor &a0, expected a plain value");
}

static void attack_b17_huge_files_and_scalars(void **state) {
	(void)state;
	struct string text = {0};
	append_times(&text, "# comment\n", LIMIT_POLICY / 10 + 1);
	refuse(&text, "expected at most 1048576");
	string_append(&text, "version: 1\nprofiles: {a: {commands: [\"");
	append_times(&text, "x", LIMIT_POLICY - 100);
	string_append(&text, "\"]}}\n");
	refuse(&text, "expected at most 4096");
	string_append(&text, "version: 1\n");
	append_times(&text, "k", LIMIT_POLICY - 100);
	string_append(&text, ": 1\n");
	refuse(&text, "p:2");
}

static void attack_b17_deep_nesting(void **state) {
	(void)state;
	static const char *const openings[] = {"[", "{a: ", "- ", "? ", "[{? "};
	for (size_t i = 0; i < ARRAY_LENGTH(openings); i++) {
		struct string text = {0};
		string_append(&text, "version: 1\nprofiles:\n  ");
		append_times(&text, openings[i], LIMIT_POLICY / 8);
		refuse(&text, "nested deeper than 16 levels");
	}
}

static void attack_b17_a_hundred_thousand_rules(void **state) {
	(void)state;
	struct string text = {0};
	string_append(&text, "version: 1\nprofiles: {a: {allow: {fs:read: [");
	append_times(&text, "/x,", 99900);
	string_append(&text, "]}}}\n");
	refuse(&text, "more than 20000 rules in one file");
	string_append(&text, "version: 1\nprofiles: {a: {allow: {fs:read: [");
	append_times(&text, "/x,", 100000);
	string_append(&text, "]}}}\n");
	refuse(&text, "more than 100000 values in one file");
	string_append(&text, "version: 1\nprofiles:\n  a:\n    allow:\n      fs:read:\n");
	append_times(&text, "      - /x\n", 100000);
	refuse(&text, "expected at most 1048576");
}

static void attack_b17_many_keys(void **state) {
	(void)state;
	struct string text = {0};
	string_append(&text, "version: 1\nprofiles:\n");
	for (int i = 0; i < 40000; i++) string_appendf(&text, "  p%d: {}\n", i);
	refuse(&text, "expected at most 256");
	string_append(&text, "version: 1\nprofiles:\n");
	append_times(&text, "  a: {}\n", 40000);
	refuse(&text, "p:4:3: duplicate key \"a\", expected it once: it stands in line 3 already");
	string_append(&text, "version: 1\n");
	for (int i = 0; i < 40000; i++) string_appendf(&text, "profil%d: x\n", i);
	refuse(&text, "unknown key \"profil0\"");
	string_append(&text, "version: 1\nprofiles:\n  a:\n    allow:\n");
	for (int i = 0; i < 40000; i++) string_appendf(&text, "      fs:reed%d: []\n", i);
	refuse(&text, "unknown permission \"fs:reed0\"");
	string_append(&text, "version: 1\nprofiles:\n  a:\n    env:\n");
	for (int i = 0; i < 40000; i++) string_appendf(&text, "      V%d: x\n", i);
	refuse(&text, "expected at most 1024");
	string_append(&text, "version: 1\nprofiles:\n");
	for (int i = 0; i < 256; i++) {
		string_appendf(&text, "  p%d: {extends: [", i);
		for (int k = 0; k < 32; k++) string_appendf(&text, "%sunknown-%d-%d", k ? ", " : "", i, k);
		string_append(&text, "]}\n");
	}
	refuse(&text, "there is no profile \"unknown-0-0\"");
}

static void attack_f16_pattern_bombs(void **state) {
	(void)state;
	struct string text = {0};
	string_append(&text, "version: 1\nprofiles:\n  a: {deny: {fs:read: [\"");
	append_times(&text, "**/a/", 800);
	string_append(&text, "\"]}}\n");
	refuse(&text, "'**'");
	string_append(&text, "version: 1\nprofiles:\n  a: {deny: {fs:read: [\"");
	append_times(&text, "{a,b}", 500);
	string_append(&text, "\"]}}\n");
	refuse(&text, "{…} is no wildcard");
}

/* As many rules as are allowed decide a request without being looked at one by one. */
static void twenty_thousand_rules_are_quick_to_ask(void **state) {
	(void)state;
	struct string text = {0};
	CLEANUP_STRINGS struct strings errors = {0};
	string_append(&text, "version: 1\nprofiles:\n  a:\n    allow:\n      fs:read:\n");
	for (int i = 0; i < LIMIT_VIEW_PATHS; i++) string_appendf(&text, "      - /x/y%d/z\n", i);
	string_append(&text, "      net:access:\n");
	for (int i = LIMIT_VIEW_PATHS; i < LIMIT_RULES; i++) string_appendf(&text, "      - h%d.test:443\n", i);
	struct policy_document *document = load(&text, &errors);
	assert_non_null(document);
	struct policy *policy = policy_new(&document, 1);
	CLEANUP_RULESET struct ruleset *ruleset = NULL;
	int64_t start = now_us();
	assert_int_equal(ruleset_new(policy, "a", &scope, NULL, &ruleset, NULL), 0);
	policy_unref(policy);
	const struct permission read = permission_of(PERMISSION_FS_READ), net = permission_of(PERMISSION_NET_ACCESS);
	for (int i = 0; i < 20000; i++) {
		assert_non_null(ruleset_find(ruleset, &read, "/x/y77/z/file", NULL));
		assert_null(ruleset_find(ruleset, &read, "/x/y77/other", NULL));
		assert_non_null(ruleset_find(ruleset, &net, "h5000.test:443", NULL));
	}
	assert_true(now_us() - start < PATIENCE_MS * 1000);
	const struct stack_context context = {.ruleset = ruleset};
	const struct subject subject = {(char *)"a", (char *)"/home/u/app"};
	CLEANUP_VIEW struct view *view = view_build(&context, &subject, 1, NULL, 0, NULL);
	assert_int_equal(view->path_count, LIMIT_VIEW_PATHS);
	assert_true(now_us() - start < PATIENCE_MS * 1000);
}

static void too_many_rules_for_one_subject_are_refused(void **state) {
	(void)state;
	static const char *const words[] = {"fs:read", "net:access"}, *const names[] = {"rules for files",
											"rules with"};
	for (size_t w = 0; w < 2; w++) {
		struct policy_document *documents[2];
		for (size_t d = 0; d < 2; d++) {
			CLEANUP_STRING struct string text = {0};
			string_appendf(&text, "version: 1\nprofiles:\n  a:\n    allow:\n      %s:\n", words[w]);
			for (int i = 0; i < (w == 0 ? LIMIT_VIEW_PATHS : LIMIT_RULES) - 10; i++)
				string_append(&text, w == 0 ? "      - /x\n" : "      - x.test\n");
			documents[d] = policy_load(d == 0 ? POLICY_LAYER_USER : POLICY_LAYER_PROJECT, "p", text.data,
						   text.size, NULL);
			assert_non_null(documents[d]);
		}
		struct policy *policy = policy_new(documents, 2);
		struct ruleset *ruleset = NULL;
		struct error error = ERROR_NONE;
		assert_int_equal(ruleset_new(policy, "a", &scope, NULL, &ruleset, &error), -E2BIG);
		assert_non_null(strstr(error.message, names[w]));
		assert_null(ruleset);
		policy_unref(policy);
	}
}

/* A view keeps what is denied, whatever the number of grants; grants that don't fit are asked for later. */
static void a_view_is_bounded_however_many_grants_there_are(void **state) {
	(void)state;
	enum { GRANTS = LIMIT_VIEW_PATHS + 1000 };
	struct policy_document *document = policy_load_builtin();
	struct policy *policy = policy_new(&document, 1);
	CLEANUP_RULESET struct ruleset *ruleset = NULL;
	assert_int_equal(ruleset_new(policy, "npm", &scope, NULL, &ruleset, NULL), 0);
	policy_unref(policy);
	CLEANUP_FREE struct grant *grants = mem_array(struct grant, GRANTS);
	for (int i = 0; i < GRANTS; i++)
		grants[i] = (struct grant){.id = i + 1,
					   .permission = permission_of(PERMISSION_FS_READ),
					   .effect = i == GRANTS - 1 ? EFFECT_DENY : EFFECT_ALLOW,
					   .pattern = string_format("/data/%d", i)};
	const struct stack_context context = {.ruleset = ruleset};
	const struct subject subject = {(char *)"npm", (char *)"/home/u/app"};
	CLEANUP_VIEW struct view *view = view_build(&context, &subject, 1, grants, GRANTS, NULL);
	assert_int_equal(view->path_count, LIMIT_VIEW_PATHS);
	CLEANUP_FREE char *denied = string_format("/data/%d", GRANTS - 1);
	bool found = false, ssh = false;
	for (size_t i = 0; i < view->path_count; i++) {
		found = found || strcmp(view->paths[i].path, denied) == 0;
		ssh = ssh || strcmp(view->paths[i].path, "/home/u/.ssh") == 0;
	}
	assert_true(found && ssh);
	for (int i = 0; i < GRANTS; i++) grant_finish(&grants[i]);
}

/* The least of several, in microseconds. */
static int64_t cost_of_session(struct policy *policy, const struct pattern_scope *wanted) {
	enum { TIMES = 20 };
	const struct subject subject = {(char *)"npm", (char *)"/home/u/app"};
	int64_t best = INT64_MAX;
	for (int i = 0; i < TIMES; i++) {
		CLEANUP_RULESET struct ruleset *ruleset = NULL;
		const int64_t start = now_us();
		assert_int_equal(ruleset_new(policy, "npm", wanted, NULL, &ruleset, NULL), 0);
		const struct stack_context context = {.ruleset = ruleset};
		CLEANUP_VIEW struct view *view = view_build(&context, &subject, 1, NULL, 0, NULL);
		const int64_t took = now_us() - start;
		assert_true(view->path_count > 0);
		if (took < best) best = took;
	}
	return best;
}

/* On the path of every `sbx run`. A rule for ${root} is compiled once for each root: twelve of them have some four
 * times as many rules as one. What grew with the square of the rules would be dearer by sixteen. */
static void a_session_of_npm_costs_no_more_than_in_proportion_to_its_roots(void **state) {
	(void)state;
	enum { ROOTS = 12 };
	CLEANUP_STRINGS struct strings roots = {0};
	struct policy_document *document = policy_load_builtin();
	struct policy *policy = policy_new(&document, 1);
	struct pattern_scope many = scope;
	for (int i = 0; i < ROOTS; i++) strings_addf(&roots, "/home/u/app/r%d", i);
	many.roots = &roots;
	const int64_t one = cost_of_session(policy, &scope), all = cost_of_session(policy, &many);
	policy_unref(policy);
	print_message("ruleset and view of npm: one root %lld us, %d roots %lld us\n", (long long)one, ROOTS,
		      (long long)all);
	assert_true(all < one * ROOTS);
}

/* Damaged copies of the built-in profiles' text, the same ones every time: errors or a document, never a crash. */
static void damaged_files_are_loaded_or_refused(void **state) {
	(void)state;
	static const char tokens[][6] = {
		"[", "]", "{", "}",    ":", ": ", "- ", "\n", "  ", "\t",   "*",    "&a", "!t",   "\"",
		"'", "~", "?", "<<: ", "|", ">",  "%",  "@",  "#",  "\xff", "\x01", "${", "---\n"};
	struct policy_document *document = policy_load_builtin();
	struct policy *policy = policy_new(&document, 1);
	CLEANUP_FREE char *original = policy_show(policy);
	policy_unref(policy);
	/* The small profiles at the front and some of base's rules. */
	size_t size = strlen(original) < 6000 ? strlen(original) : 6000;
	while (size > 0 && original[size - 1] != '\n') size--;
	uint32_t seed = 7;
	const int rounds = random_cases(600, 600);
	int loaded = 0, refused = 0;
	for (int round = 0; round < rounds; round++) {
		CLEANUP_STRING struct string text = {0};
		seed = seed * 1664525U + 1013904223U;
		size_t at = (seed >> 8) % (size + 1);
		seed = seed * 1664525U + 1013904223U;
		const char *token = tokens[(seed >> 16) % ARRAY_LENGTH(tokens)];
		size_t skip = (seed >> 24) % 4;
		string_append_bytes(&text, original, at);
		string_append(&text, token);
		if (at + skip < size) string_append_bytes(&text, original + at + skip, size - at - skip);
		CLEANUP_STRINGS struct strings errors = {0};
		struct policy_document *damaged = policy_load(POLICY_LAYER_USER, "p", text.data, text.size, &errors);
		assert_true((damaged != NULL) == (errors.count == 0));
		if (damaged)
			loaded++;
		else
			refused++;
		policy_document_unref(damaged);
	}
	assert_true(loaded > rounds / 60 && refused > rounds / 6);
}

/* "/home/u/app/l7" leads to "/home/u/app", "/data" to "/real". */
static char *follow_fake(void *context, const char *path, size_t *looks) {
	size_t *followed = context;
	*looks -= 1;
	++*followed;
	if (strcmp(path, "/data") == 0) return string_copy("/real");
	return strncmp(path, "/home/u/app/l", 13) == 0 ? string_copy("/home/u/app") : NULL;
}

/* What `format` makes of each number, denied by a project's file, with what its user's allows. */
static struct ruleset *denying(const char *allowed, const char *format, struct ruleset_follow *follow) {
	struct policy_document *documents[2];
	CLEANUP_STRING struct string text = {0}, project = {0};
	string_appendf(&text, "version: 1\nprofiles:\n  a:\n    allow:\n      fs:write: [%s]\n", allowed);
	string_append(&project, "version: 1\nprofiles:\n  a:\n    deny:\n      fs:write:\n");
	for (int i = 0; i < LIMIT_VIEW_PATHS - 10; i++) {
		string_append(&project, "      - '");
		for (const char *c = format; *c; c++)
			*c == '#' ? string_append_integer(&project, i) : string_append_char(&project, *c);
		string_append(&project, "'\n");
	}
	documents[0] = policy_load(POLICY_LAYER_USER, "u", text.data, text.size, NULL);
	documents[1] = policy_load(POLICY_LAYER_PROJECT, "p", project.data, project.size, NULL);
	assert_non_null(documents[0]);
	assert_non_null(documents[1]);
	struct policy *policy = policy_new(documents, 2);
	struct ruleset *ruleset = NULL;
	assert_int_equal(ruleset_new(policy, "a", &scope, follow, &ruleset, NULL), 0);
	policy_unref(policy);
	return ruleset;
}

/* A project may deny thousands of links that lead to where they lie. */
static void attack_w_1_a_decision_is_quick_however_many_links_are_denied(void **state) {
	(void)state;
	static const struct {
		const char *allowed, *denied, *target;
		bool lifted;
	} cases[] = {
		{"/elsewhere", "/home/u/app/l/**", "/home/u/app/a/b", false},
		{"/elsewhere", "/home/u/app/l#/**", "/home/u/app/a/b", false},
		{"/elsewhere", "/home/u/app/l#/**/x", "/home/u/app/a/b/x", false},
		{"/home/u/app", "/home/u/app/l/**", "/home/u/app/a/b", true},
		{"/home/u/app", "/home/u/app/l#/**", "/home/u/app/a/b", true},
		{"/home/u/app/l*/a", "/home/u/app/l/**", "/home/u/app/a/b", true},
		{"/home/u/app/l*/a", "/home/u/app/l#/**", "/home/u/app/a/b", false},
	};
	const struct permission permission = permission_of(PERMISSION_FS_WRITE);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t followed = 0;
		struct ruleset_follow follow = {follow_fake, &followed, 1};
		CLEANUP_RULESET struct ruleset *ruleset = denying(cases[i].allowed, cases[i].denied, &follow);
		const struct rule *rule = NULL;
		int64_t least = INT64_MAX; /* the machine may be busy */
		for (int k = 0; k < 5; k++) {
			const int64_t start = now_us();
			rule = ruleset_find(ruleset, &permission, cases[i].target, NULL);
			const int64_t took = now_us() - start;
			if (took < least) least = took;
		}
		print_message("%s: %lld us\n", cases[i].denied, (long long)least);
		assert_true(least < 50 * 1000);
		assert_true(cases[i].lifted ? !rule || rule->effect == EFFECT_ALLOW : rule && rule->lead);
	}
}

static void each_link_is_followed_once_at_each_moment(void **state) {
	(void)state;
	size_t followed = 0;
	struct ruleset_follow follow = {follow_fake, &followed, 1};
	CLEANUP_RULESET struct ruleset *ruleset = denying("/home/u", "/data/**/f#", &follow);
	assert_int_equal(followed, 1);
	for (int i = 0; i < 5; i++) assert_true(ruleset_is_current(ruleset));
	assert_int_equal(followed, 1);
	follow.moment++;
	for (int i = 0; i < 5; i++) assert_true(ruleset_is_current(ruleset));
	assert_int_equal(followed, 2);
}

/* As much as it may, and it leads nowhere. */
static char *follow_long(void *context, const char *path, size_t *looks) {
	size_t *spent = context;
	(void)path;
	*spent += *looks;
	*looks = 0;
	return NULL;
}

static void warns(const struct ruleset *ruleset, const char *start, const char *end) {
	CLEANUP_FREE char *warning = ruleset_warning(ruleset);
	assert_non_null(warning);
	if (!string_starts(warning, start) || !string_ends(warning, end)) fail_msg("%s", warning);
}

static void attack_w_1_following_costs_no_more_than_its_limit_and_is_rare_where_it_costs_much(void **state) {
	(void)state;
	size_t spent = 0;
	struct ruleset_follow follow = {follow_long, &spent, 1};
	CLEANUP_RULESET struct ruleset *ruleset = denying("/home/u", "/home/u/app/l#", &follow);
	assert_int_equal(spent, LIMIT_LEAD_LOOKS);
	warns(ruleset, "4086 denials of files in the profile a hold by name alone", "the first is p:6");
	spent = 0;
	follow.moment += 1000;
	assert_true(ruleset_is_current(ruleset));
	assert_int_equal(spent, 0);
	follow.moment += 1000 * LIMIT_LEAD_LOOKS / LIMIT_LEAD_RATE;
	assert_true(ruleset_is_current(ruleset));
	assert_int_equal(spent, LIMIT_LEAD_LOOKS);
}

/* A tool may write a project's file, and so must not spend what the user's own rules need. */
static void attack_w_1_a_projects_denials_leave_the_users_their_looks(void **state) {
	(void)state;
	static const char user[] = "version: 1\nprofiles: {a: {deny: {fs:read: [/z]}}}\n";
	CLEANUP_STRING struct string project = {0};
	string_append(&project, "version: 1\nprofiles:\n  a:\n    deny:\n      fs:write:\n");
	for (int i = 0; i < 4000; i++) string_appendf(&project, "      - /l%d\n", i);
	struct policy_document *documents[] = {
		policy_load(POLICY_LAYER_USER, "u", user, strlen(user), NULL),
		policy_load(POLICY_LAYER_PROJECT, "p", project.data, project.size, NULL)};
	struct policy *policy = policy_new(documents, 2);
	size_t spent = 0;
	struct ruleset_follow follow = {follow_long, &spent, 1};
	CLEANUP_RULESET struct ruleset *ruleset = NULL;
	assert_int_equal(ruleset_new(policy, "a", &scope, &follow, &ruleset, NULL), 0);
	policy_unref(policy);
	assert_int_equal(spent, 2 * LIMIT_LEAD_LOOKS);
	warns(ruleset, "4001 denials of files in the profile a hold by name alone", "the first is u:2");
}

static char *follow_far(void *context, const char *path, size_t *looks) {
	(void)looks;
	return strcmp(path, "/far") == 0 ? string_copy(context) : NULL;
}

/* The others stay, and with them the profile. */
static void a_denial_that_gets_too_long_where_it_leads_is_one_by_its_name(void **state) {
	(void)state;
	CLEANUP_STRING struct string long_path = {0};
	append_times(&long_path, "/aaaaaaaaa", (LIMIT_PATTERN - 5) / 10);
	struct ruleset_follow follow = {follow_far, long_path.data, 1};
	static const char text[] = "version: 1\nprofiles: {a: {deny: {fs:read: ['/far/*.pem.and.more']}}}\n";
	struct policy_document *document = policy_load(POLICY_LAYER_USER, "u", text, strlen(text), NULL);
	struct policy *policy = policy_new(&document, 1);
	const struct permission permission = permission_of(PERMISSION_FS_READ);
	CLEANUP_RULESET struct ruleset *ruleset = NULL;
	assert_int_equal(ruleset_new(policy, "a", &scope, &follow, &ruleset, NULL), 0);
	policy_unref(policy);
	warns(ruleset, "1 denial of files in the profile a holds by name alone", "the first is u:2");
	assert_non_null(ruleset_find(ruleset, &permission, "/far/x.pem.and.more", NULL));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_w_1_a_decision_is_quick_however_many_links_are_denied),
		cmocka_unit_test(each_link_is_followed_once_at_each_moment),
		cmocka_unit_test(attack_w_1_following_costs_no_more_than_its_limit_and_is_rare_where_it_costs_much),
		cmocka_unit_test(attack_w_1_a_projects_denials_leave_the_users_their_looks),
		cmocka_unit_test(a_denial_that_gets_too_long_where_it_leads_is_one_by_its_name),
		cmocka_unit_test(attack_b17_alias_bomb),
		cmocka_unit_test(attack_b17_huge_files_and_scalars),
		cmocka_unit_test(attack_b17_deep_nesting),
		cmocka_unit_test(attack_b17_a_hundred_thousand_rules),
		cmocka_unit_test(attack_b17_many_keys),
		cmocka_unit_test(attack_f16_pattern_bombs),
		cmocka_unit_test(twenty_thousand_rules_are_quick_to_ask),
		cmocka_unit_test(too_many_rules_for_one_subject_are_refused),
		cmocka_unit_test(a_view_is_bounded_however_many_grants_there_are),
		cmocka_unit_test(a_session_of_npm_costs_no_more_than_in_proportion_to_its_roots),
		cmocka_unit_test(damaged_files_are_loaded_or_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
