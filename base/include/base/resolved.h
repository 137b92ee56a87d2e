/*
 * resolved: where a path leads now, links followed name by name as the kernel does (path_resolution(7)), and as a plan
 * will find it (runner/plan/facts.h).
 *
 * Promises: readlink(2) only, at most 40 links, none below what isn't there; nothing is opened. Of a moment.
 */
#pragma once

#include "base/string.h"

/* `path` is absolute. NULL: no link is on the way, or it leads to no path that fits PATH_MAX. Of a path that isn't
 * there as far as there is something. Freed by the caller. */
char *resolved_path(const char *path);

/* Of several paths at one moment. */
struct resolver {
	struct strings unseen; /* names in these folders are taken as they are: nothing there is looked at */
	char *plain;           /* no link is on the way to it, as was seen: so that isn't looked up again; or NULL */
};

void resolver_finish(struct resolver *resolver);

/*
 * As resolved_path. *looks is what it may cost: one for each name that is looked up and each link, and one more for
 * each 64 bytes of the path or the text. It gets less by what was spent; NULL and 0 when that was not enough.
 */
char *resolver_path(struct resolver *resolver, const char *path, size_t *looks);
