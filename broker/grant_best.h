/*
 * grant_best: which of several grants covers a request most closely.
 *
 * Promises: what the session itself denies (`--deny`) before all else; then closer before wider; where equal deny
 * before allow, then one that the call doesn't use up. Writing implies reading, and what may not be read may not be
 * written (design section 4).
 */
#pragma once

#include <stdbool.h>

#include "base/clock.h"
#include "schema/grant.h"
#include "schema/pattern.h"
#include "schema/request.h"

struct grant_best {
	bool found;
	struct grant grant; /* owned, when found */
	struct pattern_rank rank;
};

/* Has a grant of that permission and effect a say about a request for `asked`? */
bool grant_counts(const struct permission *permission, enum effect effect, const struct permission *asked);

/* Keeps a copy of the grant if it covers the target, is in force and better than the best so far. */
void grant_best_offer(struct grant_best *best, const struct grant *grant, const struct pattern *pattern,
		      const char *target, const struct moment *now);
