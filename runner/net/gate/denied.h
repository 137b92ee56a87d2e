/*
 * denied: what was denied, once a target (and name of a permission, where it has one), in order.
 *
 * Promises: at most LIMIT_DENIED targets are kept; of each the first verdict, and why it was denied last where that is
 * said in other words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/verdict.h"

struct denied_target {
	char *permission; /* its name, of one of the user's own; NULL: whoever keeps the list knows */
	char *target;
	unsigned count;
	bool brought; /* the last time by a folder that was to be moved, whether it has that name or not */
	struct verdict verdict;
	char *last; /* NULL: as the first one says */
};

struct denied {
	struct denied_target *items;
	size_t count;
};

void denied_add(struct denied *denied, const char *target, const struct verdict *verdict);
void denied_add_named(struct denied *denied, const char *permission, const char *target, const struct verdict *verdict);
void denied_mark_brought(struct denied *denied, const char *target); /* of what was added last with that target */
bool denied_has(const struct denied *denied, const char *target);
void denied_release(struct denied *denied, const int64_t *grants, size_t count); /* those denials have ended */
void denied_finish(struct denied *denied);

/* A copy that owns its texts. */
struct verdict verdict_copy(const struct verdict *verdict);
