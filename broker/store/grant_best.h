/*
 * grant_best: which of several grants covers a request most closely.
 *
 * Promises: grant_beats (schema/grant.h) decides, over what is in force and covers the target.
 */
#pragma once

#include <stdbool.h>

#include "base/clock.h"
#include "schema/grant.h"
#include "schema/pattern.h"

struct grant_best {
	bool found;
	struct grant grant; /* owned, when found */
	struct pattern_rank rank;
};

/* Keeps a copy of the grant if it covers the target, is in force and better than the best so far. */
void grant_best_offer(struct grant_best *best, const struct grant *grant, const struct pattern *pattern,
		      const char *target, const struct moment *now);
