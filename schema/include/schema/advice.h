/*
 * advice: what the user can do about a denial, in one line; the same in the last words, in a 403 and in `sbx why`.
 *
 * Promises: a grant is advised only where one helps; what came from outside is visible and quoted for a shell.
 */
#pragma once

#include "schema/verdict.h"

/* NULL when there is nothing to do. Freed by the caller. */
char *advice_text(const struct verdict *verdict, const char *permission, const char *target, const char *profile);

/* What follows the naming of a rule (its place; or NULL) that forbids: a built-in one gives way to the user's policy;
 * else "". */
const char *advice_lift(const char *rule);
