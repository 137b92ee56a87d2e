/*
 * prompts: what waits for an answer, the oldest first, those of one bundle together below a line that stands
 * for all of them.
 *
 * Promises: the choice stays with its prompt while others come and go, and moves to another only when its own is gone
 * or none was there; when that was is kept, since keys that were meant for something else must not answer it (attack
 * B10). At most LIMIT_PROMPTS, the broker's own bound.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "schema/prompt.h"

struct waiting {
	struct prompt prompt;
	json_t *json; /* as it was told, without the message's type */
};

/* A line of the list. */
struct waiting_line {
	size_t first, count; /* prompts that it stands for: 1, or a bundle */
	bool member;         /* of the bundle above */
};

struct monitor_prompts {
	struct waiting *items;
	size_t count;
	struct waiting_line *lines;
	size_t line_count;
	size_t chosen;    /* of the lines */
	int64_t since_ms; /* when the choice last moved by itself; boot clock */
};

void prompts_finish(struct monitor_prompts *prompts);

/* A push `prompt`, taken apart; news of one that is there, too. *ret_new: it wasn't. */
int prompts_put(struct monitor_prompts *prompts, const json_t *push, int64_t now_ms, bool *ret_new,
		struct error *error);
bool prompts_drop(struct monitor_prompts *prompts, int64_t id, int64_t now_ms); /* false: it wasn't there */
void prompts_clear(struct monitor_prompts *prompts);

const struct prompt *prompts_find(const struct monitor_prompts *prompts, int64_t id); /* borrowed, NULL */
const struct waiting_line *prompts_chosen(const struct monitor_prompts *prompts);     /* borrowed, NULL: none waits */
void prompts_move(struct monitor_prompts *prompts, long by);
