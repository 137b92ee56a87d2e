/*
 * Theory of operation
 *
 * Rows become things that were asked (asked.h), these suggestions: what a grant answered has the grant's
 * pattern, all else the very target. One thing is one suggestion a profile and project, however often it was asked.
 *
 * A suggestion is a rule unless something speaks against it, which is then its note: it was allowed once or for one run
 * only, the user took it back, nobody has said anything (but --record), or a file can't say it. order.c weighs
 * suggestions against each other; what the rules in force say of them is known to the broker and the command.
 */
#include "suggest/suggest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "parts.h"
#include "pattern.h"
#include "schema/limits.h"
#include "schema/target.h"

enum { KEPT_MOST = 64 }; /* denials in one rule that are repeated */

struct suggest *suggest_new(const char *home) {
	struct suggest *suggest = mem_new(struct suggest);
	suggest->home = string_copy(home);
	return suggest;
}

static void suggestion_finish(struct suggestion *suggestion) {
	free(suggestion->profile);
	free(suggestion->project);
	free(suggestion->pattern);
	free(suggestion->text);
	free(suggestion->target);
	pattern_free(suggestion->compiled);
	strings_finish(&suggestion->elsewhere);
	free(suggestion->rule);
	free(suggestion->left_out);
}

void suggest_free(struct suggest *suggest) {
	if (!suggest) return;
	asked_list_finish(&suggest->answered);
	asked_list_finish(&suggest->open);
	for (size_t i = 0; i < suggest->grant_id_count; i++) grant_finish(&suggest->grants[i]);
	for (size_t i = 0; i < suggest->count; i++) suggestion_finish(&suggest->items[i]);
	free(suggest->grant_ids);
	free(suggest->grants);
	free(suggest->items);
	free(suggest->home);
	free(suggest);
}

struct suggestion *suggest_items(struct suggest *suggest, size_t *ret_count) {
	*ret_count = suggest->count;
	return suggest->items;
}

size_t suggest_left(const struct suggest *suggest) {
	return suggest->left + suggest->answered.left + suggest->open.left;
}

struct pattern_scope suggest_scope(const struct suggest *suggest, const char *project) {
	return (struct pattern_scope){.home = suggest->home, .project = project, .uid = getuid()};
}

bool suggestion_is_rule(const struct suggestion *suggestion) {
	return !suggestion->left_out && !suggestion->decided && !suggestion->covered;
}

void suggestion_leave_out(struct suggestion *suggestion, const char *format, ...) {
	char why[ERROR_MESSAGE_MAX];
	va_list arguments;
	if (suggestion->left_out) return;
	va_start(arguments, format);
	vsnprintf(why, sizeof why, format, arguments);
	va_end(arguments);
	suggestion->left_out = string_copy(why);
}

/* Rows and grants */

void suggest_add_event(struct suggest *suggest, const struct event *event) {
	struct asked asked;
	if (!asked_of_event(event, &asked)) return;
	bool answered = asked.outcome == ASKED_GRANTED || asked.outcome == ASKED_DENIED;
	asked_list_add(answered ? &suggest->answered : &suggest->open, &asked);
}

static int compare_ids(const void *a, const void *b) {
	const int64_t *left = a, *right = b;
	return (*left > *right) - (*left < *right);
}

int64_t *suggest_grant_ids(struct suggest *suggest, size_t *ret_count) {
	const struct asked_list *answered = &suggest->answered;
	asked_list_settle(&suggest->answered);
	int64_t *ids = mem_array(int64_t, answered->count + 1);
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < answered->count; i++)
		if (answered->items[i].grant != 0) ids[count++] = answered->items[i].grant;
	qsort(ids, count, sizeof *ids, compare_ids);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || ids[kept - 1] != ids[i]) ids[kept++] = ids[i];
	free(suggest->grant_ids);
	suggest->grant_ids = mem_copy(ids, (count + 1) * sizeof *ids);
	suggest->grants = mem_array(struct grant, kept + 1);
	suggest->grant_id_count = *ret_count = kept;
	return ids;
}

static struct grant *find_grant(const struct suggest *suggest, int64_t id) {
	const int64_t *place =
		bsearch(&id, suggest->grant_ids, suggest->grant_id_count, sizeof *suggest->grant_ids, compare_ids);
	return place ? &suggest->grants[place - suggest->grant_ids] : NULL;
}

void suggest_add_grant(struct suggest *suggest, const struct grant *grant) {
	struct grant *place = suggest->grant_ids ? find_grant(suggest, grant->id) : NULL;
	if (place && place->id == 0) grant_copy(place, grant);
}

/* Suggestions */

/* A question at the start of a run is about a rule's pattern, all others about one target. */
static bool is_target(const struct permission *permission, const char *text) {
	CLEANUP_FREE char *target = NULL;
	return target_parse(permission, text, NULL, NULL, &target, NULL) == 0 && strcmp(target, text) == 0;
}

static struct suggestion *add(struct suggest *suggest, const struct suggestion *wish, const char *pattern) {
	const struct pattern_scope scope = suggest_scope(suggest, wish->project);
	suggest->items = array_grow(suggest->items, suggest->count, sizeof *suggest->items);
	struct suggestion *added = &suggest->items[suggest->count++];
	*added = *wish;
	added->profile = string_copy(wish->profile);
	added->project = string_copy(wish->project);
	if (pattern_compile(&wish->permission, pattern, &scope, &added->compiled, NULL) == 0)
		added->text = suggest_pattern_text(&wish->permission, pattern_text(added->compiled), &scope);
	added->target = added->compiled && !is_target(&wish->permission, wish->target)
				? suggest_pattern_sample(&wish->permission, added->compiled)
				: string_copy(wish->target);
	added->pattern = string_copy(added->compiled ? pattern_text(added->compiled) : pattern);
	if (!added->text) suggestion_leave_out(added, "a policy file can't say it");
	return added;
}

/* What was said for one call or one run was not meant to last, least of all without an end. */
static void leave_out_by_grant(struct suggestion *suggestion) {
	if (suggestion->revoked_ms != 0)
		suggestion_leave_out(suggestion, "you revoked it");
	else if (suggestion->effect == EFFECT_ALLOW && suggestion->lifetime == LIFETIME_ONCE)
		suggestion_leave_out(suggestion, "allowed for one call only");
	else if (suggestion->by_hand && suggestion->lifetime == LIFETIME_SESSION)
		suggestion_leave_out(suggestion, "said for one run only");
}

static void add_granted(struct suggest *suggest, const struct asked *asked) {
	const struct grant *grant = find_grant(suggest, asked->grant);
	if (!grant || grant->id == 0) {
		suggest->left++;
		return;
	}
	const struct suggestion wish = {.basis = SUGGESTION_ANSWERED,
					.profile = asked->profile,
					.project = asked->project,
					.permission = grant->permission,
					.effect = grant->effect,
					.target = asked->target,
					.asked = asked->asked,
					.used = asked->used,
					.last_ms = asked->last_ms,
					.by_hand = grant->origin != GRANT_ORIGIN_PROMPT,
					.lifetime = grant->lifetime,
					.ttl_ms = grant->expires_ms != 0 ? grant->expires_ms - grant->created_ms : 0,
					.revoked_ms = grant->revoked_ms};
	add(suggest, &wish, grant->pattern);
}

/* What nobody has allowed is suggested for one target alone; a folder is all that lies in it. */
static void leave_out_if_wide(const struct suggest *suggest, struct suggestion *suggestion, const struct asked *asked) {
	if (!is_target(&asked->permission, asked->target))
		suggestion_leave_out(suggestion, "it names more than one target");
	else if (permission_is_of_path(&asked->permission) && path_is_below(suggest->home, asked->target))
		suggestion_leave_out(suggestion, "all of your home lies in it");
}

static void add_exact(struct suggest *suggest, const struct asked *asked, enum suggestion_basis basis,
		      enum effect effect) {
	CLEANUP_FREE char *pattern = pattern_quote(&asked->permission, asked->target);
	const struct suggestion wish = {.basis = basis,
					.profile = asked->profile,
					.project = asked->project,
					.permission = asked->permission,
					.effect = effect,
					.target = asked->target,
					.asked = asked->asked,
					.last_ms = asked->last_ms,
					.lifetime = LIFETIME_ONCE};
	struct suggestion *added = add(suggest, &wish, pattern);
	if (basis == SUGGESTION_OPEN) suggestion_leave_out(added, "nobody has answered");
	if (basis == SUGGESTION_RECORDED) leave_out_if_wide(suggest, added, asked);
}

static bool was_recording(const struct suggest *suggest, int64_t session) {
	for (size_t i = 0; i < suggest->open.count; i++)
		if (suggest->open.items[i].outcome == ASKED_RECORDED && suggest->open.items[i].session == session)
			return true;
	return false;
}

static void add_asked(struct suggest *suggest, const struct asked *asked) {
	switch (asked->outcome) {
	case ASKED_GRANTED:
		add_granted(suggest, asked);
		break;
	case ASKED_DENIED:
		add_exact(suggest, asked, SUGGESTION_ANSWERED, EFFECT_DENY);
		break;
	case ASKED_RECORDED:
		add_exact(suggest, asked, SUGGESTION_RECORDED, EFFECT_ALLOW);
		break;
	case ASKED_OPEN:
		add_exact(suggest, asked, SUGGESTION_OPEN, EFFECT_ALLOW);
		break;
	case ASKED_UNDECIDED:
		if (was_recording(suggest, asked->session))
			add_exact(suggest, asked, SUGGESTION_RECORDED, EFFECT_ALLOW);
		break;
	}
}

static int by_thing(const void *a, const void *b) {
	const struct suggestion *left = a, *right = b;
	int order = strcmp(left->profile, right->profile);
	if (order == 0) order = strcmp(left->project, right->project);
	if (order == 0) order = strcmp(left->permission.name, right->permission.name);
	if (order == 0) order = (int)left->effect - (int)right->effect;
	if (order == 0) order = (int)left->basis - (int)right->basis;
	if (order == 0) order = strcmp(left->pattern, right->pattern);
	/* The newest first: what was done with it last counts. */
	return order == 0 ? (left->last_ms < right->last_ms) - (left->last_ms > right->last_ms) : order;
}

static bool is_same_thing(const struct suggestion *a, const struct suggestion *b) {
	return string_equal(a->profile, b->profile) && string_equal(a->project, b->project) &&
	       permission_equal(&a->permission, &b->permission) && a->effect == b->effect && a->basis == b->basis &&
	       string_equal(a->pattern, b->pattern);
}

void suggestion_join(struct suggestion *suggestion, const struct suggestion *other) {
	suggestion->asked += other->asked;
	suggestion->used += other->used;
	suggestion->by_hand = suggestion->by_hand && other->by_hand;
	if (other->lifetime > suggestion->lifetime) suggestion->lifetime = other->lifetime;
	if (other->ttl_ms > suggestion->ttl_ms) suggestion->ttl_ms = other->ttl_ms;
	if (other->last_ms > suggestion->last_ms) suggestion->last_ms = other->last_ms;
}

static void put_together(struct suggest *suggest) {
	size_t kept = 0;
	if (suggest->count > 0) qsort(suggest->items, suggest->count, sizeof *suggest->items, by_thing);
	for (size_t i = 0; i < suggest->count; i++) {
		struct suggestion *item = &suggest->items[i];
		if (kept == 0 || !is_same_thing(&suggest->items[kept - 1], item)) {
			suggest->items[kept++] = *item;
			continue;
		}
		suggestion_join(&suggest->items[kept - 1], item);
		suggestion_finish(item);
	}
	suggest->count = kept;
}

void suggest_settle(struct suggest *suggest) {
	asked_list_settle(&suggest->open);
	for (size_t i = 0; i < suggest->answered.count; i++) add_asked(suggest, &suggest->answered.items[i]);
	for (size_t i = 0; i < suggest->open.count; i++) add_asked(suggest, &suggest->open.items[i]);
	put_together(suggest);
	for (size_t i = 0; i < suggest->count; i++)
		if (suggest->items[i].basis == SUGGESTION_ANSWERED) leave_out_by_grant(&suggest->items[i]);
	suggest_weigh(suggest);
}

void suggest_keep(struct suggest *suggest, size_t because, const struct permission *permission, const char *pattern,
		  const char *rule) {
	size_t kept = 0;
	for (size_t i = 0; i < suggest->count; i++) {
		const struct suggestion *item = &suggest->items[i], *reason = &suggest->items[because];
		if (item->effect != EFFECT_DENY || !suggestion_is_rule(item) ||
		    !string_equal(item->profile, reason->profile))
			continue;
		if (string_equal(item->project, reason->project) && permission_equal(&item->permission, permission) &&
		    string_equal(item->pattern, pattern))
			return;
		kept += item->basis == SUGGESTION_KEPT;
	}
	if (kept >= KEPT_MOST) {
		suggestion_leave_out(&suggest->items[because], "it would lift too many denials to repeat them all");
		return;
	}
	const struct suggestion wish = {.basis = SUGGESTION_KEPT,
					.profile = suggest->items[because].profile,
					.project = suggest->items[because].project,
					.permission = *permission,
					.effect = EFFECT_DENY,
					.target = suggest->items[because].target};
	struct suggestion *added = add(suggest, &wish, pattern);
	added->rule = string_copy(rule);
	if (!added->text)
		suggestion_leave_out(&suggest->items[because], "it would lift a denial that a policy file can't say");
}
