/*
 * answer: the user's answer to a prompt, which may become a grant.
 *
 * Promises: an agent answers with the token that it was given alone (attack B7); the grant, the answer's row and those
 * of the requests that it settles are written together or not at all, before anybody who waits is told.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "schema/grant.h"

struct broker;
struct client;

struct prompt_answer {
	int64_t prompt;
	const char *token; /* NULL: from a command line */
	enum effect effect;
	enum lifetime lifetime;
	int64_t ttl_ms;
	const char *scope;
	bool terminal;
	bool streak; /* set by prompts_answer: one denial too many (streaks.h) */
};

/* The grant that came of it (id 0 when none is kept); -ENOENT when there is no such prompt (any more). */
int prompts_answer(struct client *client, const struct prompt_answer *answer, struct grant *ret_grant,
		   struct error *error);
/* How long an answer to it lasts when it doesn't say, in ms. */
int64_t prompts_default_ttl(const struct broker *broker, int64_t prompt);
