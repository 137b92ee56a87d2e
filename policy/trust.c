/*
 * A project's file as somebody sees it who has not trusted it yet: what counts of it all the same, and what it says in
 * words.
 */
#include "base/text.h"
#include "document.h"

static void add_denials(struct policy_document *document, const struct profile *from) {
	struct profile *profile = NULL;
	for (size_t i = 0; i < from->rule_count; i++) {
		const struct rule_text *rule = &from->rules[i];
		if (rule->effect != EFFECT_DENY) continue;
		if (!profile) profile = document_add_profile(document, from->name, from->file, from->place);
		profile->rules = array_grow(profile->rules, profile->rule_count, sizeof *profile->rules);
		struct rule_text *copy = &profile->rules[profile->rule_count++];
		*copy = *rule;
		copy->text = string_copy(rule->text);
	}
}

struct policy_document *policy_document_untrusted(const struct policy_document *document) {
	struct policy_document *denials = document_new(document->layer);
	denials->untrusted = true;
	for (size_t i = 0; i < document->profile_count; i++) add_denials(denials, &document->profiles[i]);
	return denials;
}

static bool limits_are_set(const struct view_limits *limits) {
	return limits->memory > 0 || limits->processes > 0 || limits->open_files > 0 || limits->cpu_time_ms > 0;
}

static bool profile_has_settings(const struct profile *profile) {
	return profile->set.count > 0 || profile->hosts.count > 0 || limits_are_set(&profile->limits) ||
	       profile->home != SETTING_UNSET || profile->network != SETTING_UNSET ||
	       profile->doorbell != SETTING_UNSET;
}

bool policy_document_needs_trust(const struct policy_document *document) {
	if (document->permissions.count > 0) return true;
	for (size_t i = 0; i < document->profile_count; i++) {
		const struct profile *profile = &document->profiles[i];
		if (profile->commands.count > 0 || profile->extends.count > 0 || profile_has_settings(profile))
			return true;
		for (size_t k = 0; k < profile->rule_count; k++)
			if (profile->rules[k].effect != EFFECT_DENY) return true;
	}
	return false;
}

static void describe_names(struct strings *lines, const char *what, const struct names *names) {
	CLEANUP_STRING struct string line = {0};
	for (size_t i = 0; i < names->count; i++) {
		CLEANUP_FREE char *shown = text_visible(names->items[i].text);
		string_appendf(&line, "%s%s", i == 0 ? "" : ", ", shown);
	}
	if (names->count > 0) strings_addf(lines, "  %s: %s", what, line.data);
}

static void describe_rule(struct strings *lines, const struct rule_text *rule) {
	static const char *const verbs[EFFECT_COUNT] = {
		[EFFECT_DENY] = "may not", [EFFECT_ASK] = "asks before it may", [EFFECT_ALLOW] = "may"};
	CLEANUP_FREE char *target = text_visible(rule->text);
	CLEANUP_FREE char *what = permission_sentence(&rule->permission, NULL, target);
	strings_addf(lines, "  %s %s%s (line %u)", verbs[rule->effect], what,
		     rule->confirm_terminal ? ", in a terminal" : "", rule->place.line);
}

static void describe_settings(struct strings *lines, const struct profile *profile) {
	for (size_t i = 0; i < profile->set.count; i++) {
		CLEANUP_FREE char *value = text_visible(profile->set.items[i].value);
		strings_addf(lines, "  sets the variable %s to %s", profile->set.items[i].name, value);
	}
	if (limits_are_set(&profile->limits)) strings_add(lines, "  sets limits");
	if (profile->home != SETTING_UNSET)
		strings_addf(lines, "  home: %s", view_home_name((enum view_home)profile->home));
	if (profile->network != SETTING_UNSET)
		strings_addf(lines, "  network: %s", view_network_name((enum view_network)profile->network));
	if (profile->doorbell != SETTING_UNSET)
		strings_addf(lines, "  doorbell: %s", view_doorbell_name((enum view_doorbell)profile->doorbell));
}

static void describe_profile(struct strings *lines, const struct profile *profile) {
	static const enum effect order[] = {EFFECT_ALLOW, EFFECT_ASK, EFFECT_DENY};
	strings_addf(lines, "profile %s", profile->name);
	describe_names(lines, "is picked by the commands", &profile->commands);
	describe_names(lines, "has all that these profiles have", &profile->extends);
	for (size_t e = 0; e < ARRAY_LENGTH(order); e++)
		for (size_t i = 0; i < profile->rule_count; i++)
			if (profile->rules[i].effect == order[e]) describe_rule(lines, &profile->rules[i]);
	describe_settings(lines, profile);
}

void policy_document_describe(const struct policy_document *document, struct strings *lines) {
	for (size_t i = 0; i < document->permissions.count; i++) {
		CLEANUP_FREE char *text = text_visible(document->permissions.items[i].value);
		strings_addf(lines, "permission %s: %s", document->permissions.items[i].name, text);
	}
	for (size_t i = 0; i < document->profile_count; i++) describe_profile(lines, &document->profiles[i]);
}
