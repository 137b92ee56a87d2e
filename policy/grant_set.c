#include "grant_set.h"

#include <stdlib.h>

#include "base/string.h"
#include "index.h"

struct grant_set {
	const struct grant *grants;
	struct rule *rules; /* one a grant, for the index; those that can't be read stand behind `count` */
	size_t *grant_of;   /* the grant that a rule stands for */
	size_t count;
	struct pattern **patterns; /* by grant, NULL when it can't be read */
	size_t grant_count;
	struct rule_index *index;
};

struct grant_set *grant_set_new(const struct grant *grants, size_t count) {
	const struct pattern_scope nothing = {0};
	struct grant_set *set = mem_new(struct grant_set);
	set->grants = grants;
	set->grant_count = count;
	set->rules = mem_array(struct rule, count);
	set->grant_of = mem_array(size_t, count);
	set->patterns = mem_alloc(count, sizeof(struct pattern *));
	for (size_t i = 0; i < count; i++) {
		if (pattern_compile(&grants[i].permission, grants[i].pattern, &nothing, &set->patterns[i], NULL) < 0)
			continue;
		set->grant_of[set->count] = i;
		set->rules[set->count++] = (struct rule){
			.permission = grants[i].permission, .effect = grants[i].effect, .pattern = set->patterns[i]};
	}
	set->index = rule_index_new(set->rules, set->count);
	return set;
}

void grant_set_free(struct grant_set *set) {
	if (!set) return;
	for (size_t i = 0; i < set->grant_count; i++) pattern_free(set->patterns[i]);
	free(set->patterns);
	free(set->rules);
	free(set->grant_of);
	rule_index_free(set->index);
	free(set);
}

const struct pattern *grant_set_pattern(const struct grant_set *set, size_t i) {
	return set->patterns[i];
}

struct covering {
	const char *path;
	bool found;
};

static void match(void *context, const struct rule *rule) {
	struct covering *covering = context;
	covering->found = covering->found || pattern_match(rule->pattern, covering->path, NULL);
}

bool grant_set_covers(const struct grant_set *set, const char *path) {
	const struct permission read = permission_of(PERMISSION_FS_READ); /* and to write: they share their keys */
	struct covering covering = {.path = path};
	if (set->count > 0) rule_index_visit(set->index, &read, path, match, &covering);
	return covering.found;
}

struct finding {
	const struct grant_set *set;
	const struct request *request;
	const struct rule *best;
	struct pattern_rank rank;
};

/* An allow to write is one to read, and what may not be read may not be written. */
static bool counts(const struct rule *rule, const struct permission *asked) {
	return rule->effect == EFFECT_ALLOW ? permission_includes(&rule->permission, asked)
					    : permission_includes(asked, &rule->permission);
}

static const struct grant *grant_of(const struct grant_set *set, const struct rule *rule) {
	return &set->grants[set->grant_of[rule - set->rules]];
}

static void consider(void *context, const struct rule *rule) {
	struct finding *finding = context;
	struct pattern_rank rank;
	if (!counts(rule, &finding->request->permission) ||
	    !pattern_applies(rule->pattern, rule->effect, finding->request->target, &rank))
		return;
	if (finding->best &&
	    !grant_beats(grant_of(finding->set, rule), rank, grant_of(finding->set, finding->best), finding->rank))
		return;
	finding->best = rule;
	finding->rank = rank;
}

static bool find(void *context, const struct request *request, struct grant *ret_grant, struct pattern_rank *ret_rank) {
	const struct grant_set *set = context;
	struct finding finding = {.set = set, .request = request};
	rule_index_visit(set->index, &request->permission, request->target, consider, &finding);
	if (!finding.best) return false;
	const struct grant *grant = grant_of(set, finding.best);
	*ret_grant = (struct grant){.id = grant->id,
				    .permission = grant->permission,
				    .effect = grant->effect,
				    .pattern = string_copy(grant->pattern),
				    .resolved = string_copy_or_null(grant->resolved)};
	*ret_rank = finding.rank;
	return true;
}

struct stack_grants grant_set_finder(struct grant_set *set) {
	return (struct stack_grants){.find = find, .context = set};
}
