/*
 * straight: folders that were found where their path says, with no link on the way.
 *
 * Promises: a hint: whoever is asked about a name in such a folder is asked about the right place, but for a link that
 * somebody lays on the way meanwhile. It holds for LIMIT_STRAIGHT_MS, and no longer than until the sandbox makes a link
 * or moves a folder (straight_forget). For one thread at a time. Bounded.
 */
#pragma once

#include <stdbool.h>

#include "base/memory.h"

struct straight;

struct straight *straight_new(void);
void straight_free(struct straight *straight);
DEFINE_CLEANUP(struct straight *, straight_free);
#define CLEANUP_STRAIGHT CLEANUP(straight_free_p)

/* Of the normal path of what lies in it. */
bool straight_has(const struct straight *straight, const char *path);
void straight_add(struct straight *straight, const char *path);

void straight_forget(struct straight *straight);
