/*
 * walk: what a view's patterns (`**` + `/.env`) name below the trees it shows, and sockets that lie there.
 *
 * Promises: one bounded walk (LIMIT_WALK entries), follows no link, leaves out what a sandbox gets fresh (/proc, /dev,
 * /run, /tmp unless a shown tree begins inside), and goes into what packages bring (/usr but for /usr/local,
 * /nix/store) only for patterns that begin with a place. What lies in a folder that its owner can't read isn't known,
 * and a tool that runs as the owner can make it so, and readable again: such a folder is told of.
 */
#pragma once

#include "base/error.h"
#include "base/string.h"
#include "schema/patterns.h"

struct walk {
	const struct strings *trees; /* canonical */
	const struct strings *names; /* by which patterns know them, in their order; NULL: by their own */
	const struct patterns *patterns;
	struct walk_wanted *wanted; /* walk_prepare */
	size_t named;               /* of them have a name of their own, by which they are sorted */
	const char *known;          /* the file in which folders are kept from run to run (known.h); NULL: none */
	bool known_stays;           /* that file is read alone */
	struct strings *shut;       /* gets folders of the user's own that can't be read or gone through; may be NULL */
};

/* Adds to `matches` each path that a pattern ends at, to `sockets` each socket. -E2BIG past the bound, saying where. */
int walk_trees(const struct walk *walk, struct strings *matches, struct strings *sockets, struct error *error);

/* For whoever goes through trees otherwise, between walk_prepare and walk_finish: does a pattern end at the path; may
 * one match below the folder; and would a walk go into it? */
void walk_prepare(struct walk *walk);
void walk_finish(struct walk *walk);
bool walk_finds(const struct walk *walk, const char *path);
bool walk_reaches(const struct walk *walk, const char *folder);
bool walk_enters(const struct walk *walk, const char *folder);
