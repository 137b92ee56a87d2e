/*
 * touch: one system call, or a few, on a fresh tree behind the curtain, each checked for having met the real object.
 *
 * The tree: a/b.txt ("real"), a/c.txt, a/u.txt, a/r.txt, a/bin (a program), a/s.sh (a script), a/d (an empty folder),
 * a/fifo, ln → a/b.txt.
 */
#pragma once

#include <stddef.h>

#include "fixture.h"

/* 0: it worked on the real object; TOUCH_CURTAIN: it worked on the curtain; else the errno. */
enum { TOUCH_CURTAIN = 1000 };

/* Which nodes it is behind: over the whole tree, over a, over a/b.txt. */
enum { BEHIND_NONE, BEHIND_TOP = 1, BEHIND_A = 2, BEHIND_FILE = 4 };

struct touch {
	const char *name;
	fixture_action *action;
	unsigned behind;
};
extern const struct touch touches[];
extern const size_t touch_count;

void touch_make_tree(struct fixture *fixture);
