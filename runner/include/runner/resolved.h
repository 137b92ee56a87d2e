/*
 * resolved: where a path leads now, links followed, as a plan will find it (runner/facts.h).
 */
#pragma once

/* `path` is absolute. NULL: no link is on the way. Of a path that isn't there as far as there is something. Freed by
 * the caller. */
char *resolved_path(const char *path);
