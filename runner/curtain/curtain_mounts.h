/*
 * curtain_mounts: where the host's files may be far away, so that looking at them may take for ever.
 *
 * Promises: follows the host's mounts (one poll(2) a question); a file system that isn't known to be local is far.
 */
#pragma once

#include <stdbool.h>

#include "base/memory.h"

struct mounts;

struct mounts *mounts_new(void);
void mounts_free(struct mounts *mounts);
DEFINE_CLEANUP(struct mounts *, mounts_free);
bool mounts_is_far(struct mounts *mounts, const char *path); /* normal */
