/*
 * patience: a first look at paths of the host by a process that may hang, so that who comes after it doesn't.
 *
 * A file system that doesn't answer (NFS whose server is gone, FUSE whose process hangs) keeps whoever looks at a path
 * of it in the kernel, at worst where no signal is heard, so that nothing in the same process can tell or end it.
 *
 * Promises: costs a look at the list of mounts where all of them are of this machine. After LIMIT_LOOK_MS with one path
 * the user is told which, and which rule names it; after LIMIT_STUCK_MS it is an error. Ctrl-C is heard meanwhile.
 */
#pragma once

#include "base/error.h"
#include "base/string.h"

struct patience {
	const struct strings *paths; /* absolute, links as written; with the mounts that lie in them */
	bool near; /* only where one of them lies on such a file system by its text: no links, nothing in them */
	/* The rule that names the path, "FILE:LINE", or NULL; freed by the caller. NULL: none does. */
	char *(*rule)(void *context, const char *path);
	void *context;
};

/* 0 when all have answered, also that nothing is there; -ETIMEDOUT. What was left hanging ends when it can. */
int patience_look(const struct patience *patience, struct error *error);
