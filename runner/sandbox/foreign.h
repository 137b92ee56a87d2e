/*
 * foreign: links on the way to what rules name that somebody else than the user may have made: another user of the
 * machine, or a sandbox (attack R20).
 *
 * Promises: a link counts as the user's own when it and every folder above it belong to the user or to root, nobody
 * else may write there, and no sandbox of the user's ever could. A link that can't be looked at is foreign. Looks with
 * lstat alone.
 */
#pragma once

#include "base/error.h"
#include "base/string.h"
#include "plan/facts.h"

/* For each folder, could a sandbox ever write it? -ECONNRESET when there is nobody to ask just now: then what was
 * answered last time holds. */
struct foreign_judge {
	int (*writable)(void *context, const struct strings *folders, bool *ret_writable, struct error *error);
	void *context;
};

/* Marks the links of the rules that give or deny something. `own`: folders that were found to be the user's alone, kept
 * for a session. */
int foreign_mark(const struct rules *rules, struct facts *facts, const struct foreign_judge *judge, struct strings *own,
		 struct error *error);

/* Is one of the links on the way to `path` (absolute, links as written) foreign? *ret_link and *ret_real (where the
 * path leads) are the caller's; NULL where none is. */
int foreign_find(const char *path, const struct foreign_judge *judge, char **ret_link, char **ret_real,
		 struct error *error);
