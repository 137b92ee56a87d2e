/*
 * lead: which name a path leads to, past the links that the tool has laid.
 *
 * Promises: advisory, as the call's paths are (call.h): the tool can change the way while it is walked. Walks as the
 * thread would, from the sandbox's root, but never into the curtain, which this process serves. Opens by name alone
 * (O_PATH); sends nothing to the thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct lead {
	pid_t thread;  /* that walks */
	dev_t curtain; /* of its nodes; 0: there are none */
	bool last;     /* a link at the end is followed, too */
	bool there;    /* what is named is there, not made: also behind a link of /proc at the end (/proc/self/fd/5) */
	bool rooted;   /* links are followed below a folder of the tool's choice (RESOLVE_IN_ROOT) */
};

/* Can it be looked at? What runs a program that it may not read can't. */
bool lead_is_open(pid_t thread);
dev_t lead_device(int fd); /* of what is open, asked of nobody; 0: it can't be told */

/* *ret_path: where what `path` (absolute) names is, or would be made, as the sandbox calls it; freed by the caller.
 * -ENOENT, -ENOTDIR, -ELOOP …: as the thread's own walk would fail. -EXDEV: it can't be told. */
int lead_find(const struct lead *lead, const char *path, char **ret_path);

/* What `path` (as the thread has it, also from its working folder) leads to, as a name alone (O_PATH), whatever
 * `last` and `there` say; *ret_path: what the sandbox calls it, or NULL where that can't be told (a folder too deep).
 * Errors as above; -ENOENT also behind a node of the curtain. */
int lead_open(const struct lead *lead, const char *path, int *ret_fd, char **ret_path);
