/*
 * origin: a folder or file of the host that is mounted in a sandbox, wherever the host moves it.
 *
 * Promises: found by device and inode, so it is that very one; its descriptor is a name alone (O_PATH), which
 * follows every renaming. Shared by counting.
 */
#pragma once

#include <sys/types.h>

#include "base/memory.h"
#include "mountinfo.h"

struct origin;

/* What is mounted at `path` of `inside`, by the mounts of our own; NULL: it has no name there. */
struct origin *origin_new(const struct mountinfo *inside, const struct mountinfo *here, const char *path, dev_t device,
			  ino_t inode);
struct origin *origin_share(struct origin *origin); /* also NULL */
void origin_free(struct origin *origin);
DEFINE_CLEANUP(struct origin *, origin_free);

/* Where it is now; NULL: the host has removed it. Freed by the caller. */
char *origin_path(const struct origin *origin);
