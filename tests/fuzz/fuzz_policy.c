/*
 * A policy file: loaded as every layer, shown, loaded again, asked. What must hold besides not crashing: what is
 * refused says where and why, at most LIMIT_POLICY_ERRORS times; nothing is allowed but by an allow that stands in the
 * file; what `sbx policy show` prints is a policy that says the same (policy/show.c).
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "policy/stack.h"
#include "schema/limits.h"

static const struct pattern_scope scope = {.home = "/home/u", .project = "/home/u/app", .uid = 1000};

static struct policy *load(enum policy_layer layer, const char *text, size_t size) {
	CLEANUP_STRINGS struct strings errors = {0};
	struct policy_document *document = policy_load(layer, "f.yaml", text, size, &errors);
	if (document) return policy_new(&document, 1);
	demand(errors.count > 0 && errors.count <= LIMIT_POLICY_ERRORS, "%zu errors", errors.count);
	for (size_t i = 0; i < errors.count; i++) {
		demand(string_starts(errors.items[i], "f.yaml:") &&
			       text_is_utf8(errors.items[i], strlen(errors.items[i])),
		       "%s", errors.items[i]);
	}
	return NULL;
}

/* Where a rule stands is another place in another file, and the address of a proxy isn't shown. */
static char *without_comments(char *shown) {
	struct string out = {0};
	for (char *rest = shown, *line; (line = strsep(&rest, "\n"));) {
		char *comment = NULL;
		for (char *p = line; (p = strstr(p, "  # ")); p++) comment = p;
		if (comment) *comment = '\0';
		if (*line && *line != '#') string_appendf(&out, "%s\n", line);
	}
	free(shown);
	return string_steal(&out);
}

static void check_shown(struct policy *policy) {
	char *shown = policy_show(policy);
	demand(text_is_utf8(shown, strlen(shown)), "not UTF-8");
	if (strlen(shown) > LIMIT_POLICY) {
		free(shown);
		return;
	}
	CLEANUP_STRINGS struct strings errors = {0};
	struct policy_document *document = policy_load(POLICY_LAYER_USER, "shown", shown, strlen(shown), &errors);
	demand(document, "what is shown is refused: %s\n%s", errors.items[0], shown);
	struct policy *again = policy_new(&document, 1);
	CLEANUP_FREE char *first = without_comments(shown), *second = without_comments(policy_show(again));
	demand(strcmp(first, second) == 0, "what is shown says something else:\n%s\n%s", first, second);
	policy_unref(again);
}

static bool find_none(void *context, const struct request *request, struct grant *ret_grant,
		      struct pattern_rank *ret_rank) {
	(void)context;
	(void)request;
	(void)ret_grant;
	(void)ret_rank;
	return false;
}

static bool is_allowed_by_a_rule(const struct ruleset *ruleset, const struct request *request) {
	size_t count;
	const struct rule *rules = ruleset_rules(ruleset, &count);
	for (size_t i = 0; i < count; i++) {
		bool word = permission_equal(&rules[i].permission, &request->permission) ||
			    (request->permission.kind == PERMISSION_FS_READ &&
			     rules[i].permission.kind == PERMISSION_FS_WRITE);
		if (word && rules[i].effect == EFFECT_ALLOW && pattern_match(rules[i].pattern, request->target, NULL))
			return true;
	}
	return false;
}

static void check_decisions(struct policy *policy, const char *profile) {
	static const struct {
		enum permission_kind kind;
		const char *target;
	} asked[] = {
		{PERMISSION_FS_READ, "/home/u/app/a"},    {PERMISSION_FS_WRITE, "/home/u/app/.git/hooks/x"},
		{PERMISSION_FS_READ, "/home/u/.ssh/id"},  {PERMISSION_FS_WRITE, "/a/b/c"},
		{PERMISSION_FS_LINK, "/home/u/.bashrc"},  {PERMISSION_NET_ACCESS, "a.example.org:443"},
		{PERMISSION_NET_ACCESS, "10.1.2.3:22"},   {PERMISSION_NET_ACCESS, "localhost:80"},
		{PERMISSION_PROC_SPAWN, "/usr/bin/sudo"}, {PERMISSION_NET_LISTEN, "8080"},
		{PERMISSION_ENV_READ, "LC_ALL"},          {PERMISSION_IPC_CONNECT, "/run/x.sock"},
	};
	static const struct stack_grants grants = {.find = find_none};
	CLEANUP_RULESET struct ruleset *ruleset = NULL;
	struct error error = ERROR_NONE;
	if (ruleset_new(policy, profile, &scope, NULL, &ruleset, &error) < 0) {
		demand(*error.message, "refused without a word");
		return;
	}
	const struct stack_context context = {.ruleset = ruleset, .grants = &grants};
	for (size_t i = 0; i < ARRAY_LENGTH(asked); i++) {
		const struct request request = {.subject = {(char *)profile, (char *)scope.project},
						.permission = permission_of(asked[i].kind),
						.target = (char *)asked[i].target};
		struct verdict verdict = {0};
		stack_decide(&context, &request, &verdict, NULL);
		demand(verdict.effect != EFFECT_ALLOW || is_allowed_by_a_rule(ruleset, &request), "%s %s is allowed",
		       request.permission.name, request.target);
		verdict_finish(&verdict);
	}
	static const struct strings nobody = {0};
	struct view *view =
		view_build(&context, &(struct subject){(char *)profile, (char *)scope.project}, 1, NULL, 0, &nobody);
	view_free(view);
}

static void check(enum policy_layer layer, const char *text, size_t size) {
	struct policy *policy = load(layer, text, size);
	CLEANUP_STRINGS struct strings names = {0};
	if (!policy) return;
	/* Other layers may name profiles that are the user's. */
	if (layer == POLICY_LAYER_USER) check_shown(policy);
	policy_profile_names(policy, &names);
	demand(names.count <= LIMIT_PROFILES, "%zu profiles", names.count);
	for (size_t i = 0; i < names.count && i < 4; i++) check_decisions(policy, names.items[i]);
	policy_unref(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	CLEANUP_FREE char *text = mem_copy(data, size);
	check(POLICY_LAYER_USER, text, size);
	check(POLICY_LAYER_PROJECT, text, size);
	check(POLICY_LAYER_ADMIN, text, size);
	return 0;
}
