/*
 * `sbx policy show`: all layers as one document, each rule with its file and line. What comes out is a policy file
 * again, except that a project's or administrator's rules have become the reader's own.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "policy_parts.h"
#include "ruleset_parts.h"
#include "schema/upstream.h"
#include "sticky.h"

struct showing {
	struct policy_document *const *documents;
	size_t count;
	struct string out;
};

/* One character of several bytes: as it is when it can be seen, else as YAML's \U escape (attack B9). */
static size_t append_character(struct string *out, const char *text) {
	size_t size = 1;
	uint32_t point = (unsigned char)text[0] & (text[0] & 0x20 ? text[0] & 0x10 ? 0x07U : 0x0fU : 0x1fU);
	for (; (text[size] & 0xc0) == 0x80; size++) point = point << 6 | ((unsigned char)text[size] & 0x3fU);
	CLEANUP_FREE char *character = string_copy_bytes(text, size);
	CLEANUP_FREE char *visible = text_visible(character);
	if (strcmp(visible, character) == 0)
		string_append(out, character);
	else
		string_appendf(out, "\\U%08x", point);
	return size;
}

void policy_append_quoted(struct string *out, const char *text) {
	string_append_char(out, '"');
	while (*text) {
		unsigned char c = (unsigned char)*text;
		if (c >= 0x80) {
			text += append_character(out, text);
			continue;
		}
		if (c == '"' || c == '\\')
			string_appendf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			string_appendf(out, "\\x%02x", c);
		else
			string_append_char(out, *text);
		text++;
	}
	string_append_char(out, '"');
}

static void append_list(struct string *out, const char *indent, const char *key, const struct strings *items) {
	if (items->count == 0) return;
	string_appendf(out, "%s%s: [", indent, key);
	for (size_t i = 0; i < items->count; i++) {
		if (i > 0) string_append(out, ", ");
		policy_append_quoted(out, items->items[i]);
	}
	string_append(out, "]\n");
}

static struct pattern *compile_shown(const struct rule_text *rule) {
	/* Whose home and project it is makes no difference. */
	static const struct pattern_scope anybody = {.home = "/~", .project = "/project", .relative_anywhere = true};
	struct pattern *pattern = NULL;
	return pattern_compile(&rule->permission, rule->text, &anybody, &pattern, NULL) < 0 ? NULL : pattern;
}

static bool guards(const struct rule_text *place, const struct rule_text *rule, const char *target) {
	if (place->effect != EFFECT_DENY || !permission_includes(&rule->permission, &place->permission)) return false;
	CLEANUP_PATTERN struct pattern *pattern = compile_shown(place);
	return pattern && pattern_match(pattern, target, NULL);
}

/* The sensitive place of base that it asks about instead (rule_guard in ruleset.c), or NULL. */
static const struct rule_text *guard_of(const struct showing *showing, const struct rule_text *rule) {
	const struct policy_document *last = showing->documents[showing->count - 1];
	const struct profile *base = last->layer == POLICY_LAYER_BUILTIN ? document_profile(last, POLICY_BASE) : NULL;
	if (!base || rule->effect != EFFECT_ASK || !permission_is_of_path(&rule->permission)) return NULL;
	CLEANUP_PATTERN struct pattern *pattern = compile_shown(rule);
	CLEANUP_FREE char *target = pattern ? pattern_fixed_target(pattern_text(pattern)) : string_copy("");
	for (size_t i = 0; i < base->rule_count; i++)
		if (guards(&base->rules[i], rule, target)) return &base->rules[i];
	return NULL;
}

static void append_words(struct string *out, const char *key, const char *words) {
	string_appendf(out, ", %s: ", key);
	policy_append_quoted(out, words);
}

static void show_rule(const struct showing *showing, struct string *out, enum policy_layer layer,
		      const struct profile *profile, const struct rule_text *rule) {
	const struct rule_text *guard = guard_of(showing, rule);
	bool confirm = rule->confirm_terminal || guard,
	     map = confirm || rule->private_allowed || rule->direct || rule->per_project || rule->note || rule->source;
	string_append(out, map ? "        - {target: " : "        - ");
	policy_append_quoted(out, rule->text);
	if (confirm) string_append(out, ", confirm: terminal");
	if (rule->private_allowed) string_append(out, ", private: true");
	if (rule->direct) string_append(out, ", direct: true");
	if (rule->per_project) string_append(out, ", per-project: true");
	if (rule->note) append_words(out, "note", rule->note);
	if (rule->source) append_words(out, "source", rule->source);
	if (map) string_append_char(out, '}');
	CLEANUP_FREE char *file = text_visible(profile->file);
	string_appendf(out, "  # %s:%u", file, rule->place.line);
	if (layer == POLICY_LAYER_ADMIN && rule->effect == EFFECT_DENY && strcmp(profile->name, POLICY_BASE) == 0)
		string_append(out, ", for every profile");
	if (guard && !rule->confirm_terminal) string_appendf(out, ", in a terminal since base keeps %s", guard->text);
	string_append_char(out, '\n');
}

/* The rules of one effect and permission, over all layers. */
static void show_permission(struct showing *showing, const char *name, enum effect effect,
			    const struct permission *permission) {
	string_appendf(&showing->out, "      %s:\n", permission->name);
	for (size_t d = 0; d < showing->count; d++) {
		const struct profile *profile = document_profile(showing->documents[d], name);
		for (size_t i = 0; profile && i < profile->rule_count; i++)
			if (profile->rules[i].effect == effect &&
			    permission_equal(&profile->rules[i].permission, permission))
				show_rule(showing, &showing->out, showing->documents[d]->layer, profile,
					  &profile->rules[i]);
	}
}

static void show_effect(struct showing *showing, const char *name, enum effect effect) {
	CLEANUP_STRINGS struct strings shown = {0};
	for (size_t d = 0; d < showing->count; d++) {
		const struct profile *profile = document_profile(showing->documents[d], name);
		for (size_t i = 0; profile && i < profile->rule_count; i++) {
			const struct permission *permission = &profile->rules[i].permission;
			if (profile->rules[i].effect != effect || strings_contain(&shown, permission->name)) continue;
			if (shown.count == 0) string_appendf(&showing->out, "    %s:\n", effect_name(effect));
			strings_add(&shown, permission->name);
			show_permission(showing, name, effect, permission);
		}
	}
}

static void show_names(struct showing *showing, const char *key, const char *name, size_t offset) {
	CLEANUP_STRINGS struct strings items = {0};
	for (size_t d = 0; d < showing->count; d++) {
		const struct profile *profile = document_profile(showing->documents[d], name);
		if (!profile) continue;
		const struct names *names = (const struct names *)((const char *)profile + offset);
		for (size_t i = 0; i < names->count; i++)
			if (!strings_contain(&items, names->items[i].text)) strings_add(&items, names->items[i].text);
	}
	append_list(&showing->out, "    ", key, &items);
}

static void show_pairs(struct string *out, const char *key, const struct pairs *pairs) {
	if (pairs->count > 0) string_appendf(out, "    %s:\n", key);
	for (size_t i = 0; i < pairs->count; i++) {
		string_append(out, "      ");
		policy_append_quoted(out, pairs->items[i].name);
		string_append(out, ": ");
		policy_append_quoted(out, pairs->items[i].value);
		string_append_char(out, '\n');
	}
}

static char *format_size(int64_t bytes) {
	static const char units[] = "KMGT";
	size_t unit = 0;
	for (bytes /= 1024; unit < 3 && bytes % 1024 == 0; unit++) bytes /= 1024;
	return string_format("%lld%c", (long long)bytes, units[unit]);
}

static void show_limits(struct string *out, const struct view_limits *limits) {
	CLEANUP_STRINGS struct strings parts = {0};
	CLEANUP_FREE char *memory = format_size(limits->memory), *time = duration_format(limits->cpu_time_ms);
	if (limits->memory > 0) strings_addf(&parts, "memory: %s", memory);
	if (limits->processes > 0) strings_addf(&parts, "processes: %lld", (long long)limits->processes);
	if (limits->open_files > 0) strings_addf(&parts, "open-files: %lld", (long long)limits->open_files);
	if (limits->cpu_time_ms > 0) strings_addf(&parts, "cpu-time: %s", time);
	if (limits->kernel_aio) strings_add(&parts, "kernel-aio: true");
	if (parts.count == 0) return;
	string_append(out, "    limits: {");
	for (size_t i = 0; i < parts.count; i++) string_appendf(out, "%s%s", i > 0 ? ", " : "", parts.items[i]);
	string_append(out, "}\n");
}

/* A password is nobody's to see. */
static void show_upstream(struct string *out, const char *indent, const char *upstream) {
	if (!upstream) return;
	CLEANUP_FREE char *shown = upstream_shown(upstream);
	string_appendf(out, "%supstream: %s%s\n", indent, shown,
		       upstream_has_password(upstream) ? "  # and a user with a password" : "");
}

static void show_settings(struct showing *showing, const char *name) {
	CLEANUP(settings_finish) struct settings settings = SETTINGS_NONE;
	for (size_t d = 0; d < showing->count; d++) {
		const struct profile *profile = document_profile(showing->documents[d], name);
		if (profile) settings_merge(&settings, profile);
	}
	struct string *out = &showing->out;
	show_pairs(out, "env", &settings.set);
	show_pairs(out, "hosts", &settings.hosts);
	show_limits(out, &settings.limits);
	if (settings.home != SETTING_UNSET)
		string_appendf(out, "    home: %s\n", view_home_name((enum view_home)settings.home));
	if (settings.network != SETTING_UNSET)
		string_appendf(out, "    network: %s\n", view_network_name((enum view_network)settings.network));
	if (settings.doorbell != SETTING_UNSET)
		string_appendf(out, "    doorbell: %s\n", view_doorbell_name((enum view_doorbell)settings.doorbell));
	show_upstream(out, "    ", settings.upstream);
}

static void show_profile(struct showing *showing, const char *name) {
	string_appendf(&showing->out, "  %s:\n", name);
	size_t empty = showing->out.size;
	show_names(showing, "commands", name, offsetof(struct profile, commands));
	show_names(showing, "extends", name, offsetof(struct profile, extends));
	static const enum effect order[] = {EFFECT_ALLOW, EFFECT_ASK, EFFECT_DENY};
	for (size_t i = 0; i < ARRAY_LENGTH(order); i++) show_effect(showing, name, order[i]);
	show_settings(showing, name);
	if (showing->out.size > empty) return;
	showing->out.size--;
	string_append(&showing->out, " {}\n");
}

static void show_top(struct showing *showing, const struct policy *policy) {
	struct policy_prompt_settings prompt = policy_prompt_settings(policy);
	CLEANUP_FREE char *timeout = duration_format(prompt.timeout_ms);
	CLEANUP_FREE char *lifetime = duration_format(prompt.lifetime_ms);
	CLEANUP_FREE char *keep = duration_format(policy_history_keep_ms(policy));
	struct string *out = &showing->out;
	string_appendf(out, "version: 1\nprompt: {timeout: %s, lifetime: %s, without-agent: %s}\nhistory: {keep: %s}\n",
		       timeout, lifetime, prompt.wait_without_agent ? "wait" : "deny", keep);
	append_list(out, "", "quiet", policy_quiet(policy));
	show_upstream(out, "", policy_upstream(policy));
	CLEANUP_STRINGS struct strings shown = {0};
	for (size_t d = 0; d < showing->count; d++) {
		const struct pairs *own = &showing->documents[d]->permissions;
		for (size_t i = 0; i < own->count; i++) {
			if (strings_contain(&shown, own->items[i].name)) continue;
			if (shown.count == 0) string_append(out, "permissions:\n");
			strings_add(&shown, own->items[i].name);
			string_appendf(out, "  %s: ", own->items[i].name);
			policy_append_quoted(out, own->items[i].value);
			string_append_char(out, '\n');
		}
	}
}

char *policy_show(const struct policy *policy) {
	CLEANUP_STRINGS struct strings names = {0};
	struct showing showing = {0};
	showing.documents = policy_documents(policy, &showing.count);
	show_top(&showing, policy);
	policy_profile_names(policy, &names);
	string_append(&showing.out, names.count > 0 ? "profiles:\n" : "profiles: {}\n");
	for (size_t i = 0; i < names.count; i++) show_profile(&showing, names.items[i]);
	return string_steal(&showing.out);
}
