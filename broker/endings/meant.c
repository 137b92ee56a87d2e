#include "meant.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/string.h"
#include "grants/granting.h"
#include "policies/policies.h"
#include "sessions/spent.h"

/* Takes the pattern. */
static void add(struct meant *meant, struct pattern *pattern, const struct rulesets_item *item) {
	meant->names = array_grow(meant->names, meant->count, sizeof *meant->names);
	meant->names[meant->count++] = (struct meant_name){.pattern = pattern,
							   .profile = item ? string_copy(item->profile) : NULL,
							   .session = item ? item->session : 0};
}

bool meant_name_holds(const struct meant_name *name, const struct rulesets_item *item) {
	return !name->profile || (string_equal(name->profile, item->profile) && name->session == item->session);
}

/* Is it meant by a name that holds there? */
static bool is_meant(const struct meant *meant, const struct pattern *pattern, const struct rulesets_item *item) {
	for (size_t i = 0; i < meant->count; i++)
		if (meant_name_holds(&meant->names[i], item) && pattern_overlaps(meant->names[i].pattern, pattern))
			return true;
	return false;
}

/* The other one of a name and its address, where the one is meant. */
static void add_other(struct meant *meant, const char *one, const char *other, const struct rulesets_item *item) {
	CLEANUP_PATTERN struct pattern *known = NULL, *added = NULL;
	const struct pattern *asked = meant->names[0].pattern; /* its ports */
	if (pattern_at_host(asked, one, &known) == 0 && pattern_at_host(asked, other, &added) == 0 &&
	    is_meant(meant, known, item) && !is_meant(meant, added, item))
		add(meant, STEAL(added), item);
}

/* First addresses, to which other names may lead. */
static void add_hosts(void *context, const struct rulesets_item *item) {
	size_t count;
	const struct view_pair *hosts = ruleset_hosts(item->ruleset, &count);
	for (size_t i = 0; i < count; i++) add_other(context, hosts[i].name, hosts[i].value, item);
	for (size_t i = 0; i < count; i++) add_other(context, hosts[i].value, hosts[i].name, item);
}

int meant_find(struct broker *broker, const struct permission *permission, const char *target, const char *resolved,
	       struct meant *meant, struct error *error) {
	const struct pattern_scope scope = policies_scope(broker->policies, NULL);
	CLEANUP_FREE char *there = resolved ? pattern_quote(permission, resolved) : NULL;
	const char *const texts[] = {target, there};
	meant->permission = *permission;
	int r = granting_check_resolved(resolved, error);
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(texts) && texts[i]; i++) {
		struct pattern *pattern = NULL;
		r = pattern_compile(permission, texts[i], &scope, &pattern, error);
		if (r == 0) add(meant, pattern, NULL);
	}
	if (r == 0 && permission->kind == PERMISSION_NET_ACCESS) rulesets_visit(broker, add_hosts, meant);
	return r;
}

void meant_finish(struct meant *meant) {
	for (size_t i = 0; i < meant->count; i++) {
		pattern_free(meant->names[i].pattern);
		free(meant->names[i].profile);
	}
	free(meant->names);
}

/* A denial of another name is no denial of this one. */
static bool is_concerned(const struct meant_name *name, const struct grant *grant) {
	if (!name->profile) return true;
	return grant->effect == EFFECT_ALLOW && (!grant->profile || string_equal(grant->profile, name->profile)) &&
	       (grant->session == 0 || name->session == 0 || grant->session == name->session);
}

static bool is_same(const struct meant *meant, size_t i, size_t k) {
	return string_equal(pattern_text(meant->names[i].pattern), pattern_text(meant->names[k].pattern));
}

/* Many profiles may have the same name; it is looked for once. */
static bool is_first(const struct meant *meant, size_t at) {
	for (size_t i = 0; i < at; i++)
		if (is_same(meant, i, at)) return false;
	return true;
}

static bool concerns_any(const struct meant *meant, size_t at, const struct grant *grant) {
	for (size_t i = at; i < meant->count; i++)
		if (is_same(meant, i, at) && is_concerned(&meant->names[i], grant)) return true;
	return false;
}

int meant_collect(struct broker *broker, const struct meant *meant, struct grant_list *list, struct error *error) {
	int r = 0;
	for (size_t i = 0; r == 0 && i < meant->count; i++) {
		CLEANUP_GRANT_LIST struct grant_list found = {0};
		if (!is_first(meant, i)) continue;
		r = grants_reaching(broker->grants, &meant->permission, meant->names[i].pattern, &found, error);
		for (size_t k = 0; r == 0 && k < found.count; k++)
			if (concerns_any(meant, i, &found.items[k]) && !grant_list_has(list, found.items[k].id))
				grant_list_take(list, &found.items[k]);
	}
	return r;
}

static bool covers_text(const struct meant *meant, const struct permission *permission, const char *text) {
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	if (pattern_compile(permission, text, &nothing, &pattern, NULL) < 0) return false;
	for (size_t i = 0; i < meant->count; i++)
		if (pattern_covers(meant->names[i].pattern, pattern)) return true;
	return false;
}

/* Of what leads elsewhere that counts which is there. */
bool meant_covers(const struct meant *meant, const struct grant *grant) {
	CLEANUP_FREE char *there = grant->resolved ? pattern_quote(&grant->permission, grant->resolved) : NULL;
	return covers_text(meant, &grant->permission, grant->pattern) ||
	       (there && covers_text(meant, &grant->permission, there));
}

static bool overlaps_text(const struct meant *meant, const struct grant *grant, const char *text) {
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	if (pattern_compile(&grant->permission, text, &nothing, &pattern, NULL) < 0) return false;
	for (size_t i = 0; i < meant->count; i++)
		if (is_concerned(&meant->names[i], grant) && pattern_overlaps(pattern, meant->names[i].pattern))
			return true;
	return false;
}

bool meant_overlaps(const struct meant *meant, const struct grant *grant) {
	CLEANUP_FREE char *there = grant->resolved ? pattern_quote(&grant->permission, grant->resolved) : NULL;
	return permission_includes(&grant->permission, &meant->permission) &&
	       (overlaps_text(meant, grant, grant->pattern) || (there && overlaps_text(meant, grant, there)));
}

static bool overlaps(const void *context, const struct grant *grant) {
	return meant_overlaps(context, grant);
}

int meant_collect_spent(struct broker *broker, const struct meant *meant, struct grant_list *list,
			struct error *error) {
	return spent_collect(broker, overlaps, meant, list, error);
}
