/*
 * What counts of a project's file that nobody has trusted (what it says in words: describe.c).
 */
#include <string.h>

#include "document.h"
#include "schema/pattern.h"

/* With ${project} written out, where `root` says what it is. */
static char *text_in(const struct rule_text *rule, const char *root) {
	static const char variable[] = "${project}";
	CLEANUP_FREE char *quoted = root ? pattern_quote(&rule->permission, root) : NULL;
	CLEANUP_STRING struct string text = {0};
	const char *rest = rule->text;
	string_append(&text, "");
	for (const char *at; root && (at = strstr(rest, variable)); rest = at + strlen(variable)) {
		string_append_bytes(&text, rest, (size_t)(at - rest));
		string_append(&text, quoted);
	}
	string_append(&text, rest);
	return string_steal(&text);
}

static void add_denials(struct policy_document *document, const struct profile *from, const char *root) {
	struct profile *profile = NULL;
	for (size_t i = 0; i < from->rule_count; i++) {
		const struct rule_text *rule = &from->rules[i];
		if (rule->effect != EFFECT_DENY) continue;
		if (!profile) profile = document_add_profile(document, from->name, from->file, from->place);
		profile->rules = array_grow(profile->rules, profile->rule_count, sizeof *profile->rules);
		struct rule_text *copy = &profile->rules[profile->rule_count++];
		*copy = *rule;
		copy->text = text_in(rule, root);
		copy->note = string_copy_or_null(rule->note);
		copy->source = string_copy_or_null(rule->source);
	}
}

struct policy_document *policy_document_enclosing(const struct policy_document *document, const char *root) {
	struct policy_document *denials = document_new(document->layer);
	denials->untrusted = true;
	for (size_t i = 0; i < document->profile_count; i++) add_denials(denials, &document->profiles[i], root);
	return denials;
}

struct policy_document *policy_document_untrusted(const struct policy_document *document) {
	return policy_document_enclosing(document, NULL);
}

static bool limits_are_set(const struct view_limits *limits) {
	return limits->memory > 0 || limits->processes > 0 || limits->open_files > 0 || limits->cpu_time_ms > 0 ||
	       limits->kernel_aio;
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
