/*
 * Suggestions against each other.
 *
 * A rule of the user's file holds in every project of its profile, an answer in one: so what was denied in another
 * project is no rule that allows. All else that is compared is of one profile and one project.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "parts.h"
#include "pattern.h"
#include "schema/limits.h"

static bool same_place(const struct suggestion *a, const struct suggestion *b) {
	return string_equal(a->profile, b->profile) && string_equal(a->project, b->project);
}

/* Who may write may read, and what may not be read may not be written. */
static bool implies(const struct suggestion *outer, const struct suggestion *inner) {
	return outer->effect == EFFECT_ALLOW ? permission_includes(&outer->permission, &inner->permission)
					     : permission_includes(&inner->permission, &outer->permission);
}

/* Of the same profile and project, may a rule for `outer` stand for `inner`, whose permission it has or implies? */
static bool suggestion_covers(const struct suggestion *outer, const struct suggestion *inner) {
	return same_place(outer, inner) && implies(outer, inner) && outer->compiled && inner->compiled &&
	       suggest_pattern_covers(&inner->permission, outer->compiled, inner->compiled);
}

/* Answers that were not the last word */

static void weigh_answers(struct suggestion *older, const struct suggestion *newer) {
	if (older->basis != SUGGESTION_ANSWERED || newer->basis != SUGGESTION_ANSWERED || newer->revoked_ms != 0 ||
	    older->last_ms > newer->last_ms || older->effect == newer->effect || !same_place(older, newer))
		return;
	bool same = permission_equal(&older->permission, &newer->permission) &&
		    string_equal(older->pattern, newer->pattern);
	/* A denial for once is over as soon as more is allowed. */
	bool over = older->effect == EFFECT_DENY && older->lifetime == LIFETIME_ONCE && suggestion_covers(newer, older);
	if (same || over)
		suggestion_leave_out(older, "you %s it later", newer->effect == EFFECT_ALLOW ? "allowed" : "denied");
}

/* What nobody answered, and an answer covers. */
static void weigh_open(struct suggestion *open, const struct suggestion *other) {
	if (open->basis == SUGGESTION_ANSWERED || other->basis > open->basis || other == open) return;
	bool speaks = suggestion_is_rule(other) || open->basis == SUGGESTION_OPEN;
	if (speaks && other->basis != SUGGESTION_OPEN && suggestion_covers(other, open)) open->covered = true;
}

static void weigh_elsewhere(struct suggest *suggest, struct suggestion *allowed, const struct suggestion *denied) {
	if (!suggestion_is_rule(allowed) || !suggestion_is_rule(denied) || allowed->effect != EFFECT_ALLOW ||
	    denied->effect != EFFECT_DENY || !string_equal(allowed->profile, denied->profile) ||
	    string_equal(allowed->project, denied->project) || !implies(denied, allowed))
		return;
	const struct pattern_scope there = suggest_scope(suggest, denied->project);
	CLEANUP_PATTERN struct pattern *meant = NULL;
	if (pattern_compile(&allowed->permission, allowed->text, &there, &meant, NULL) < 0) return;
	CLEANUP_FREE char *sample = suggest_pattern_sample(&allowed->permission, meant);
	if (!pattern_match(denied->compiled, sample, NULL)) return;
	CLEANUP_FREE char *shown = text_visible_cut(denied->project, 80);
	suggestion_leave_out(allowed, "you denied it in %s, and a rule holds in every project", shown);
}

void suggest_weigh(struct suggest *suggest) {
	struct suggestion *items = suggest->items;
	for (size_t i = 0; i < suggest->count; i++)
		for (size_t k = 0; k < suggest->count; k++)
			if (i != k) weigh_answers(&items[i], &items[k]);
	for (size_t i = 0; i < suggest->count; i++)
		for (size_t k = 0; k < suggest->count; k++) weigh_open(&items[i], &items[k]);
	for (size_t i = 0; i < suggest->count; i++)
		for (size_t k = 0; k < suggest->count; k++) weigh_elsewhere(suggest, &items[i], &items[k]);
}

/* What another rule says already */

static bool is_allow(const struct suggestion *suggestion) {
	return suggestion_is_rule(suggestion) && suggestion->effect == EFFECT_ALLOW;
}

static bool has_denial_within(const struct suggest *suggest, const struct suggestion *allowed) {
	for (size_t i = 0; i < suggest->count; i++) {
		const struct suggestion *item = &suggest->items[i];
		if (suggestion_is_rule(item) && item->effect == EFFECT_DENY && same_place(item, allowed) &&
		    suggest_permissions_related(&item->permission, &allowed->permission) &&
		    suggest_patterns_overlap(&item->permission, allowed->compiled, item->compiled))
			return true;
	}
	return false;
}

static void drop_covered(struct suggest *suggest) {
	for (size_t i = 0; i < suggest->count; i++) {
		struct suggestion *wide = &suggest->items[i];
		if (!is_allow(wide) || wide->basis != SUGGESTION_ANSWERED || has_denial_within(suggest, wide)) continue;
		for (size_t k = 0; k < suggest->count; k++) {
			struct suggestion *item = &suggest->items[k];
			if (k == i || !is_allow(item) || (item->private_allowed && !wide->private_allowed) ||
			    !suggestion_covers(wide, item))
				continue;
			item->covered = true;
			wide->asked += item->asked;
			wide->used += item->used;
			if (item->last_ms > wide->last_ms) wide->last_ms = item->last_ms;
		}
	}
}

/* A repeated denial is for a rule that would lift it. */
static bool is_needed(const struct suggest *suggest, const struct suggestion *kept) {
	for (size_t i = 0; i < suggest->count; i++) {
		const struct suggestion *item = &suggest->items[i];
		if (is_allow(item) && same_place(item, kept) &&
		    suggest_permissions_related(&item->permission, &kept->permission) &&
		    suggest_patterns_overlap(&kept->permission, item->compiled, kept->compiled))
			return true;
	}
	return false;
}

/* The order, and the end */

static int by_place(const void *a, const void *b) {
	const struct suggestion *left = a, *right = b;
	int order = strcmp(left->profile, right->profile);
	if (order == 0) order = (int)right->effect - (int)left->effect; /* allow first */
	if (order == 0) order = (int)left->permission.kind - (int)right->permission.kind;
	if (order == 0) order = strcmp(left->permission.name, right->permission.name);
	if (order == 0) order = (int)left->basis - (int)right->basis;
	if (order == 0)
		order = strcmp(left->text ? left->text : left->pattern, right->text ? right->text : right->pattern);
	return order == 0 ? strcmp(left->project, right->project) : order;
}

/* One line for what was said in several projects. */
static void join_projects(struct suggest *suggest) {
	struct suggestion *first = NULL;
	for (size_t i = 0; i < suggest->count; i++) {
		struct suggestion *item = &suggest->items[i];
		if (!suggestion_is_rule(item)) continue;
		bool same = first && string_equal(first->profile, item->profile) && first->effect == item->effect &&
			    permission_equal(&first->permission, &item->permission) && first->basis == item->basis &&
			    string_equal(first->text, item->text) && first->private_allowed == item->private_allowed;
		if (!same) {
			first = item;
			continue;
		}
		item->covered = true;
		strings_add(&first->elsewhere, item->project);
		suggestion_join(first, item);
	}
}

static int by_weight(const void *a, const void *b) {
	const struct suggestion *left = *(struct suggestion *const *)a, *right = *(struct suggestion *const *)b;
	if (left->basis != right->basis) return (int)left->basis - (int)right->basis;
	return (left->last_ms < right->last_ms) - (left->last_ms > right->last_ms);
}

/* Of allows as many as may be shown, what was answered before what wasn't. All denials stay: without one of them an
 * allow could be wider than what was allowed. */
static void cut_allows(struct suggest *suggest) {
	CLEANUP_FREE struct suggestion **allows = mem_alloc(suggest->count + 1, sizeof(void *));
	size_t count = 0;
	for (size_t i = 0; i < suggest->count; i++)
		if (is_allow(&suggest->items[i])) allows[count++] = &suggest->items[i];
	if (count <= LIMIT_SUGGESTIONS) return;
	qsort(allows, count, sizeof(void *), by_weight);
	for (size_t i = LIMIT_SUGGESTIONS; i < count; i++) allows[i]->covered = true;
	suggest->left += count - LIMIT_SUGGESTIONS;
}

void suggest_finish(struct suggest *suggest) {
	drop_covered(suggest);
	cut_allows(suggest);
	for (size_t i = 0; i < suggest->count; i++)
		if (suggest->items[i].basis == SUGGESTION_KEPT && !is_needed(suggest, &suggest->items[i]))
			suggest->items[i].covered = true;
	if (suggest->count > 0) qsort(suggest->items, suggest->count, sizeof *suggest->items, by_place);
	join_projects(suggest);
}
