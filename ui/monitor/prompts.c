#include "prompts.h"

#include <string.h>

#include "base/memory.h"
#include "rows.h"
#include "schema/limits.h"

static void waiting_finish(struct waiting *waiting) {
	prompt_finish(&waiting->prompt);
	json_decref(waiting->json);
}

void prompts_clear(struct monitor_prompts *prompts) {
	for (size_t i = 0; i < prompts->count; i++) waiting_finish(&prompts->items[i]);
	free(prompts->items);
	free(prompts->lines);
	*prompts = (struct monitor_prompts){0};
}

void prompts_finish(struct monitor_prompts *prompts) {
	prompts_clear(prompts);
}

/* Its bundle, or itself, which others may name: what the list is ordered by before the id. */
static int64_t group_of(const struct prompt *prompt) {
	return prompt->bundle != 0 ? prompt->bundle : prompt->id;
}

static bool stands_before(const struct prompt *a, const struct prompt *b) {
	return group_of(a) != group_of(b) ? group_of(a) < group_of(b) : a->id < b->id;
}

static void add_line(struct monitor_prompts *prompts, struct waiting_line line) {
	prompts->lines = array_grow(prompts->lines, prompts->line_count, sizeof *prompts->lines);
	prompts->lines[prompts->line_count++] = line;
}

static void make_lines(struct monitor_prompts *prompts) {
	free(prompts->lines);
	prompts->lines = NULL;
	prompts->line_count = 0;
	for (size_t first = 0, end; first < prompts->count; first = end) {
		for (end = first + 1; end < prompts->count; end++)
			if (group_of(&prompts->items[end].prompt) != group_of(&prompts->items[first].prompt)) break;
		bool bundle = end - first > 1;
		if (bundle) add_line(prompts, (struct waiting_line){.first = first, .count = end - first});
		for (size_t i = first; i < end; i++)
			add_line(prompts, (struct waiting_line){.first = i, .count = 1, .member = bundle});
	}
}

/* What the choice is about, so that it is found again: a bundle, also while only one of it is there, or one of it. */
struct chosen {
	int64_t group, member;
	size_t count;
};

static struct chosen chosen_of(const struct monitor_prompts *prompts, const struct waiting_line *line) {
	const struct prompt *prompt = &prompts->items[line->first].prompt;
	return (struct chosen){group_of(prompt), line->member ? prompt->id : 0, line->count};
}

static struct chosen chosen_get(const struct monitor_prompts *prompts) {
	const struct waiting_line *line = prompts_chosen(prompts);
	return line ? chosen_of(prompts, line) : (struct chosen){0};
}

static void lines_again(struct monitor_prompts *prompts, struct chosen before, int64_t now_ms) {
	make_lines(prompts);
	for (size_t i = 0; i < prompts->line_count; i++) {
		struct chosen line = chosen_of(prompts, &prompts->lines[i]);
		if (line.group != before.group || line.member != before.member) continue;
		prompts->chosen = i;
		if (line.count > before.count) prompts->since_ms = now_ms; /* it is about more by now */
		return;
	}
	prompts->chosen = choice_move(prompts->chosen, prompts->line_count, 0);
	prompts->since_ms = now_ms;
}

static struct waiting *find(const struct monitor_prompts *prompts, int64_t id) {
	for (size_t i = 0; i < prompts->count; i++)
		if (prompts->items[i].prompt.id == id) return &prompts->items[i];
	return NULL;
}

static void insert(struct monitor_prompts *prompts, struct waiting waiting) {
	size_t at = prompts->count;
	prompts->items = array_grow(prompts->items, prompts->count, sizeof *prompts->items);
	while (at > 0 && stands_before(&waiting.prompt, &prompts->items[at - 1].prompt)) at--;
	memmove(&prompts->items[at + 1], &prompts->items[at], (prompts->count - at) * sizeof *prompts->items);
	prompts->items[at] = waiting;
	prompts->count++;
}

int prompts_put(struct monitor_prompts *prompts, const json_t *push, int64_t now_ms, bool *ret_new,
		struct error *error) {
	struct waiting waiting = {.json = json_copy((json_t *)push)};
	json_object_del(waiting.json, "type");
	*ret_new = false;
	int r = prompt_from_json(waiting.json, &waiting.prompt, error);
	struct waiting *known = r < 0 ? NULL : find(prompts, waiting.prompt.id);
	if (r < 0 || (!known && prompts->count >= LIMIT_PROMPTS)) {
		waiting_finish(&waiting);
		return r;
	}
	struct chosen before = chosen_get(prompts);
	if (known) {
		waiting_finish(known);
		*known = waiting;
	} else {
		insert(prompts, waiting);
		*ret_new = true;
	}
	lines_again(prompts, before, now_ms);
	return 0;
}

bool prompts_drop(struct monitor_prompts *prompts, int64_t id, int64_t now_ms) {
	struct waiting *gone = find(prompts, id);
	if (!gone) return false;
	struct chosen before = chosen_get(prompts);
	size_t at = (size_t)(gone - prompts->items);
	waiting_finish(gone);
	memmove(gone, gone + 1, (prompts->count - at - 1) * sizeof *gone);
	prompts->count--;
	lines_again(prompts, before, now_ms);
	return true;
}

const struct prompt *prompts_find(const struct monitor_prompts *prompts, int64_t id) {
	const struct waiting *found = find(prompts, id);
	return found ? &found->prompt : NULL;
}

const struct waiting_line *prompts_chosen(const struct monitor_prompts *prompts) {
	return prompts->chosen < prompts->line_count ? &prompts->lines[prompts->chosen] : NULL;
}

void prompts_move(struct monitor_prompts *prompts, long by) {
	prompts->chosen = choice_move(prompts->chosen, prompts->line_count, by);
}
