/*
 * portal_point: where something is mounted: the way there, and names made for it.
 *
 * Promises: no link is followed; names are made only on mounts that are sbx's own (`points`), never through to the
 * host. A folder or file made here is known by its mode (the sticky bit), so that any later portal can remove it; what
 * the tool made is never removed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* The mounts (STATX_MNT_ID) that are sbx's own. Zero-initialise. */
struct points {
	uint64_t *mounts;
	size_t count;
	/* The one that other sandboxes may have, too (residents.h); 0: there is none. A name that is removed there
	 * takes what they have mounted on it away, so it is only while there are none, or where the host has no such
	 * name. */
	uint64_t shared;
	int folder; /* of it, open for reading */
	int host;   /* the host's root; borrowed */
	pid_t runner;
};
void points_add(struct points *points, uint64_t mount);
/* `tree`: O_PATH of its folder. */
void points_share(struct points *points, uint64_t mount, int tree, int host, pid_t runner);
void points_remove(struct points *points, uint64_t mount);
bool points_have(const struct points *points, uint64_t mount);
void points_finish(struct points *points);

/* O_PATH of `path` (absolute, normal, seen from `base`), made if need be as a folder or an empty file. The process
 * stands in the mount namespace that `base` is of. */
int point_reach(const struct points *points, int base, const char *path, bool folder, struct error *error);

/* Make `name` in `at`, which lies on one of `points`, unless it is there. */
int point_make(int at, const char *name, bool folder);

/* A link; one that is there already, or anything of the tool's in its place, stays. */
int point_link(const struct points *points, int base, const char *path, const char *text, struct error *error);
void point_unlink(const struct points *points, int base, const char *path, const char *text);

/* What was made for `path`, and the folders above it that were and are empty now. */
void point_remove(const struct points *points, int base, const char *path);

/* A second, writable mount of a folder that may be sealed. The process stands in the namespace that it is of. */
int point_twin(int folder);
