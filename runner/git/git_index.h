/*
 * git_index: what an index says (gitformat-index(5), versions 2 to 4): submodules, entries whose changes git doesn't
 * show, and such as git itself adds to no index, but would write where they say.
 *
 * Promises: bounded in bytes and answers; what isn't understood to the end is said to be so, never guessed.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"

enum {
	GIT_INDEX_SIZE_MAX = 64 * 1024 * 1024,
	GIT_GITLINKS_MAX = 1000,
	GIT_HIDDEN_MAX = 100 * 1000, /* entries of each kind whose changes aren't shown */
	GIT_FORGED_MAX = 1000,
};

struct git_index {
	struct strings links;            /* the path of each gitlink (mode 160000) */
	struct strings forged;           /* names with "..", ".git" or an empty one in them, and of no mode of git's */
	struct strings assumed, skipped; /* entries with the bit assume-unchanged, or skip-worktree */
	bool whole;                      /* all of it was read and understood; also where there is none */
};

/* `hash_size` is 20, or 32 in a SHA-256 repository. */
void git_index_read(const char *file, size_t hash_size, struct git_index *ret_index);
void git_index_parse(const char *bytes, size_t size, size_t hash_size, struct git_index *ret_index);
void git_index_finish(struct git_index *index);
#define CLEANUP_GIT_INDEX CLEANUP(git_index_finish)
