/*
 * resolved: where a path leads now, links followed name by name as the kernel does (path_resolution(7)), and as a plan
 * will find it (runner/facts.h).
 *
 * Promises: readlink(2) only, at most 40 links; nothing is opened. Of a moment.
 */
#pragma once

#include "base/string.h"

/* `path` is absolute. NULL: no link is on the way. Of a path that isn't there as far as there is something. Freed by
 * the caller. */
char *resolved_path(const char *path);

/* The same, but nothing in these folders is looked at: names there are taken as they are. */
char *resolved_path_outside(const char *path, const struct strings *folders);
