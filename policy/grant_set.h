/*
 * grant_set: a subject's grants, compiled and indexed, in the place of the store while a view is built: a view asks a
 * few hundred times, and each question to the store is several look-ups in a database.
 *
 * Promises: finds what the store would find: what the session itself denies, else the closest grant, deny before allow
 * where equal.
 */
#pragma once

#include <stddef.h>

#include "policy/stack.h"

struct grant_set;

/* Borrows the grants. One whose pattern can't be read any more is left out. */
struct grant_set *grant_set_new(const struct grant *grants, size_t count);
void grant_set_free(struct grant_set *set);
struct stack_grants grant_set_finder(struct grant_set *set);

/* Is there a grant of files, of whatever effect, that covers the path? */
bool grant_set_covers(const struct grant_set *set, const char *path);

/* The compiled pattern of grant i, or NULL. */
const struct pattern *grant_set_pattern(const struct grant_set *set, size_t i);

DEFINE_CLEANUP(struct grant_set *, grant_set_free);
#define CLEANUP_GRANT_SET CLEANUP(grant_set_free_p)
