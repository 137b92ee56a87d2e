/*
 * git: the layout of a repository as its files say, without running git.
 *
 * Promises: bounded reads; a `.git` file or `commondir` that points somewhere is believed only when what it points at
 * points back (worktrees/X/gitdir, core.worktree), so a planted `.git` file can't make a foreign folder visible
 * (attack F6). The list of protected paths errs on the side of too many.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"

struct git_layout {
	char *top;        /* the work tree; canonical */
	char *directory;  /* its git directory: top/.git, or what a `.git` file points at; canonical */
	char *common;     /* where objects, refs and config are; equals directory but in linked worktrees */
	char *main;       /* the main worktree; equals top but in linked worktrees */
	bool linked;      /* a linked worktree that the main repository lists */
	bool cut;         /* submodules or worktrees lie past a bound, and are not protected */
	bool outside;     /* directory or common is not below top, and mutual */
	size_t hash_size; /* of object names: 20, or 32 */
	struct strings
		directories;    /* git directories that it has: its own, the common one, of submodules and worktrees */
	struct strings protect; /* paths that make git run something on the host: read-only; may not exist */
};

/* The layout of the repository whose work tree holds `directory` (canonical). Returns 1 when there is one, 0 when
 * there isn't (or when its `.git` leads nowhere that points back: then only ret->top and protect are set). */
int git_find(const char *directory, const char *home, struct git_layout *ret_layout);
/* The same of `top` (canonical) alone: nothing is set when it has no `.git` of any kind. */
int git_at(const char *top, const char *home, struct git_layout *ret_layout);

/* The same of a folder that is a git directory itself: git takes it for one whoever works in it (bare repositories). */
void git_bare_at(const char *folder, const char *home, struct git_layout *ret_layout);

/* Does git take the folder for a git directory (setup.c, is_git_directory)? One whose HEAD says something, and which
 * has objects and refs, or leads by `commondir` to a folder that has; files will do, if they are executable. */
bool git_is_repository(const char *directory);

/* Has a folder in modules or worktrees what git looks for in one of a submodule or linked worktree? */
bool git_is_directory_below(const char *folder);

void git_layout_finish(struct git_layout *layout);
#define CLEANUP_GIT_LAYOUT CLEANUP(git_layout_finish)
