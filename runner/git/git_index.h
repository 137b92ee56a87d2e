/*
 * git_index: the submodules that an index names (gitformat-index(5), versions 2 to 4).
 *
 * Promises: bounded in bytes and answers; what isn't understood to the end is said to be so, never guessed.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"

enum { GIT_GITLINKS_MAX = 1000 };

/* Adds the path of each gitlink (mode 160000), as the index has it. False when the file is there but couldn't be read
 * to its end; a missing one has none. `hash_size` is 20, or 32 in a SHA-256 repository. */
bool git_index_links(const char *file, size_t hash_size, struct strings *links);
