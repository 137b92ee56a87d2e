/*
 * new_links: symbolic links that a run has left in trees that it might write, and by which a program of the host would
 * write where the sandbox could not (attack R2, R14): out of what it may write, to what is masked in there, or from a
 * git directory.
 *
 * Promises: one bounded look when the sandbox has ended; opens folders alone, follows no link on the way to one, and
 * looks at no file system that may not answer. A link counts as new by the time of its last change (ctime), which
 * nobody can set. Not found: a link that was there and leads elsewhere since a folder above it was moved.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/string.h"
#include "plan/plan.h"

struct new_links_options {
	const struct plan *plan;
	const struct strings *trees; /* which the sandbox might ever write; canonical */
	const struct strings *git;   /* git directories that have another name than `.git` */
	const char *home;
	struct timespec since;
	size_t entries;    /* to be looked at; 0: LIMIT_LINK_LOOK */
	const char *known; /* the file in which folders are kept from run to run (known.h); NULL: none */
};

struct new_link {
	char *path, *text;
	char *leads; /* where to, without links (link_target.h) */
};

struct new_links {
	struct new_link *items;
	size_t count;
	struct strings shut; /* folders of the user's own that can't be looked into */
	size_t entries;      /* that were looked at */
	bool cut;            /* past a bound: not all of it was */
};

void new_links_find(const struct new_links_options *options, struct new_links *ret_links);
void new_links_finish(struct new_links *links);
#define CLEANUP_NEW_LINKS CLEANUP(new_links_finish)
