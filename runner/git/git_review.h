/*
 * git_review: what keeps changes out of the user's review (attack R14): entries of an index that git takes for
 * unchanged or leaves out of the work tree, and patterns of info/exclude, which hide files that are new.
 *
 * Promises: each git directory is looked at once, when it becomes known, and again at the end; bounded in directories
 * and bytes; follows no link of a git directory. What can't be read to its end and is another one than before is told
 * as such. Not told: times and sizes in an index that were forged to those of a changed file, what a `.gitignore` says,
 * replaced objects.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "git.h"
#include "git_index.h"

enum { GIT_REVIEWED_MAX = 200 };

/* Of a file: another one has another stamp. */
struct git_stamp {
	uint64_t inode, size;
	int64_t seconds, nanoseconds; /* of its last change (ctime), which nobody can set */
};

struct git_reviewed {
	char *directory;
	size_t hash_size;
	struct git_stamp stamp; /* of its index */
	struct git_index index;
	struct strings patterns; /* of info/exclude */
	bool all_patterns;
};

/* Zero-initialise. */
struct git_review {
	struct git_reviewed *items;
	size_t count;
	uint64_t size; /* bytes that were read */
	bool cut;      /* past a bound: more directories or larger files */
};

/* The git directories of a layout that aren't known yet. */
void git_review_add(struct git_review *review, const struct git_layout *layout);

enum git_hiding {
	GIT_ASSUMED,   /* `name` has the bit assume-unchanged now and had not */
	GIT_SKIPPED,   /* skip-worktree */
	GIT_EXCLUDED,  /* `name` is a pattern that info/exclude has now and had not */
	GIT_REORDERED, /* the patterns of info/exclude are others or in another order; `name` is "" */
	GIT_UNREAD,    /* the index, or info/exclude (`name`), is another one and isn't understood to its end */
};
enum { GIT_HIDING_COUNT = GIT_UNREAD + 1 };

/* What is otherwise than it was; `name` is borrowed for the call. False past a bound. */
bool git_review_compare(const struct git_review *before,
			void (*tell)(void *context, const char *directory, enum git_hiding how, const char *name),
			void *context);

void git_review_finish(struct git_review *review);
