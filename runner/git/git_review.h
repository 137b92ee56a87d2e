/*
 * git_review: what a run has left in git directories that makes git on the host do more than its user sees: changes
 * that it shows no longer (attack R14), names that it would write anywhere, submodules and repositories of theirs that
 * are new, and commands that `git rebase --continue` would run.
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

enum { GIT_REVIEWED_MAX = 200, GIT_BELOW_MAX = 1000 };

enum { GIT_PLAN_PARTS = 6 };

/* Of a file: another one has another stamp. */
struct git_stamp {
	uint64_t inode, size;
	int64_t seconds, nanoseconds; /* of its last change (ctime), which nobody can set */
};

struct git_reviewed {
	char *directory, *top; /* its work tree; NULL: it isn't known */
	size_t hash_size;
	struct git_stamp stamp;                 /* of its index */
	struct git_stamp plan;                  /* of the list of commands of rebase */
	struct git_stamp parts[GIT_PLAN_PARTS]; /* of files by which a plan runs or writes something when it goes on */
	struct git_index index;
	struct strings patterns; /* of info/exclude */
	struct strings plans;    /* of rebase, am, the sequencer and merge, which are there */
	struct strings commands; /* that the plan of rebase runs, sorted */
	struct strings below;    /* git directories of submodules and worktrees in it */
	bool all_patterns, all_commands, all_below;
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

/* `name` of what is told. */
enum git_news {
	GIT_ASSUMED,   /* an entry has the bit assume-unchanged now and had not */
	GIT_SKIPPED,   /* skip-worktree */
	GIT_EXCLUDED,  /* a pattern that info/exclude has now and had not */
	GIT_REORDERED, /* "": the patterns of info/exclude are others or in another order */
	GIT_UNREAD,    /* "index", "info/exclude" or a plan is another one and isn't understood to its end */
	GIT_FORGED,    /* an entry that git would add to no index, and writes where its name says */
	GIT_LINKED,    /* a gitlink: git goes into that folder as into a submodule */
	GIT_PLANNED,   /* a plan of rebase, am, the sequencer or merge (its stash), or a part of one that is another */
	GIT_BELOW,     /* a git directory in modules or worktrees */
};
enum { GIT_NEWS_COUNT = GIT_BELOW + 1 };

/* What is otherwise than it was; `name` is borrowed for the call. False past a bound. */
bool git_review_compare(const struct git_review *before,
			void (*tell)(void *context, const struct git_reviewed *of, enum git_news what,
				     const char *name),
			void *context);

void git_review_finish(struct git_review *review);
