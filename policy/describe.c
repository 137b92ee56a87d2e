/*
 * What a project's file says, in words, for the one who is to trust it. What widens comes first, over all profiles;
 * denials, which count anyway, come last.
 */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "describe.h"
#include "schema/pattern.h"

enum { TARGET_COLUMNS_LEAST = 12 };

/* Spaces that would push what follows out of sight: each of a run, and those at an end. */
static char *mark_spaces(const char *text) {
	struct string marked = {0};
	string_append(&marked, "");
	for (const char *at = text; *at; at++) {
		const bool run = at == text || at[-1] == ' ' || at[1] == ' ' || at[1] == '\0';
		string_append(&marked, *at == ' ' && run ? "␣" : (const char[]){*at, '\0'});
	}
	return string_steal(&marked);
}

char *describe_text(const char *text, size_t columns) {
	CLEANUP_FREE char *marked = mark_spaces(text);
	return columns > 0 ? text_visible_cut(marked, columns) : text_visible(marked);
}

static void describe_names(struct strings *lines, const char *what, const struct names *names) {
	CLEANUP_STRING struct string line = {0};
	for (size_t i = 0; i < names->count; i++) {
		CLEANUP_FREE char *shown = describe_text(names->items[i].text, 0);
		string_appendf(&line, "%s%s", i == 0 ? "" : ", ", shown);
	}
	if (names->count > 0) strings_addf(lines, "  %s: %s", what, line.data);
}

/* Letters of another alphabet may look like those of a name that is known: such a host is shown as it is looked up. */
static char *rule_target(const struct rule_text *rule) {
	static const struct pattern_scope nothing = {.home = NULL};
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	if (rule->permission.kind != PERMISSION_NET_ACCESS ||
	    pattern_compile(&rule->permission, rule->text, &nothing, &pattern, NULL) < 0)
		return string_copy(rule->text);
	return string_copy(pattern_text(pattern));
}

static char *rule_sentence(const struct rule_text *rule, const char *target) {
	static const char *const verbs[EFFECT_COUNT] = {
		[EFFECT_DENY] = "may not", [EFFECT_ASK] = "asks before it may", [EFFECT_ALLOW] = "may"};
	CLEANUP_FREE char *what = rule->effect == EFFECT_DENY ? permission_denial(&rule->permission, target)
							      : permission_sentence(&rule->permission, NULL, target);
	return string_format("%s %s%s (line %u)", verbs[rule->effect], what,
			     rule->confirm_terminal ? ", in a terminal" : "", rule->place.line);
}

char *describe_rule(const struct rule_text *rule, size_t columns) {
	CLEANUP_FREE char *target = rule_target(rule), *bare = rule_sentence(rule, "");
	const size_t taken = text_columns(bare) + TARGET_COLUMNS_LEAST;
	const size_t room = columns == 0      ? 0
			    : columns > taken ? columns - taken + TARGET_COLUMNS_LEAST
					      : TARGET_COLUMNS_LEAST;
	CLEANUP_FREE char *shown = describe_text(target, room);
	return rule_sentence(rule, shown);
}

static void describe_rules(struct strings *lines, const struct profile *profile, enum effect effect) {
	for (size_t i = 0; i < profile->rule_count; i++) {
		if (profile->rules[i].effect != effect) continue;
		CLEANUP_FREE char *sentence = describe_rule(&profile->rules[i], 0);
		strings_addf(lines, "  %s", sentence);
	}
}

static void describe_limits(struct strings *lines, const struct view_limits *limits) {
	CLEANUP_FREE char *time = duration_format(limits->cpu_time_ms);
	if (limits->memory > 0)
		strings_addf(lines, "  has at most %lld MiB of memory", (long long)limits->memory / (1024 * 1024));
	if (limits->processes > 0)
		strings_addf(lines, "  has at most %lld processes at once", (long long)limits->processes);
	if (limits->open_files > 0)
		strings_addf(lines, "  opens at most %lld files in a process", (long long)limits->open_files);
	if (limits->cpu_time_ms > 0) strings_addf(lines, "  has at most %s of the processor in a process", time);
	if (limits->kernel_aio) strings_add(lines, "  may use the kernel's asynchronous I/O (io_setup)");
}

void describe_settings(struct strings *lines, const struct profile *profile) {
	static const char *const homes[] = {
		[VIEW_HOME_EPHEMERAL] = "has an empty home directory, gone afterwards (home: ephemeral)",
		[VIEW_HOME_OWN] = "keeps a home directory of its own from run to run (home: own)",
		[VIEW_HOME_PROJECT] = "keeps a home directory of its own for each project (home: project)",
		[VIEW_HOME_HIDDEN] = "has no home directory (home: hidden)",
	};
	static const char *const networks[] = {
		[VIEW_NETWORK_NATIVE] = "connects by name, each connection held until it is decided (network: native)",
		[VIEW_NETWORK_PROXY] = "connects through sbx's proxy alone (network: proxy)",
		[VIEW_NETWORK_NONE] = "has no network (network: none)",
		[VIEW_NETWORK_HOST] = "has the host's network, without any rule (network: host)",
	};
	describe_names(lines, "is picked by the commands", &profile->commands);
	describe_names(lines, "has all that these profiles have", &profile->extends);
	for (size_t i = 0; i < profile->set.count; i++) {
		CLEANUP_FREE char *value = describe_text(profile->set.items[i].value, 0);
		strings_addf(lines, "  sets the variable %s to %s", profile->set.items[i].name, value);
	}
	describe_limits(lines, &profile->limits);
	if (profile->home != SETTING_UNSET) strings_addf(lines, "  %s", homes[profile->home]);
	if (profile->network != SETTING_UNSET) strings_addf(lines, "  %s", networks[profile->network]);
	if (profile->doorbell != SETTING_UNSET)
		strings_addf(lines, "  is asked about hidden files in its own way (doorbell: %s)",
			     view_doorbell_name((enum view_doorbell)profile->doorbell));
}

/* Its denials, or all else; without a heading where there is nothing. */
static void describe_profile(struct strings *lines, const struct profile *profile, bool denials) {
	CLEANUP_STRINGS struct strings own = {0};
	if (denials) {
		describe_rules(&own, profile, EFFECT_DENY);
	} else {
		describe_rules(&own, profile, EFFECT_ALLOW);
		describe_rules(&own, profile, EFFECT_ASK);
		describe_settings(&own, profile);
	}
	if (own.count > 0) strings_addf(lines, "profile %s", profile->name);
	for (size_t i = 0; i < own.count; i++) strings_add(lines, own.items[i]);
}

void policy_document_describe(const struct policy_document *document, struct strings *lines) {
	for (size_t i = 0; i < document->permissions.count; i++) {
		CLEANUP_FREE char *text = describe_text(document->permissions.items[i].value, 0);
		strings_addf(lines, "permission %s: %s", document->permissions.items[i].name, text);
	}
	for (int denials = 0; denials <= 1; denials++)
		for (size_t i = 0; i < document->profile_count; i++)
			describe_profile(lines, &document->profiles[i], denials);
}

/* In short */

unsigned describe_narrowness(const struct rule_text *rule) {
	static const char project[] = "${project}";
	const char *text = rule->text;
	unsigned parts = strcmp(text, "*") == 0 || strcmp(text, "/") == 0 ? 0 : *text == '*' ? 1 : 2;
	if (string_starts(text, project)) parts += UINT_MAX / 4;
	for (const char *at = text; *at; at++) parts += *at == '/' && at[1] != '\0';
	return rule->effect == EFFECT_ALLOW ? parts : parts + UINT_MAX / 2;
}

struct summary {
	size_t widening, denials, settings;
	const struct rule_text *widest[PERMISSION_KIND_COUNT];
};

static void summarize(struct summary *summary, const struct profile *profile) {
	CLEANUP_STRINGS struct strings settings = {0};
	describe_settings(&settings, profile);
	summary->settings += settings.count;
	for (size_t i = 0; i < profile->rule_count; i++) {
		const struct rule_text *rule = &profile->rules[i], **widest = &summary->widest[rule->permission.kind];
		if (rule->effect == EFFECT_DENY) {
			summary->denials++;
			continue;
		}
		summary->widening++;
		if (!*widest || describe_narrowness(rule) < describe_narrowness(*widest)) *widest = rule;
	}
}

static void append_count(struct string *out, size_t count, const char *one, const char *many) {
	string_appendf(out, "%s%zu %s", out->size > 0 ? ", " : "", count, count == 1 ? one : many);
}

char *policy_document_summary(const struct policy_document *document) {
	static const enum permission_kind order[] = {PERMISSION_FS_WRITE, PERMISSION_PROC_SPAWN, PERMISSION_FS_LINK,
						     PERMISSION_FS_READ,  PERMISSION_NET_ACCESS, PERMISSION_IPC_CONNECT,
						     PERMISSION_ENV_READ, PERMISSION_NET_LISTEN, PERMISSION_CUSTOM};
	static_assert(ARRAY_LENGTH(order) == PERMISSION_KIND_COUNT, "the widest of each permission is said");
	struct summary summary = {.settings = document->permissions.count};
	struct string out = {0};
	for (size_t i = 0; i < document->profile_count; i++) summarize(&summary, &document->profiles[i]);
	append_count(&out, summary.widening, "rule that allows or asks", "rules that allow or ask");
	append_count(&out, summary.settings, "setting", "settings");
	append_count(&out, summary.denials, "denial", "denials");
	if (summary.widening > 0) string_append(&out, "; the widest: ");
	bool first = true;
	for (size_t i = 0; i < ARRAY_LENGTH(order); i++) {
		if (!summary.widest[order[i]]) continue;
		CLEANUP_FREE char *sentence = describe_rule(summary.widest[order[i]], 0);
		string_appendf(&out, "%s%s", first ? "" : "; ", sentence);
		first = false;
	}
	return string_steal(&out);
}
