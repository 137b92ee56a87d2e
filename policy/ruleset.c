#include "policy/ruleset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "base/text.h"
#include "contest.h"
#include "index.h"
#include "leads.h"
#include "lineage.h"
#include "policy_parts.h"
#include "ruleset_parts.h"
#include "schema/limits.h"
#include "schema/upstream.h"
#include "sticky.h"
#include "yaml/problems.h"

struct ruleset {
	unsigned references;
	struct policy *policy;
	char *profile;
	struct rule *rules;
	size_t count;
	struct leads *leads; /* or NULL */
	struct rule_index *index;
	struct bare_modes *bare;
	struct settings settings;
};

/* One profile of one document, in the order in which they are preferred. */
struct source {
	const struct policy_document *document;
	const struct profile *profile;
	unsigned distance;
	bool denials; /* nothing else of it counts */
};

struct sources {
	struct source *items;
	size_t count;
};

static void sources_finish(struct sources *sources) {
	free(sources->items);
}

static void sources_add(struct sources *sources, struct source source) {
	sources->items = array_grow(sources->items, sources->count, sizeof *sources->items);
	sources->items[sources->count++] = source;
}

static void sources_collect(struct sources *sources, const struct policy *policy, const struct lineage *lineage) {
	size_t count;
	struct policy_document *const *documents = policy_documents(policy, &count);
	for (size_t d = 0; d < count; d++) {
		for (size_t i = 0; i < lineage->count; i++) {
			const struct profile *profile = document_profile(documents[d], lineage->names[i]);
			if (!profile) continue;
			sources_add(sources, (struct source){documents[d], profile, (unsigned)i, false});
		}
	}
}

/* What an administrator denies in base holds for profiles that don't rest on it, too. */
static void sources_collect_denials(struct sources *sources, const struct policy *policy,
				    const struct lineage *lineage) {
	size_t count;
	struct policy_document *const *documents = policy_documents(policy, &count);
	for (size_t i = 0; i < lineage->count; i++)
		if (strcmp(lineage->names[i], POLICY_BASE) == 0) return;
	for (size_t d = 0; d < count && documents[d]->layer == POLICY_LAYER_ADMIN; d++) {
		const struct profile *base = document_profile(documents[d], POLICY_BASE);
		if (base) sources_add(sources, (struct source){documents[d], base, (unsigned)lineage->count, true});
	}
}

static bool source_has(const struct source *source, const struct rule_text *text) {
	return !source->denials || text->effect == EFFECT_DENY;
}

/* The masks and sensitive places of the profile that all others rest on. Of sockets those that anybody may answer for
 * (all of the home's) are none: it asks about them as about whatever no other rule names. */
static bool is_sticky(const struct source *source, const struct rule_text *text) {
	if (source->document->layer != POLICY_LAYER_BUILTIN || strcmp(source->profile->name, POLICY_BASE) != 0)
		return false;
	if (permission_is_of_files(&text->permission)) return text->effect != EFFECT_ALLOW;
	return text->permission.kind == PERMISSION_IPC_CONNECT &&
	       (text->effect == EFFECT_DENY || text->confirm_terminal);
}

/*
 * Whoever replaces one of base's sensitive places by a question is asked in a terminal: any program on the session bus
 * could press a notification's button. A rule that ends above such a place doesn't reach it (sticky.h).
 */
static void rule_guard(const struct rule_index *index, struct rule *rule) {
	if (rule->effect != EFFECT_ASK || rule->sticky || !permission_is_of_path(&rule->permission)) return;
	CLEANUP_FREE char *place = pattern_fixed_target(pattern_text(rule->pattern));
	const struct rule *sticky = contest_sticky(index, &rule->permission, place).rule;
	if (!sticky || sticky->effect != EFFECT_DENY) return;
	rule->guarded = sticky;
	rule->confirm_terminal = true;
}

/* For how many folders the rule stands. */
static size_t count_places(const struct rule_text *text, const struct pattern_scope *scope) {
	return scope->roots && strstr(text->text, "${root}") ? scope->roots->count : 1;
}

static int rule_compile(const struct source *source, const struct rule_text *text, const struct pattern_scope *scope,
			struct rule *ret_rule, struct error *error) {
	struct pattern_scope anchored = *scope;
	anchored.relative_anywhere = text->effect != EFFECT_ALLOW;
	*ret_rule = (struct rule){
		.permission = text->permission,
		.effect = text->effect,
		.layer = source->document->layer,
		.sticky = is_sticky(source, text),
		.confirm_terminal = text->confirm_terminal,
		.private_allowed = text->private_allowed,
		.direct = text->direct,
		.per_project = text->per_project,
		.distance = source->distance,
		.note = text->note,
	};
	int r = pattern_compile(&text->permission, text->text, &anchored, &ret_rule->pattern, error);
	if (r < 0) return error_prefix(error, "%s:%u:%u", source->profile->file, text->place.line, text->place.column);
	ret_rule->private_allowed |= pattern_names_address(ret_rule->pattern);
	ret_rule->profile = string_copy(source->profile->name);
	ret_rule->origin = string_format("%s:%u", source->profile->file, text->place.line);
	return 0;
}

/* Once for each folder that ${root} stands for. */
static int rule_compile_all(struct ruleset *ruleset, const struct source *source, const struct rule_text *text,
			    const struct pattern_scope *scope, struct error *error) {
	const size_t places = count_places(text, scope);
	struct pattern_scope each = *scope;
	for (size_t i = 0; i < places; i++) {
		if (scope->roots && i < scope->roots->count) each.root = scope->roots->items[i];
		int r = rule_compile(source, text, &each, &ruleset->rules[ruleset->count], error);
		if (r < 0) return r;
		ruleset->count++;
	}
	return 0;
}

static int rules_compile(struct ruleset *ruleset, const struct sources *sources, const struct pattern_scope *scope,
			 struct error *error) {
	size_t total = 0, files = 0;
	for (size_t s = 0; s < sources->count; s++) {
		const struct profile *profile = sources->items[s].profile;
		for (size_t i = 0; i < profile->rule_count; i++) {
			const size_t places = count_places(&profile->rules[i], scope);
			total += places;
			files += permission_is_of_files(&profile->rules[i].permission) ? places : 0;
		}
	}
	if (total > LIMIT_RULES)
		return error_set(error, E2BIG,
				 "the profile %s has %zu rules with all that it extends, at most %d are allowed",
				 ruleset->profile, total, LIMIT_RULES);
	/* Each may become a path of the view. */
	if (files > LIMIT_VIEW_PATHS)
		return error_set(
			error, E2BIG,
			"the profile %s has %zu rules for files with all that it extends, at most %d are allowed",
			ruleset->profile, files, LIMIT_VIEW_PATHS);
	ruleset->rules = mem_array(struct rule, total);
	for (size_t s = 0; s < sources->count; s++) {
		const struct profile *profile = sources->items[s].profile;
		for (size_t i = 0; i < profile->rule_count; i++) {
			if (!source_has(&sources->items[s], &profile->rules[i])) continue;
			int r = rule_compile_all(ruleset, &sources->items[s], &profile->rules[i], scope, error);
			if (r < 0) return r;
		}
	}
	return 0;
}

static void pairs_merge(struct pairs *into, const struct pairs *from) {
	for (size_t i = 0; i < from->count; i++) {
		if (pairs_find(into, from->items[i].name)) continue;
		into->items = array_grow(into->items, into->count, sizeof *into->items);
		into->items[into->count++] = from->items[i];
	}
}

void settings_merge(struct settings *settings, const struct profile *profile) {
	if (settings->home == SETTING_UNSET) settings->home = profile->home;
	if (settings->network == SETTING_UNSET) settings->network = profile->network;
	if (settings->doorbell == SETTING_UNSET) settings->doorbell = profile->doorbell;
	if (!settings->upstream) settings->upstream = profile->upstream;
	if (settings->limits.memory == 0) settings->limits.memory = profile->limits.memory;
	if (settings->limits.processes == 0) settings->limits.processes = profile->limits.processes;
	if (settings->limits.open_files == 0) settings->limits.open_files = profile->limits.open_files;
	if (settings->limits.cpu_time_ms == 0) settings->limits.cpu_time_ms = profile->limits.cpu_time_ms;
	settings->limits.kernel_aio |= profile->limits.kernel_aio;
	pairs_merge(&settings->set, &profile->set);
	pairs_merge(&settings->hosts, &profile->hosts);
}

void settings_finish(struct settings *settings) {
	free(settings->set.items);
	free(settings->hosts.items);
}

static void settings_collect(struct settings *settings, const struct sources *sources) {
	*settings = SETTINGS_NONE;
	for (size_t s = 0; s < sources->count; s++)
		if (!sources->items[s].denials) settings_merge(settings, sources->items[s].profile);
	if (settings->home == SETTING_UNSET) settings->home = VIEW_HOME_OWN;
	if (settings->network == SETTING_UNSET) settings->network = VIEW_NETWORK_NATIVE;
	if (settings->doorbell == SETTING_UNSET) settings->doorbell = VIEW_DOORBELL_AUTO;
}

static struct bare_modes *bare_modes_new(size_t count) {
	return mem_alloc(1, sizeof(struct bare_modes) + count * sizeof(struct bare_mode));
}

int ruleset_new(struct policy *policy, const char *profile, const struct pattern_scope *scope,
		const struct ruleset_follow *follow, struct ruleset **ret_ruleset, struct error *error) {
	struct lineage lineage;
	size_t count;
	struct policy_document *const *documents = policy_documents(policy, &count);
	int r = lineage_find(documents, count, profile, &lineage, error);
	if (r < 0) return r;
	CLEANUP(sources_finish) struct sources sources = {0};
	CLEANUP_RULESET struct ruleset *ruleset = mem_new(struct ruleset);
	ruleset->references = 1;
	ruleset->policy = policy_ref(policy);
	ruleset->profile = string_copy(profile);
	sources_collect(&sources, policy, &lineage);
	sources_collect_denials(&sources, policy, &lineage);
	r = rules_compile(ruleset, &sources, scope, error);
	if (r < 0) return r;
	ruleset->leads = leads_new(follow, &ruleset->rules, &ruleset->count);
	settings_collect(&ruleset->settings, &sources);
	ruleset->index = rule_index_new(ruleset->rules, ruleset->count);
	for (size_t i = 0; i < ruleset->count; i++) rule_guard(ruleset->index, &ruleset->rules[i]);
	ruleset->bare = bare_modes_new(ruleset->count);
	*ret_ruleset = STEAL(ruleset);
	return 0;
}

bool ruleset_is_current(const struct ruleset *ruleset) {
	return leads_are_current(ruleset->leads);
}

char *ruleset_warning(const struct ruleset *ruleset) {
	const char *first;
	const size_t count = leads_left_out(ruleset->leads, &first);
	if (count == 0) return NULL;
	SHOWN(origin, first);
	SHOWN(profile, ruleset->profile);
	return string_format("%zu denial%s of files in the profile %s hold%s by name alone and not where the name "
			     "leads by a link: there are too many links, or paths that are too long; the first is %s",
			     count, count == 1 ? "" : "s", profile, count == 1 ? "s" : "", origin);
}

struct ruleset *ruleset_new_empty(struct policy *policy, const char *profile) {
	struct ruleset *ruleset = mem_new(struct ruleset);
	const struct sources none = {0};
	ruleset->references = 1;
	ruleset->policy = policy_ref(policy);
	ruleset->profile = string_copy(profile);
	settings_collect(&ruleset->settings, &none);
	ruleset->index = rule_index_new(NULL, 0);
	ruleset->bare = bare_modes_new(0);
	return ruleset;
}

struct ruleset *ruleset_ref(struct ruleset *ruleset) {
	ruleset->references++;
	return ruleset;
}

void ruleset_unref(struct ruleset *ruleset) {
	if (!ruleset || --ruleset->references > 0) return;
	for (size_t i = 0; i < ruleset->count; i++) {
		pattern_free(ruleset->rules[i].pattern);
		free(ruleset->rules[i].named);
		free(ruleset->rules[i].profile);
		free(ruleset->rules[i].origin);
	}
	free(ruleset->rules);
	leads_free(ruleset->leads);
	rule_index_free(ruleset->index);
	free(ruleset->bare);
	settings_finish(&ruleset->settings);
	free(ruleset->profile);
	policy_unref(ruleset->policy);
	free(ruleset);
}

static const struct rule *winner_rule(struct winner winner, struct pattern_rank *ret_rank) {
	if (winner.rule && ret_rank) *ret_rank = winner.rank;
	return winner.rule;
}

const struct rule *ruleset_find(const struct ruleset *ruleset, const struct permission *permission, const char *target,
				struct pattern_rank *ret_rank) {
	return winner_rule(contest_decide(ruleset->index, permission, target), ret_rank);
}

const struct rule *ruleset_find_sticky(const struct ruleset *ruleset, const struct permission *permission,
				       const char *target, struct pattern_rank *ret_rank) {
	return winner_rule(contest_sticky(ruleset->index, permission, target), ret_rank);
}

const struct rule *ruleset_find_address(const struct ruleset *ruleset, const char *target) {
	return winner_rule(contest_address(ruleset->index, target), NULL);
}

struct port_visit {
	const char *host;
	void (*visit)(void *context, uint16_t first, uint16_t last);
	void *context;
};

static void visit_ports_of(void *context, const struct rule *rule) {
	const struct port_visit *visit = context;
	uint16_t first, last;
	if (pattern_ports(rule->pattern, visit->host, &first, &last)) visit->visit(visit->context, first, last);
}

void ruleset_visit_ports(const struct ruleset *ruleset, const char *host,
			 void (*visit)(void *context, uint16_t first, uint16_t last), void *context) {
	struct port_visit visiting = {host, visit, context};
	rule_index_visit_host(ruleset->index, host, visit_ports_of, &visiting);
}

const struct rule *ruleset_rules(const struct ruleset *ruleset, size_t *ret_count) {
	*ret_count = ruleset->count;
	return ruleset->rules;
}

const char *ruleset_profile(const struct ruleset *ruleset) {
	return ruleset->profile;
}

const struct policy *ruleset_policy(const struct ruleset *ruleset) {
	return ruleset->policy;
}

enum view_home ruleset_home(const struct ruleset *ruleset) {
	return (enum view_home)ruleset->settings.home;
}

const char *ruleset_upstream(const struct ruleset *ruleset) {
	const char *upstream = ruleset->settings.upstream;
	if (!upstream) upstream = policy_upstream(ruleset->policy);
	return upstream && strcmp(upstream, UPSTREAM_NONE) != 0 ? upstream : NULL;
}

enum view_network ruleset_network(const struct ruleset *ruleset) {
	return (enum view_network)ruleset->settings.network;
}

const struct view_pair *ruleset_hosts(const struct ruleset *ruleset, size_t *ret_count) {
	*ret_count = ruleset->settings.hosts.count;
	return ruleset->settings.hosts.items;
}

int ruleset_check_network(const struct ruleset *ruleset, struct error *error) {
	if (ruleset_network(ruleset) != VIEW_NETWORK_HOST) return 0;
	for (size_t i = 0; i < ruleset->count; i++) {
		const struct rule *rule = &ruleset->rules[i];
		if (rule->layer != POLICY_LAYER_ADMIN || rule->effect != EFFECT_DENY ||
		    !permission_is_of_net(&rule->permission))
			continue;
		SHOWN(profile, ruleset->profile);
		SHOWN(pattern, pattern_text(rule->pattern));
		return error_set(error, EPERM,
				 "the profile %s has `network: host`, with which nothing would keep the tool from what "
				 "an administrator denies, %s %s (%s): give it another network",
				 profile, rule->permission.name, pattern, rule->origin);
	}
	return 0;
}

struct bare_modes *ruleset_bare_modes(const struct ruleset *ruleset) {
	return ruleset->bare;
}

const struct settings *ruleset_settings(const struct ruleset *ruleset) {
	return &ruleset->settings;
}
