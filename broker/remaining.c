#include "remaining.h"

#include "base/memory.h"
#include "base/string.h"
#include "granting.h"
#include "policies.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "session.h"

struct remaining {
	const struct permission *permission;
	const struct pattern *pattern;
	json_t *items;
	size_t bytes;
	int64_t more;
	struct strings told; /* origins */
};

/* Takes `what`. */
static void add(struct remaining *remaining, int64_t session, const char *profile, json_t *what) {
	json_object_set_new(what, "profile", message_bytes(profile));
	json_object_set_new(what, "session", session ? json_integer(session) : json_null());
	remaining->bytes += json_dumpb(what, NULL, 0, JSON_COMPACT) + 1;
	if (remaining->bytes <= LIMIT_PAGE_BYTES / 4)
		json_array_append(remaining->items, what);
	else
		remaining->more++;
	json_decref(what);
}

static bool is_about(const struct rule *rule, const struct permission *permission) {
	/* Writing implies reading. */
	if (permission->kind == PERMISSION_FS_READ && rule->permission.kind == PERMISSION_FS_WRITE) return true;
	return permission_equal(&rule->permission, permission);
}

/* A target that both mean; NULL: none is found without a search. Freed by the caller. */
static char *common_sample(const struct permission *permission, const struct pattern *a, const struct pattern *b) {
	CLEANUP_FREE char *of_a = granting_sample(permission, a);
	CLEANUP_FREE char *of_b = granting_sample(permission, b);
	if (of_a && pattern_match(a, of_a, NULL) && pattern_match(b, of_a, NULL)) return STEAL(of_a);
	return of_b && pattern_match(a, of_b, NULL) && pattern_match(b, of_b, NULL) ? STEAL(of_b) : NULL;
}

/* The rule that lets something of it through where this one would; NULL: it doesn't come to that. */
static const struct rule *winner_where(const struct remaining *remaining, const struct ruleset *ruleset,
				       const struct rule *rule) {
	CLEANUP_FREE char *sample = common_sample(remaining->permission, rule->pattern, remaining->pattern);
	const struct rule *winner = sample ? ruleset_find(ruleset, remaining->permission, sample, NULL) : NULL;
	if (!winner) return rule;
	if (winner->effect == EFFECT_ALLOW) return winner;
	const bool all =
		pattern_covers(winner->pattern, rule->pattern) || pattern_covers(winner->pattern, remaining->pattern);
	return all ? NULL : rule;
}

static void add_rule(struct remaining *remaining, const struct rule *rule, int64_t session) {
	if (strings_contain(&remaining->told, rule->origin)) return;
	strings_add(&remaining->told, rule->origin);
	json_t *what = json_object();
	json_object_set_new(what, "rule", message_bytes(rule->origin));
	json_object_set_new(what, "permission", json_string(rule->permission.name));
	json_object_set_new(what, "target", message_bytes(pattern_text(rule->pattern)));
	add(remaining, session, rule->profile, what);
}

static void add_rules(struct remaining *remaining, const struct ruleset *ruleset, int64_t session) {
	size_t count;
	const struct rule *rules = ruleset_rules(ruleset, &count);
	for (size_t i = 0; i < count; i++) {
		if (rules[i].effect != EFFECT_ALLOW || !is_about(&rules[i], remaining->permission) ||
		    !pattern_overlaps(rules[i].pattern, remaining->pattern))
			continue;
		const struct rule *winner = winner_where(remaining, ruleset, &rules[i]);
		if (winner) add_rule(remaining, winner, session);
	}
}

/* With the host's network no rule holds for net:access. */
static void add_network(struct remaining *remaining, const char *profile, int64_t session) {
	if (remaining->permission->kind != PERMISSION_NET_ACCESS) return;
	json_t *what = json_object();
	json_object_set_new(what, "rule", json_null());
	json_object_set_new(what, "permission", json_string(remaining->permission->name));
	json_object_set_new(what, "target", json_null());
	add(remaining, session, profile, what);
}

static void add_sessions(struct remaining *remaining, const struct broker *broker) {
	const struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		add_rules(remaining, session->ruleset, session->record.id);
		if (session->has_host_network) add_network(remaining, session->subject.profile, session->record.id);
	}
}

static void add_profiles(struct remaining *remaining, struct broker *broker) {
	/* No project: nothing lies below this, so ${project} lets nothing through. */
	static const char nowhere[] = "/dev/null/project";
	CLEANUP_STRINGS struct strings profiles = {0};
	struct policy *policy;
	if (policies_assemble(broker->policies, NULL, NULL, &policy, NULL) < 0) return;
	policy_profile_names(policy, &profiles);
	for (size_t i = 0; i < profiles.count; i++) {
		CLEANUP_RULESET struct ruleset *ruleset = NULL;
		const struct pattern_scope scope = policies_scope(broker->policies, nowhere);
		if (ruleset_new(policy, profiles.items[i], &scope, &ruleset, NULL) < 0) continue;
		add_rules(remaining, ruleset, 0);
		if (ruleset_network(ruleset) == VIEW_NETWORK_HOST) add_network(remaining, profiles.items[i], 0);
	}
	policy_unref(policy);
}

json_t *remaining_rules(struct broker *broker, const struct permission *permission,
			const struct pattern *const *patterns, size_t count, int64_t *ret_more) {
	struct remaining remaining = {.permission = permission, .items = json_array()};
	for (size_t i = 0; i < count; i++) {
		remaining.pattern = patterns[i];
		add_sessions(&remaining, broker);
		add_profiles(&remaining, broker);
	}
	strings_finish(&remaining.told);
	*ret_more = remaining.more;
	return remaining.items;
}
