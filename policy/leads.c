#include "leads.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "sticky.h"

static bool is_root(const char *path) {
	return strcmp(path, "/") == 0;
}

static bool is_of_files(const struct permission *permission) {
	return permission->kind == PERMISSION_FS_READ || permission->kind == PERMISSION_FS_WRITE;
}

/* Most rules of one place follow each other. */
static const char *find_there(struct leads *leads, const char *place) {
	const size_t last = leads->places.count - 1;
	if (leads->places.count > 0 && strcmp(leads->places.items[last], place) == 0) return leads->there.items[last];
	char *there = leads->follow->path(leads->follow->context, place);
	strings_add(&leads->places, place);
	strings_take(&leads->there, there ? there : string_copy(""));
	return leads->there.items[leads->there.count - 1];
}

static int compile(const struct rule *rule, const char *there, struct pattern **ret_pattern, struct error *error) {
	static const struct pattern_scope nothing = {.home = NULL};
	const char *text = pattern_text(rule->pattern), *rest = text + pattern_fixed_part(text, NULL);
	CLEANUP_FREE char *quoted = pattern_quote(&rule->permission, there);
	CLEANUP_FREE char *moved = string_format("%s%s", is_root(there) && *rest ? "" : quoted, rest);
	const int r = pattern_compile(&rule->permission, moved, &nothing, ret_pattern, error);
	return r < 0 ? error_prefix(error, "%s, where it leads by a link", rule->origin) : 0;
}

static int make_led(const struct rule *rule, const char *place, const char *there, struct rule *ret_led,
		    struct error *error) {
	struct pattern *pattern;
	int r = compile(rule, there, &pattern, error);
	if (r < 0) return r;
	const struct rule_lead lead = {string_copy(pattern_text(rule->pattern)), string_copy(place),
				       string_copy(there)};
	*ret_led = *rule;
	ret_led->pattern = pattern;
	ret_led->lead = mem_copy(&lead, sizeof lead);
	ret_led->profile = string_copy(rule->profile);
	ret_led->origin = string_copy(rule->origin);
	return 0;
}

int leads_add(struct leads *leads, const struct ruleset_follow *follow, struct rule **rules, size_t *count,
	      struct error *error) {
	const size_t written = follow ? *count : 0;
	int r = 0;
	leads->follow = follow;
	if (written > 0) *rules = mem_resize(*rules, written * 2, sizeof **rules);
	for (size_t i = 0; r == 0 && i < written; i++) {
		const struct rule *rule = &(*rules)[i];
		if (rule->effect != EFFECT_DENY || !is_of_files(&rule->permission)) continue;
		CLEANUP_FREE char *place = pattern_fixed_target(pattern_text(rule->pattern));
		const char *there = *place && !is_root(place) ? find_there(leads, place) : "";
		if (!*there) continue;
		r = make_led(rule, place, there, &(*rules)[*count], error);
		*count += r == 0;
	}
	return r;
}

bool leads_are_current(const struct leads *leads) {
	bool same = true;
	for (size_t i = 0; same && i < leads->places.count; i++) {
		CLEANUP_FREE char *there = leads->follow->path(leads->follow->context, leads->places.items[i]);
		same = strcmp(there ? there : "", leads->there.items[i]) == 0;
	}
	return same;
}

void leads_finish(struct leads *leads) {
	strings_finish(&leads->places);
	strings_finish(&leads->there);
}

void rule_lead_free(struct rule_lead *lead) {
	if (!lead) return;
	free(lead->text);
	free(lead->place);
	free(lead->there);
	free(lead);
}

char *rule_lead_name(const struct rule_lead *lead, const char *target) {
	const char *rest = is_root(lead->there) ? target : target + strlen(lead->there);
	return string_format("%s%s", lead->place, is_root(rest) ? "" : rest);
}
