#include "leads.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "schema/limits.h"
#include "sticky.h"

struct leads {
	const struct ruleset_follow *follow;
	struct rule_lead *items; /* by place, each once */
	size_t count;
	size_t left_out;
	char *origin; /* of the first that is left out */
	bool current; /* at the last look, and */
	int64_t due;  /* until then */
};

static bool is_root(const char *path) {
	return strcmp(path, "/") == 0;
}

/* Looking */

/* Each has its share of what is left, and some in any case: most need little. *given_up[i]: it was too little. */
static size_t look_at_group(const struct leads *leads, bool project, char **ret_there, bool *ret_given_up) {
	size_t left = LIMIT_LEAD_LOOKS, waiting = 0;
	for (size_t i = 0; i < leads->count; i++) waiting += leads->items[i].project == project;
	for (size_t i = 0; i < leads->count; i++) {
		const struct rule_lead *lead = &leads->items[i];
		if (lead->project != project) continue;
		size_t share = left / waiting--;
		if (share < LIMIT_LEAD_LEAST) share = left < LIMIT_LEAD_LEAST ? left : LIMIT_LEAD_LEAST;
		size_t rest = share;
		if (share > 0) ret_there[i] = leads->follow->path(leads->follow->context, lead->place, &rest);
		ret_given_up[i] = rest == 0;
		left -= share - rest;
	}
	return LIMIT_LEAD_LOOKS - left;
}

/* What took many looks is looked at again after as many seconds as it would take at LIMIT_LEAD_RATE. */
static void look(struct leads *leads, char **ret_there, bool *ret_given_up) {
	const size_t spent = look_at_group(leads, false, ret_there, ret_given_up) +
			     look_at_group(leads, true, ret_there, ret_given_up);
	leads->due = leads->follow->moment + 1 + (int64_t)(spent / LIMIT_LEAD_RATE) * 1000;
}

bool leads_are_current(struct leads *leads) {
	if (!leads || leads->count == 0 || leads->follow->moment < leads->due) return !leads || leads->current;
	CLEANUP_FREE char **there = mem_array(char *, leads->count);
	CLEANUP_FREE bool *given_up = mem_array(bool, leads->count);
	look(leads, there, given_up);
	leads->current = true;
	for (size_t i = 0; i < leads->count; i++) {
		leads->current &= string_equal(there[i], leads->items[i].there);
		free(there[i]);
	}
	return leads->current;
}

/* Making */

static int compare_leads(const void *a, const void *b) {
	const struct rule_lead *x = a, *y = b;
	const int order = strcmp(x->place, y->place);
	return order != 0 ? order : (int)x->project - (int)y->project;
}

static int compare_place(const void *place, const void *lead) {
	return strcmp(place, ((const struct rule_lead *)lead)->place);
}

/* What a denial of files names before any wildcard; NULL: nothing that could be a link. */
static char *place_of(const struct rule *rule) {
	if (rule->effect != EFFECT_DENY || !permission_is_of_files(&rule->permission)) return NULL;
	CLEANUP_FREE char *place = pattern_fixed_target(pattern_text(rule->pattern));
	return *place && !is_root(place) ? STEAL(place) : NULL;
}

/* One that the user's own rules name, too, is no project's. */
static void drop_doubles(struct leads *leads) {
	size_t kept = 0;
	for (size_t i = 0; i < leads->count; i++) {
		if (kept > 0 && strcmp(leads->items[kept - 1].place, leads->items[i].place) == 0)
			free(leads->items[i].place);
		else
			leads->items[kept++] = leads->items[i];
	}
	leads->count = kept;
}

static void collect(struct leads *leads, const struct rule *rules, size_t count) {
	for (size_t i = 0; i < count; i++) {
		char *place = place_of(&rules[i]);
		if (!place) continue;
		leads->items = array_grow(leads->items, leads->count, sizeof *leads->items);
		leads->items[leads->count++] =
			(struct rule_lead){.place = place, .project = rules[i].layer == POLICY_LAYER_PROJECT};
	}
	if (leads->count > 0) qsort(leads->items, leads->count, sizeof *leads->items, compare_leads);
	drop_doubles(leads);
}

static void leave_out(struct leads *leads, const struct rule *rule) {
	if (leads->left_out++ == 0) leads->origin = string_copy(rule->origin);
}

static int compile(const struct rule *rule, const char *there, struct pattern **ret_pattern) {
	static const struct pattern_scope nothing = {.home = NULL};
	const char *text = pattern_text(rule->pattern), *rest = text + pattern_fixed_part(text, NULL);
	CLEANUP_FREE char *quoted = pattern_quote(&rule->permission, there);
	CLEANUP_FREE char *moved = string_format("%s%s", is_root(there) && *rest ? "" : quoted, rest);
	return pattern_compile(&rule->permission, moved, &nothing, ret_pattern, NULL);
}

static void add_led(struct leads *leads, const struct rule *rule, const struct rule_lead *lead, struct rule *rules,
		    size_t *count) {
	struct rule led = *rule;
	if (compile(rule, lead->there, &led.pattern) < 0) {
		leave_out(leads, rule);
		return;
	}
	led.lead = lead;
	led.named = string_copy(pattern_text(rule->pattern));
	led.profile = string_copy(rule->profile);
	led.origin = string_copy(rule->origin);
	rules[(*count)++] = led;
}

static void add_all(struct leads *leads, const bool *given_up, struct rule *rules, size_t *count) {
	const size_t written = *count;
	for (size_t i = 0; i < written; i++) {
		CLEANUP_FREE char *place = place_of(&rules[i]);
		if (!place) continue;
		const struct rule_lead *lead =
			bsearch(place, leads->items, leads->count, sizeof *leads->items, compare_place);
		if (given_up[lead - leads->items]) leave_out(leads, &rules[i]);
		if (lead->there) add_led(leads, &rules[i], lead, rules, count);
	}
}

struct leads *leads_new(const struct ruleset_follow *follow, struct rule **rules, size_t *count) {
	if (!follow) return NULL;
	struct leads *leads = mem_new(struct leads);
	leads->follow = follow;
	leads->current = true;
	collect(leads, *rules, *count);
	if (leads->count == 0) return leads;
	CLEANUP_FREE char **there = mem_array(char *, leads->count);
	CLEANUP_FREE bool *given_up = mem_array(bool, leads->count);
	look(leads, there, given_up);
	for (size_t i = 0; i < leads->count; i++) leads->items[i].there = there[i];
	*rules = mem_resize(*rules, *count * 2, sizeof **rules);
	add_all(leads, given_up, *rules, count);
	return leads;
}

void leads_free(struct leads *leads) {
	if (!leads) return;
	for (size_t i = 0; i < leads->count; i++) {
		free(leads->items[i].place);
		free(leads->items[i].there);
	}
	free(leads->items);
	free(leads->origin);
	free(leads);
}

size_t leads_left_out(const struct leads *leads, const char **ret_origin) {
	*ret_origin = leads ? leads->origin : NULL;
	return leads ? leads->left_out : 0;
}

char *rule_lead_name(const struct rule_lead *lead, const char *target) {
	const char *rest = is_root(lead->there) ? target : target + strlen(lead->there);
	return string_format("%s%s", lead->place, is_root(rest) ? "" : rest);
}
