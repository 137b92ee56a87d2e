/*
 * patterns: a list of compiled patterns, of one permission each.
 *
 * Ownership: the list owns its patterns; patterns_finish frees them and leaves an empty list. `{0}` is an empty list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "schema/pattern.h"

struct patterns {
	struct pattern **items;
	size_t count;
};

/* Compiles and appends. Negative as pattern_compile, with the list as it was; error may be NULL. */
int patterns_add(struct patterns *patterns, enum permission_kind kind, const char *text,
		 const struct pattern_scope *scope, struct error *error);
void patterns_finish(struct patterns *patterns);

/* Does one of them cover this canonical target? */
bool patterns_match(const struct patterns *patterns, const char *target);

#define CLEANUP_PATTERNS CLEANUP(patterns_finish)
