#include "remaining.h"

#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "grants/granting.h"
#include "schema/host.h"
#include "schema/limits.h"
#include "schema/message.h"

struct remaining {
	const struct permission *permission;
	const struct meant *meant;
	const struct pattern *pattern; /* of it the one that is looked at */
	json_t *items;
	size_t bytes;
	int64_t more;
	struct strings told; /* origins */
};

/* Takes `what`. */
static void add(struct remaining *remaining, const char *profile, int64_t session, json_t *what) {
	json_object_set_new(what, "profile", message_bytes(profile));
	json_object_set_new(what, "session", session ? json_integer(session) : json_null());
	remaining->bytes += json_dumpb(what, NULL, 0, JSON_COMPACT) + 1;
	if (remaining->bytes <= LIMIT_PAGE_BYTES / 4)
		json_array_append(remaining->items, what);
	else
		remaining->more++;
	json_decref(what);
}

/* One of those that the pattern means. Of a bare name, which is the program in any folder, the usual one. */
static char *sample_of(const struct permission *permission, const struct pattern *pattern) {
	static const char any_folder[] = "/**/";
	const char *text = pattern_text(pattern);
	char *sample = granting_sample(permission, pattern);
	if (sample || permission->kind != PERMISSION_PROC_SPAWN || !string_starts(text, any_folder)) return sample;
	const char *name = text + strlen(any_folder);
	return strpbrk(name, "/*?[\\") ? NULL : string_format("/usr/bin/%s", name);
}

/* A target that both mean; NULL: none is found without a search. Freed by the caller. */
static char *common_sample(const struct permission *permission, const struct pattern *a, const struct pattern *b) {
	CLEANUP_FREE char *of_a = sample_of(permission, a);
	CLEANUP_FREE char *of_b = sample_of(permission, b);
	if (of_a && pattern_match(a, of_a, NULL) && pattern_match(b, of_a, NULL)) return STEAL(of_a);
	return of_b && pattern_match(a, of_b, NULL) && pattern_match(b, of_b, NULL) ? STEAL(of_b) : NULL;
}

/* A rule that means no private addresses opens none (policy/stack.c). */
static bool is_closed(const struct remaining *remaining, const struct rule *rule) {
	struct host host;
	uint16_t port;
	const char *text = pattern_text(remaining->pattern);
	if (remaining->permission->kind != PERMISSION_NET_ACCESS || rule->private_allowed) return false;
	if (host_port_parse(text, strlen(text), &host, &port, NULL) < 0 &&
	    host_parse(text, strlen(text), &host, NULL) < 0)
		return false;
	return host_is_private(&host);
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
	add(remaining, rule->profile, session, what);
}

static void add_rules(struct remaining *remaining, const struct rulesets_item *item) {
	size_t count;
	const struct rule *rules = ruleset_rules(item->ruleset, &count);
	for (size_t i = 0; i < count; i++) {
		if (rules[i].effect != EFFECT_ALLOW ||
		    !permission_includes(&rules[i].permission, remaining->permission) ||
		    !pattern_overlaps(rules[i].pattern, remaining->pattern) || is_closed(remaining, &rules[i]))
			continue;
		const struct rule *winner = winner_where(remaining, item->ruleset, &rules[i]);
		if (winner) add_rule(remaining, winner, item->session);
	}
}

static void add_network(struct remaining *remaining, const struct rulesets_item *item) {
	json_t *what = json_object();
	json_object_set_new(what, "rule", json_null());
	json_object_set_new(what, "permission", json_string(remaining->permission->name));
	json_object_set_new(what, "target", json_null());
	add(remaining, item->profile, item->session, what);
}

static void look(void *context, const struct rulesets_item *item) {
	struct remaining *remaining = context;
	for (size_t i = 0; i < remaining->meant->count; i++) {
		remaining->pattern = remaining->meant->names[i].pattern;
		if (meant_name_holds(&remaining->meant->names[i], item)) add_rules(remaining, item);
	}
	if (item->has_host_network && remaining->permission->kind == PERMISSION_NET_ACCESS)
		add_network(remaining, item);
}

json_t *remaining_rules(struct broker *broker, const struct meant *meant, int64_t *ret_more) {
	struct remaining remaining = {.permission = &meant->permission, .meant = meant, .items = json_array()};
	rulesets_visit(broker, look, &remaining);
	strings_finish(&remaining.told);
	*ret_more = remaining.more;
	return remaining.items;
}
