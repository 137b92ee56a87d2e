/*
 * project: which directory a command works on (design section 9), and what its grants are kept under.
 *
 * Promises: reads only names and git's own small files; never runs git; a repository can't claim to be part of
 * another one that doesn't list it (attack F6). Also used by ui for the `--project` default of `sbx grant` and others.
 */
#pragma once

#include "base/error.h"

struct project {
	char *project; /* canonical path that grants are kept under: of a linked worktree the main one's */
	char *root;    /* canonical path that ${project} means */
};

/*
 * `asked` is --project or NULL; `directory` (absolute) is the working directory and where a relative `asked` starts.
 * Without `asked`: the git top level above `directory`, else `directory`. $HOME, what is above it, and / are only
 * taken when asked for (-EPERM says so, attack F13).
 */
int project_find(const char *asked, const char *directory, const char *home, struct project *ret_project,
		 struct error *error);
void project_finish(struct project *project);
#define CLEANUP_PROJECT CLEANUP(project_finish)
