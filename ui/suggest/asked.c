/*
 * Theory of operation
 *
 * A question leaves several rows: the prompt's, the answer's, a decision for each that waited. It is counted once, by
 * the answer's row, or by the prompt's when it ended without one. Decisions count where nobody was asked: a grant
 * answered, --record did, or there was nobody.
 *
 * Rows are added as they come; when there are twice as many as may be kept the same things are put together, and what
 * is then still too much goes, the oldest first.
 */
#include "asked.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"
#include "schema/verdict.h"

static void asked_finish(struct asked *asked) {
	free(asked->profile);
	free(asked->project);
	free(asked->target);
}

void asked_list_finish(struct asked_list *list) {
	for (size_t i = 0; i < list->count; i++) asked_finish(&list->items[i]);
	free(list->items);
	*list = (struct asked_list){0};
}

/* Rows */

static bool of_answer(const struct event *event, struct asked *asked) {
	if (!string_equal(event->by, "ask")) return false;
	asked->outcome = event->grant != 0 ? ASKED_GRANTED : ASKED_DENIED;
	asked->asked = 1;
	return event->grant != 0 || event->verdict == EFFECT_DENY;
}

static bool of_prompt(const struct event *event, struct asked *asked) {
	const char *state = json_string_value(json_object_get(event->detail, "state"));
	asked->outcome = ASKED_OPEN;
	asked->asked = 1;
	return string_equal(event->by, "ask") && (string_equal(state, "expired") || string_equal(state, "cancelled"));
}

static bool of_decision(const struct event *event, struct asked *asked) {
	static const struct {
		const char *by, *why;
		enum asked_outcome outcome;
	} denials[] = {{"ask", VERDICT_WHY_RECORDED, ASKED_RECORDED},
		       {"ask", VERDICT_WHY_NOBODY, ASKED_OPEN},
		       {"none", NULL, ASKED_UNDECIDED}};
	if (string_equal(event->by, "grants") && event->grant != 0) {
		asked->outcome = ASKED_GRANTED;
		asked->used = 1;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(denials); i++) {
		if (event->verdict != EFFECT_DENY || event->prompt != 0 || !string_equal(event->by, denials[i].by) ||
		    (denials[i].why && !string_equal(event->why, denials[i].why)))
			continue;
		asked->outcome = denials[i].outcome;
		asked->asked = 1;
		return true;
	}
	return false;
}

bool asked_of_event(const struct event *event, struct asked *ret_asked) {
	bool (*of_kind)(const struct event *event, struct asked *asked) = event->kind == EVENT_ANSWER     ? of_answer
									  : event->kind == EVENT_PROMPT   ? of_prompt
									  : event->kind == EVENT_DECISION ? of_decision
													  : NULL;
	struct asked asked = {.profile = event->profile,
			      .project = event->project,
			      .target = event->target,
			      .grant = event->grant,
			      .denied = event->verdict == EFFECT_DENY,
			      .last_ms = event->time_ms};
	/* sbx:ask, which asks about a flood, is no permission that a policy knows. */
	if (!of_kind || !event->profile || !event->project || !event->permission || !event->target ||
	    permission_parse(event->permission, &asked.permission, NULL) < 0 || !of_kind(event, &asked))
		return false;
	if (asked.outcome == ASKED_RECORDED || asked.outcome == ASKED_UNDECIDED) asked.session = event->session;
	asked.denied = asked.denied && (asked.outcome == ASKED_GRANTED || asked.outcome == ASKED_DENIED);
	*ret_asked = asked;
	return true;
}

/* The list */

static int compare_numbers(int64_t a, int64_t b) {
	return (a > b) - (a < b);
}

/* The same thing: all but the counts. */
static int compare_things(const struct asked *a, const struct asked *b) {
	int order = strcmp(a->profile, b->profile);
	if (order == 0) order = strcmp(a->project, b->project);
	if (order == 0) order = strcmp(a->permission.name, b->permission.name);
	if (order == 0) order = strcmp(a->target, b->target);
	if (order == 0) order = (int)a->outcome - (int)b->outcome;
	if (order == 0) order = compare_numbers(a->grant, b->grant);
	return order == 0 ? compare_numbers(a->session, b->session) : order;
}

static int by_thing(const void *a, const void *b) {
	return compare_things(a, b);
}

static int denied_and_newest_first(const void *a, const void *b) {
	const struct asked *left = a, *right = b;
	if (left->denied != right->denied) return right->denied - left->denied;
	return compare_numbers(right->last_ms, left->last_ms);
}

static void put_together(struct asked_list *list) {
	size_t kept = 0;
	qsort(list->items, list->count, sizeof *list->items, by_thing);
	for (size_t i = 0; i < list->count; i++) {
		struct asked *last = kept > 0 ? &list->items[kept - 1] : NULL, *item = &list->items[i];
		if (!last || compare_things(last, item) != 0) {
			list->items[kept++] = *item;
			continue;
		}
		last->asked += item->asked;
		last->used += item->used;
		if (item->last_ms > last->last_ms) last->last_ms = item->last_ms;
		asked_finish(item);
	}
	list->count = kept;
}

static void drop_oldest(struct asked_list *list) {
	if (list->count <= LIMIT_SUGGEST_ASKED) return;
	qsort(list->items, list->count, sizeof *list->items, denied_and_newest_first);
	for (size_t i = LIMIT_SUGGEST_ASKED; i < list->count; i++) asked_finish(&list->items[i]);
	list->left += list->count - LIMIT_SUGGEST_ASKED;
	list->count = LIMIT_SUGGEST_ASKED;
}

void asked_list_add(struct asked_list *list, const struct asked *asked) {
	enum { MOST = 2 * LIMIT_SUGGEST_ASKED };
	if (!list->items) list->items = mem_array(struct asked, MOST);
	struct asked *added = &list->items[list->count++];
	*added = *asked;
	added->profile = string_copy(asked->profile);
	added->project = string_copy(asked->project);
	added->target = string_copy(asked->target);
	if (list->count < MOST) return;
	put_together(list);
	drop_oldest(list);
}

void asked_list_settle(struct asked_list *list) {
	if (list->count == 0) return;
	put_together(list);
	drop_oldest(list);
	qsort(list->items, list->count, sizeof *list->items, by_thing);
}
