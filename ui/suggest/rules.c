/*
 * Theory of operation
 *
 * A rule of the user's file comes before all rules of the project's file and the built-in ones, however close these
 * are; a grant comes behind all rules that deny. So a folder that was granted has its denied parts still, and a rule
 * for the same folder would lift them: each such denial is repeated beside the rule, in the same layer, where the
 * closer wins. What an administrator denies is final, and base's sticky places hold in every layer: those need no
 * repeating.
 *
 * The other way round a denial in the user's file ends what lower layers allow below it. An answer for once did not
 * mean that.
 */
#include "rules.h"

#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "pattern.h"

static bool is_below_user(const struct rule *rule) {
	return rule->layer == POLICY_LAYER_PROJECT || rule->layer == POLICY_LAYER_BUILTIN;
}

static void leave_out_by_rule(struct suggestion *suggestion, const char *why, const struct rule *rule) {
	CLEANUP_FREE char *place = text_visible_cut(rule->origin, 80);
	suggestion_leave_out(suggestion, "%s (%s)", why, place);
}

/* By now: as asked, by a rule that wasn't there then. */
static void judge_decided(struct suggestion *suggestion, const struct ruleset *ruleset, const char *target) {
	const struct rule *rule = ruleset_find(ruleset, &suggestion->permission, target, NULL);
	if (!rule || rule->effect == EFFECT_ASK) return;
	if (rule->effect == suggestion->effect)
		suggestion->decided = true;
	else
		leave_out_by_rule(suggestion,
				  rule->effect == EFFECT_DENY ? "a rule denies it by now" : "a rule allows it by now",
				  rule);
}

/* A grant opens a private address where the rule that asks about the name does; the suggested rule would for all of its
 * names. */
static void judge_private(struct suggestion *suggestion, const struct ruleset *ruleset, const struct rule *asking) {
	const struct pattern *pattern = suggestion->compiled;
	size_t count;
	const struct rule *rules = ruleset_rules(ruleset, &count);
	bool all = suggest_pattern_covers(&suggestion->permission, asking->pattern, pattern);
	for (size_t i = 0; i < count && !pattern_target(pattern); i++)
		all = all &&
		      !(permission_equal(&rules[i].permission, &suggestion->permission) && !rules[i].private_allowed &&
			suggest_patterns_overlap(&rules[i].permission, pattern, rules[i].pattern) &&
			!suggest_pattern_covers(&rules[i].permission, rules[i].pattern, asking->pattern));
	suggestion->private_allowed = true;
	if (!all) leave_out_by_rule(suggestion, "only for a part of it a rule says private: true", asking);
}

static void judge_asked(struct suggestion *suggestion, const struct ruleset *ruleset, const char *target) {
	const struct rule *rule = ruleset_find(ruleset, &suggestion->permission, target, NULL);
	if (!rule || rule->effect != EFFECT_ASK) return;
	if (rule->confirm_terminal)
		leave_out_by_rule(suggestion, "only an answer in a terminal can allow it, so no rule is suggested",
				  rule);
	if (rule->private_allowed && !pattern_names_address(suggestion->compiled))
		judge_private(suggestion, ruleset, rule);
}

/* Is it the rule that decides about what it names? One that another beats needs no repeating. */
static bool is_in_force(const struct rule *rule, const struct ruleset *ruleset) {
	const char *target = pattern_target(rule->pattern);
	return !target || ruleset_find(ruleset, &rule->permission, target, NULL) == rule;
}

static bool is_lifted_by(const struct rule *rule, const struct suggestion *suggestion, const struct ruleset *ruleset) {
	return is_below_user(rule) && !rule->sticky &&
	       suggest_permissions_related(&rule->permission, &suggestion->permission) &&
	       suggest_patterns_overlap(&suggestion->permission, suggestion->compiled, rule->pattern) &&
	       is_in_force(rule, ruleset);
}

/* A grant of all of it leaves that part to a terminal; a rule would not. */
static void judge_confirmed_parts(struct suggestion *suggestion, const struct ruleset *ruleset) {
	size_t count;
	const struct rule *rules = ruleset_rules(ruleset, &count);
	for (size_t i = 0; i < count; i++)
		if (rules[i].effect == EFFECT_ASK && rules[i].confirm_terminal &&
		    is_lifted_by(&rules[i], suggestion, ruleset))
			leave_out_by_rule(suggestion, "only a terminal may allow a part of it", &rules[i]);
}

static void judge_sticky(struct suggestion *suggestion, const struct ruleset *ruleset, const char *target) {
	const struct rule *sticky = ruleset_find_sticky(ruleset, &suggestion->permission, target, NULL);
	if (sticky && (sticky->effect == EFFECT_DENY || sticky->confirm_terminal))
		leave_out_by_rule(suggestion, "it is a place that base keeps", sticky);
}

static void keep_denials(struct suggest *suggest, size_t index, const struct ruleset *ruleset) {
	size_t count, items;
	const struct rule *rules = ruleset_rules(ruleset, &count);
	for (size_t i = 0; i < count; i++) {
		const struct suggestion *suggestion = &suggest_items(suggest, &items)[index];
		if (!suggestion_is_rule(suggestion)) return;
		if (rules[i].effect == EFFECT_DENY && is_lifted_by(&rules[i], suggestion, ruleset))
			suggest_keep(suggest, index, &rules[i].permission, pattern_text(rules[i].pattern),
				     rules[i].origin);
	}
}

static void judge_allowed_parts(struct suggestion *suggestion, const struct ruleset *ruleset) {
	size_t count;
	const struct rule *rules = ruleset_rules(ruleset, &count);
	for (size_t i = 0; i < count; i++)
		if (rules[i].effect == EFFECT_ALLOW && rules[i].layer != POLICY_LAYER_USER &&
		    suggest_permissions_related(&rules[i].permission, &suggestion->permission) &&
		    suggest_patterns_overlap(&suggestion->permission, suggestion->compiled, rules[i].pattern))
			leave_out_by_rule(suggestion, "you denied it once, and a rule allows a part of it", &rules[i]);
}

void suggest_judge(struct suggest *suggest, size_t index, const struct ruleset *ruleset) {
	size_t count;
	struct suggestion *suggestion = &suggest_items(suggest, &count)[index];
	if (!suggestion_is_rule(suggestion) || suggestion->basis == SUGGESTION_KEPT) return;
	CLEANUP_FREE char *sample = suggest_pattern_sample(&suggestion->permission, suggestion->compiled);
	judge_decided(suggestion, ruleset, sample);
	if (suggestion->effect == EFFECT_DENY) {
		if (suggestion->lifetime == LIFETIME_ONCE) judge_allowed_parts(suggestion, ruleset);
		return;
	}
	judge_asked(suggestion, ruleset, sample);
	judge_asked(suggestion, ruleset, suggestion->target);
	judge_confirmed_parts(suggestion, ruleset);
	if (permission_is_of_path(&suggestion->permission)) judge_sticky(suggestion, ruleset, sample);
	keep_denials(suggest, index, ruleset);
}

static bool is_of(const char *wanted, const char *text) {
	return !wanted || string_equal(wanted, text);
}

void suggest_judge_grant(struct suggest *suggest, const struct grant *grant) {
	size_t count, now;
	const struct pattern_scope nothing = {0};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	CLEANUP_FREE char *place = string_format("grant %lld", (long long)grant->id);
	if (grant->effect != EFFECT_DENY || grant->session != 0 ||
	    pattern_compile(&grant->permission, grant->pattern, &nothing, &pattern, NULL) < 0)
		return;
	suggest_items(suggest, &count);
	for (size_t i = 0; i < count; i++) {
		const struct suggestion *item = &suggest_items(suggest, &now)[i];
		if (suggestion_is_rule(item) && item->effect == EFFECT_ALLOW && is_of(grant->profile, item->profile) &&
		    is_of(grant->project, item->project) &&
		    suggest_permissions_related(&grant->permission, &item->permission) &&
		    suggest_patterns_overlap(&item->permission, item->compiled, pattern))
			suggest_keep(suggest, i, &grant->permission, grant->pattern, place);
	}
}
