/*
 * program_links: the other names of a program, by which rules and grants may speak of it (`awk`, which leads to mawk).
 *
 * Promises: links in the folders in which a denied name is looked for, and no others; at most PROGRAM_LINKS_MAX.
 */
#pragma once

#include "base/string.h"

enum { PROGRAM_LINKS_MAX = 2048 }; /* a busybox has some 400, in folders that have two names each */

/* Added: the paths of links that lead to `file`, a real path; `search`: PATH, or NULL. */
void program_links(const char *file, const char *search, struct strings *links);
