/*
 * Hundreds of random rule sets over all layers, with masks and sensitive places, against a plain reading of design
 * section 4 that looks at every rule, and against what must hold whatever the rules are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/string.h"
#include "grant_set.h"
#include "index.h"
#include "policy/stack.h"
#include "support/long_run.h"

enum { TARGETS = 12 };

static int sets(void) {
	return random_cases(100, 500);
}

static uint32_t seed = 1;

static unsigned dice(unsigned sides) {
	seed = seed * 1664525U + 1013904223U; /* Numerical Recipes' generator: the same run every time */
	return (seed >> 16) % sides;
}

static void append_path(struct string *out, bool pattern) {
	static const char *const names[] = {"a", "b", "c", "*", "**", "a*"};
	unsigned depth = 1 + dice(4);
	for (unsigned i = 0; i < depth; i++) string_appendf(out, "/%s", names[dice(pattern && dice(3) == 0 ? 6 : 3)]);
}

static char *random_profile(const char *name, const char *extends) {
	static const char *const effects[] = {"allow", "ask", "deny"}, *const words[] = {"fs:read", "fs:write"};
	CLEANUP_STRING struct string out = {0};
	string_appendf(&out, "  %s:\n%s%s%s", name, extends ? "    extends: [" : "", extends ? extends : "",
		       extends ? "]\n" : "");
	for (size_t e = 0; e < 3; e++) {
		string_appendf(&out, "    %s:\n", effects[e]);
		for (size_t w = 0; w < 2; w++) {
			string_appendf(&out, "      %s: [", words[w]);
			for (unsigned i = 0, count = dice(3); i < count; i++) {
				string_append(&out, i > 0 ? ", \"" : "\"");
				append_path(&out, true);
				string_append(&out, "\"");
			}
			string_append(&out, "]\n");
		}
	}
	return string_steal(&out);
}

static struct policy_document *random_document(enum policy_layer layer) {
	CLEANUP_FREE char *base = random_profile("base", NULL), *p = random_profile("p", "base");
	CLEANUP_FREE char *text = string_format("version: 1\nprofiles:\n%s%s", base, p);
	struct policy_document *document = policy_load(layer, "random", text, strlen(text), NULL);
	assert_non_null(document);
	return document;
}

static struct policy *random_policy(void) {
	static const enum policy_layer layers[] = {POLICY_LAYER_BUILTIN, POLICY_LAYER_USER, POLICY_LAYER_PROJECT,
						   POLICY_LAYER_ADMIN};
	struct policy_document *documents[4];
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(layers); i++) {
		if (layers[i] != POLICY_LAYER_BUILTIN && dice(3) == 0) continue;
		documents[count++] = random_document(layers[i]);
	}
	return policy_new(documents, count);
}

/* The plain reading: every rule, in the words of the design. */

struct match {
	const struct rule *rule;
	struct pattern_rank rank;
};

static bool is_mask(const struct rule *rule) {
	return rule->sticky && rule->effect == EFFECT_ASK && rule->permission.kind == PERMISSION_FS_WRITE;
}

static bool speaks(const struct rule *rule, bool writing, bool extra_too) {
	bool about_writing = rule->permission.kind == PERMISSION_FS_WRITE;
	if (writing && is_mask(rule)) return extra_too;
	if (!writing && is_mask(rule)) return false;
	if (writing == about_writing) return true;
	if (writing) return rule->effect == EFFECT_DENY; /* what may not be read may not be written */
	if (rule->effect == EFFECT_ALLOW) return true;   /* writing implies reading */
	return rule->effect == EFFECT_ASK && extra_too;
}

static int turn(const struct rule *rule) {
	if (rule->layer == POLICY_LAYER_ADMIN) return rule->effect == EFFECT_DENY ? 0 : 9;
	return (int)rule->layer;
}

static bool closer(struct match a, struct match b) {
	if (!b.rule) return true;
	if (a.rank.depth != b.rank.depth) return a.rank.depth > b.rank.depth;
	if (a.rank.precision != b.rank.precision) return a.rank.precision > b.rank.precision;
	if (a.rule->distance != b.rule->distance) return a.rule->distance < b.rule->distance;
	if (a.rule->effect != b.rule->effect) return a.rule->effect < b.rule->effect;
	return a.rule < b.rule;
}

static size_t names_before_wildcard(const char *text) {
	size_t names = 0;
	if (strcmp(text, "/") == 0) return 0;
	for (const char *p = text; *p; p++) {
		if (*p == '*') return names - 1;
		if (*p == '/') names++;
	}
	return names;
}

static struct match decide(const struct ruleset *ruleset, bool writing, const char *target, bool extra_too) {
	size_t count;
	const struct rule *rules = ruleset_rules(ruleset, &count);
	struct match best = {0}, sticky = {0};
	for (size_t i = 0; i < count; i++) {
		struct match match = {.rule = &rules[i]};
		if (!speaks(&rules[i], writing, extra_too) || !pattern_match(rules[i].pattern, target, &match.rank))
			continue;
		if (rules[i].sticky && closer(match, sticky)) sticky = match;
		if (!best.rule || turn(&rules[i]) < turn(best.rule) ||
		    (turn(&rules[i]) == turn(best.rule) && closer(match, best)))
			best = match;
	}
	if (best.rule && sticky.rule && !best.rule->sticky &&
	    names_before_wildcard(pattern_text(best.rule->pattern)) < sticky.rank.depth &&
	    best.rule->effect >= sticky.rule->effect)
		return sticky;
	return best;
}

static enum effect effect_of(const struct rule *rule) {
	return rule ? rule->effect : EFFECT_DENY;
}

static const struct rule *expected(const struct ruleset *ruleset, bool writing, const char *target) {
	const struct rule *all = decide(ruleset, writing, target, true).rule;
	const struct rule *own = decide(ruleset, writing, target, false).rule;
	if (!writing) return effect_of(own) == EFFECT_ALLOW ? own : all;
	const struct rule *write = effect_of(own) == EFFECT_DENY ? own : all;
	const struct rule *read = expected(ruleset, false, target);
	return effect_of(read) < effect_of(write) ? read : write;
}

/* A walk down the view's entries: the nearest one at or above a path. */
static const struct view_path *nearest(const struct view *view, const char *path) {
	const struct view_path *best = NULL;
	for (size_t i = 0; i < view->path_count; i++) {
		const struct view_path *entry = &view->paths[i];
		size_t size = strcmp(entry->path, "/") == 0 ? 0 : strlen(entry->path);
		if (entry->pattern || strncmp(entry->path, path, size) != 0 || (path[size] && path[size] != '/'))
			continue;
		if (!best || size > strlen(best->path)) best = entry;
	}
	return best;
}

static bool pattern_reaches(const struct view *view, const char *target) {
	const struct permission read = permission_of(PERMISSION_FS_READ);
	const struct pattern_scope nothing = {0};
	for (size_t i = 0; i < view->path_count; i++) {
		struct pattern *pattern = NULL;
		if (!view->paths[i].pattern) continue;
		assert_int_equal(pattern_compile(&read, view->paths[i].path, &nothing, &pattern, NULL), 0);
		bool matches = pattern_match(pattern, target, NULL);
		pattern_free(pattern);
		if (matches) return true;
	}
	return false;
}

static void check_target(const struct ruleset *ruleset, const struct view *view, const char *target) {
	const struct permission read = permission_of(PERMISSION_FS_READ), write = permission_of(PERMISSION_FS_WRITE);
	const struct rule *reading = ruleset_find(ruleset, &read, target, NULL);
	const struct rule *writing = ruleset_find(ruleset, &write, target, NULL);
	assert_ptr_equal(reading, expected(ruleset, false, target));
	assert_ptr_equal(writing, expected(ruleset, true, target));
	/* Writing implies reading, and what may not be read at all may not be written. */
	if (effect_of(writing) == EFFECT_ALLOW) assert_int_equal(effect_of(reading), EFFECT_ALLOW);
	if (effect_of(reading) == EFFECT_DENY) assert_int_equal(effect_of(writing), EFFECT_DENY);
	/* What no entry of the view names is as the nearest folder above. */
	if (pattern_reaches(view, target)) return;
	const struct view_path *entry = nearest(view, target);
	enum view_mode mode = effect_of(writing) == EFFECT_ALLOW   ? VIEW_WRITE
			      : effect_of(reading) == EFFECT_ALLOW ? VIEW_READ
			      : effect_of(reading) == EFFECT_ASK   ? VIEW_ASK
								   : VIEW_ABSENT;
	assert_int_equal(entry ? entry->mode : VIEW_ABSENT, mode);
	bool ask_write = effect_of(writing) == EFFECT_ASK;
	assert_int_equal(entry ? entry->ask_write : false, ask_write);
}

static void any_rules_decide_as_the_design_reads(void **state) {
	(void)state;
	const struct pattern_scope scope = {.home = "/a", .project = "/a/b", .uid = 1};
	const struct subject subject = {(char *)"p", (char *)"/a/b"};
	size_t stuck = 0;
	for (int set = 0; set < sets(); set++) {
		struct policy *policy = random_policy();
		CLEANUP_RULESET struct ruleset *ruleset = NULL;
		assert_int_equal(ruleset_new(policy, "p", &scope, NULL, &ruleset, NULL), 0);
		policy_unref(policy);
		const struct stack_context context = {.ruleset = ruleset};
		CLEANUP_VIEW struct view *view = view_build(&context, &subject, 1, NULL, 0, NULL);
		for (int i = 0; i < TARGETS; i++) {
			CLEANUP_STRING struct string target = {0};
			append_path(&target, false);
			check_target(ruleset, view, target.data);
			const struct permission write = permission_of(PERMISSION_FS_WRITE);
			const struct rule *rule = ruleset_find(ruleset, &write, target.data, NULL);
			stuck += rule && rule->sticky && rule->layer == POLICY_LAYER_BUILTIN ? 1 : 0;
		}
	}
	/* Or the sets would not have met what they are about. */
	assert_true(stuck > (size_t)sets() / 10);
}

/* B21: whatever a project's file says, and however its rules meet those of the other layers and masks. */
static void an_untrusted_file_only_narrows(void **state) {
	(void)state;
	static const enum policy_layer layers[] = {POLICY_LAYER_BUILTIN, POLICY_LAYER_USER, POLICY_LAYER_ADMIN};
	const struct pattern_scope scope = {.home = "/a", .project = "/a/b", .uid = 1};
	size_t narrowed = 0;
	seed = 1; /* the same sets whatever ran before */
	for (int set = 0; set < sets(); set++) {
		struct policy_document *documents[ARRAY_LENGTH(layers)], *more[ARRAY_LENGTH(layers) + 1];
		for (size_t i = 0; i < ARRAY_LENGTH(layers); i++) {
			documents[i] = random_document(layers[i]);
			more[i] = policy_document_ref(documents[i]);
		}
		struct policy_document *project = random_document(POLICY_LAYER_PROJECT);
		more[ARRAY_LENGTH(layers)] = policy_document_untrusted(project);
		policy_document_unref(project);
		struct policy *without = policy_new(documents, ARRAY_LENGTH(documents));
		struct policy *with = policy_new(more, ARRAY_LENGTH(more));
		CLEANUP_RULESET struct ruleset *before = NULL;
		CLEANUP_RULESET struct ruleset *after = NULL;
		assert_int_equal(ruleset_new(without, "p", &scope, NULL, &before, NULL), 0);
		assert_int_equal(ruleset_new(with, "p", &scope, NULL, &after, NULL), 0);
		policy_unref(without);
		policy_unref(with);
		for (int i = 0; i < TARGETS; i++) {
			CLEANUP_STRING struct string target = {0};
			const struct permission permission =
				permission_of(i % 2 ? PERMISSION_FS_READ : PERMISSION_FS_WRITE);
			append_path(&target, false);
			enum effect was = effect_of(ruleset_find(before, &permission, target.data, NULL));
			enum effect is = effect_of(ruleset_find(after, &permission, target.data, NULL));
			if (is > was) fail_msg("%s %s in set %d", permission.name, target.data, set);
			narrowed += is < was ? 1 : 0;
		}
	}
	assert_true(narrowed > (size_t)sets() / 10);
}

struct visited {
	const struct rule *rules;
	bool *seen;
};

static void note(void *context, const struct rule *rule) {
	const struct visited *visited = context;
	visited->seen[rule - visited->rules] = true;
}

static void the_index_misses_no_rule_that_matches(void **state) {
	(void)state;
	static const char *const targets[] = {"/",      "/a",   "/a/b/c", "/a*b/[x]/\\", "x.test:443",
					      "LC_ALL", "8080", "prod",   "/usr/bin/git"};
	static const char text[] =
		"version: 1\n"
		"permissions: {db:access: x}\n"
		"profiles:\n"
		"  p:\n"
		"    allow:\n"
		"      fs:read: [/, /a, \"/a/*/c\", \"/**\", \"/a\\\\*b\", \"/a\\\\*b/\\\\[x]/*\", \"**/c\"]\n"
		"      proc:spawn: [\"*\", git, \"/usr/*/git\", /usr]\n"
		"      net:access: [\"*\", \"*.test\", x.test, x.test:443]\n"
		"      env:read: [LC_ALL, \"LC_*\", \"*\"]\n"
		"      net:listen: [8080, \"8000-9000\", \"*\"]\n"
		"      db:access: [prod, \"p*\"]\n"
		"      ipc:connect: [/a, \"/a/*/c\"]\n";
	const struct pattern_scope scope = {.home = "/a", .project = "/a/b", .uid = 1};
	struct policy_document *document = policy_load(POLICY_LAYER_USER, "index", text, strlen(text), NULL);
	assert_non_null(document);
	struct policy *policy = policy_new(&document, 1);
	CLEANUP_RULESET struct ruleset *ruleset = NULL;
	assert_int_equal(ruleset_new(policy, "p", &scope, NULL, &ruleset, NULL), 0);
	policy_unref(policy);
	size_t count, matches = 0;
	const struct rule *rules = ruleset_rules(ruleset, &count);
	struct rule_index *index = rule_index_new(rules, count);
	for (size_t t = 0; t < ARRAY_LENGTH(targets); t++) {
		for (size_t i = 0; i < count; i++) {
			bool path = rules[i].permission.kind == PERMISSION_FS_READ ||
				    rules[i].permission.kind == PERMISSION_PROC_SPAWN ||
				    rules[i].permission.kind == PERMISSION_IPC_CONNECT;
			if (path != (*targets[t] == '/') || !pattern_match(rules[i].pattern, targets[t], NULL))
				continue;
			CLEANUP_FREE bool *seen = mem_array(bool, count);
			struct visited visited = {rules, seen};
			rule_index_visit(index, &rules[i].permission, targets[t], note, &visited);
			assert_true(seen[i]);
			matches++;
		}
	}
	rule_index_free(index);
	assert_true(matches > 40);
}

/* The closest one, deny before allow; writing implies reading, and what may not be read may not be written. */
static const struct grant *closest_grant(const struct grant *grants, size_t count, const struct request *request,
					 struct pattern_rank *ret_rank) {
	const struct pattern_scope nothing = {0};
	const struct grant *best = NULL;
	bool writing = request->permission.kind == PERMISSION_FS_WRITE;
	for (size_t i = 0; i < count; i++) {
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		struct pattern_rank rank;
		bool about_writing = grants[i].permission.kind == PERMISSION_FS_WRITE;
		if (writing != about_writing && grants[i].effect != (writing ? EFFECT_DENY : EFFECT_ALLOW)) continue;
		assert_int_equal(pattern_compile(&grants[i].permission, grants[i].pattern, &nothing, &pattern, NULL),
				 0);
		if (!pattern_match(pattern, request->target, &rank)) continue;
		int closer = best ? pattern_rank_compare(rank, *ret_rank) : 1;
		if (closer < 0 || (closer == 0 && grants[i].effect >= best->effect)) continue;
		best = &grants[i];
		*ret_rank = rank;
	}
	return best;
}

static void grants_in_memory_are_found_like_those_in_the_store(void **state) {
	(void)state;
	size_t found_some = 0;
	for (int round = 0; round < 500; round++) {
		size_t count = dice(7);
		CLEANUP_FREE struct grant *grants = mem_array(struct grant, count);
		for (size_t i = 0; i < count; i++) {
			struct string pattern = {0};
			append_path(&pattern, true);
			grants[i] = (struct grant){
				.id = (int64_t)i + 1,
				.permission = permission_of(dice(2) ? PERMISSION_FS_READ : PERMISSION_FS_WRITE),
				.effect = dice(2) ? EFFECT_ALLOW : EFFECT_DENY,
				.pattern = string_steal(&pattern)};
		}
		CLEANUP_GRANT_SET struct grant_set *set = grant_set_new(grants, count);
		const struct stack_grants finder = grant_set_finder(set);
		for (int i = 0; i < TARGETS; i++) {
			CLEANUP_STRING struct string target = {0};
			append_path(&target, false);
			const struct request request = {
				.permission = permission_of(i % 2 ? PERMISSION_FS_READ : PERMISSION_FS_WRITE),
				.target = target.data};
			struct pattern_rank rank, expected_rank;
			CLEANUP_GRANT struct grant grant = {0};
			const struct grant *closest = closest_grant(grants, count, &request, &expected_rank);
			assert_int_equal(finder.find(finder.context, &request, &grant, &rank), closest != NULL);
			if (!closest) continue;
			assert_int_equal(pattern_rank_compare(rank, expected_rank), 0);
			assert_int_equal(grant.effect, closest->effect);
			found_some++;
		}
		for (size_t i = 0; i < count; i++) grant_finish(&grants[i]);
	}
	assert_true(found_some > 500);
}

static struct grant random_grant(int64_t id) {
	struct string pattern = {0};
	append_path(&pattern, dice(4) == 0);
	return (struct grant){.id = id,
			      .permission = permission_of(dice(2) ? PERMISSION_FS_READ : PERMISSION_FS_WRITE),
			      .effect = dice(4) ? EFFECT_ALLOW : EFFECT_DENY,
			      .lifetime = LIFETIME_ALWAYS,
			      .pattern = string_steal(&pattern)};
}

/* A view with one grant more, by the short way, is the one that is built from all. */
static void a_grant_that_is_added_makes_the_same_view(void **state) {
	(void)state;
	enum { GRANTS_MOST = 6 };
	const struct subject subject = {(char *)"p", (char *)"/a/b"};
	CLEANUP_STRINGS struct strings protected = {0};
	strings_add(&protected, "/c/c");
	size_t added = 0;
	for (int round = 0; round < sets(); round++) {
		const struct pattern_scope scope = {.home = "/a", .project = "/a/b"};
		struct policy *policy = random_policy();
		CLEANUP_RULESET struct ruleset *ruleset = NULL;
		assert_int_equal(ruleset_new(policy, "p", &scope, NULL, &ruleset, NULL), 0);
		struct grant grants[GRANTS_MOST];
		for (size_t i = 0; i < GRANTS_MOST; i++) {
			grants[i] = random_grant((int64_t)i + 1);
			CLEANUP_GRANT_SET struct grant_set *set = grant_set_new(grants, i + 1);
			const struct stack_grants finder = grant_set_finder(set);
			const struct stack_context context = {
				.ruleset = ruleset, .grants = &finder, .protected = &protected};
			CLEANUP_VIEW struct view *view = view_build(&context, &subject, 1, grants, i, NULL);
			if (!view_add_grant(view, &context, &subject, 1, &grants[i])) continue;
			CLEANUP_VIEW struct view *built = view_build(&context, &subject, 1, grants, i + 1, NULL);
			json_t *one = view_to_parts(view), *other = view_to_parts(built);
			assert_true(json_equal(one, other));
			json_decref(one);
			json_decref(other);
			added++;
		}
		for (size_t i = 0; i < GRANTS_MOST; i++) grant_finish(&grants[i]);
		policy_unref(policy);
	}
	assert_true(added > (size_t)sets());
}

static json_t *parts_of(const struct ruleset *ruleset, const struct strings *protected, const struct grant *grants,
			size_t count) {
	const struct subject subject = {(char *)"p", (char *)"/a/b"};
	const struct stack_context context = {.ruleset = ruleset, .protected = protected};
	CLEANUP_VIEW struct view *view = view_build(&context, &subject, 1, grants, count, NULL);
	return view_to_parts(view);
}

/* Whatever views were made of the rules before, with whatever grants and protected places. */
static void rules_that_are_shared_make_the_same_view(void **state) {
	(void)state;
	enum { GRANTS_MOST = 4 };
	struct strings protected[2] = {0};
	strings_add(&protected[0], "/c/c");
	strings_add(&protected[1], "/a/c");
	for (int round = 0; round < sets(); round++) {
		const struct pattern_scope scope = {.home = "/a", .project = "/a/b"};
		struct policy *policy = random_policy();
		CLEANUP_RULESET struct ruleset *shared = NULL;
		assert_int_equal(ruleset_new(policy, "p", &scope, NULL, &shared, NULL), 0);
		struct grant grants[GRANTS_MOST];
		for (size_t i = 0; i < GRANTS_MOST; i++) grants[i] = random_grant((int64_t)i + 1);
		for (int turn = 0; turn < 6; turn++) {
			CLEANUP_RULESET struct ruleset *own = NULL;
			assert_int_equal(ruleset_new(policy, "p", &scope, NULL, &own, NULL), 0);
			size_t count = dice(GRANTS_MOST + 1), which = dice(2);
			json_t *one = parts_of(shared, &protected[which], grants, count),
			       *other = parts_of(own, &protected[which], grants, count);
			assert_true(json_equal(one, other));
			json_decref(one);
			json_decref(other);
		}
		for (size_t i = 0; i < GRANTS_MOST; i++) grant_finish(&grants[i]);
		policy_unref(policy);
	}
	strings_finish(&protected[0]);
	strings_finish(&protected[1]);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_that_are_shared_make_the_same_view),
		cmocka_unit_test(a_grant_that_is_added_makes_the_same_view),
		cmocka_unit_test(any_rules_decide_as_the_design_reads),
		cmocka_unit_test(an_untrusted_file_only_narrows),
		cmocka_unit_test(grants_in_memory_are_found_like_those_in_the_store),
		cmocka_unit_test(the_index_misses_no_rule_that_matches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
