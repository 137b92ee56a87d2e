/*
 * sight: what the sandbox sees at a path, by the plan that is in force, and what a rule says of it, by the view.
 *
 * Promises: lexical: no system call, no allocation in sights_at, microseconds; for several threads at once. Advisory
 * for the doorbells, which say when to ask; what can be reached the mount table alone decides.
 */
#pragma once

#include <stdbool.h>

#include "base/memory.h"
#include "curtain/doorbell.h"
#include "plan.h"
#include "schema/permission.h"
#include "schema/view.h"

struct sights;

/* `coming`: while a plan is being changed, the one that follows (its ways lead already); or NULL. All are borrowed for
 * as long as it lives. */
struct sights *sights_new(const struct plan *plan, const struct plan *coming, const struct view *view);
void sights_free(struct sights *sights);
DEFINE_CLEANUP(struct sights *, sights_free);
#define CLEANUP_SIGHTS CLEANUP(sights_free_p)

struct sight sights_at(const struct sights *sights, const char *path); /* normal */

/* A masked name below the folder, there or missing: what is put in the folder's place may bring it along. Borrowed;
 * NULL: none. */
const char *sights_mask_below(const struct sights *sights, const char *folder);

/* The name by which the program at `path` is asked about: of several links the one that is `used` (or NULL). Borrowed,
 * or `path`. */
const char *sights_program(const struct sights *sights, const char *path, const char *used);
/* The name of what is needed by which rules speak of it; `used` as above. Freed by the caller. */
char *sights_name(const struct sights *sights, const struct need *need, const char *used);

/* The path with the plan's own links (/bin) followed; `last`: also when it is one itself. Freed by the caller. */
char *sights_resolve(const struct sights *sights, const char *path, bool last);

/* What a view says by name alone, whatever the plan makes of it; patterns say nothing here. */
enum view_mode sight_rule(const struct view *view, const char *path, bool *ret_ask_write);
/* The same, also of what a rule asks about by a link that leads there. */
enum view_mode sights_rule(const struct sights *sights, const struct view *view, const char *path, bool *ret_ask_write);

/* Is the path in a tree that may be written, above no mask that is missing, with no name in it that a mask could have,
 * of one that is there, is missing or was torn off, or of a pattern? Then nothing is asked of who makes, changes or
 * removes what has that path, unless something comes along with it (above_mask). Quicker than sights_at; false where
 * only that can tell. */
bool sights_plain(const struct sights *sights, const char *path);

/* The length of the path of the file that git would write by a lock of that path (`config.lock`): it writes there what
 * is to be in the file, and renames it. 0: it is no such lock. */
size_t sights_locked(const char *path);

/* Does the sandbox have what is needed? */
bool sights_give(const struct sights *sights, const struct need *need);
