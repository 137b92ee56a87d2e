/*
 * lead: which name a path leads to, past the links that the tool has laid.
 *
 * Promises: advisory, as the call's paths are (call.h): the tool can change the way while it is walked. Walks as the
 * thread would, from its own root or folder, but never into the curtain, which this process serves. Opens by name alone
 * (O_PATH); sends nothing to the thread. What it can't tell is an error.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct lead {
	pid_t thread;  /* that walks */
	int folder;    /* its descriptor that a path begins at which isn't absolute, or AT_FDCWD */
	dev_t curtain; /* of its nodes; 0: there are none */
	bool last;     /* a link at the end is followed, too */
	bool still;    /* nothing was mounted since the sandbox began: a working folder is where its name says */
	bool covered;  /* what the sandbox has something else by the name of has that name, too: a newer mount is there
			*/
	bool there;    /* what is named is there, not made: also behind a link of /proc at the end (/proc/self/fd/5) */
};

dev_t lead_device(int fd); /* of what is open, asked of nobody; 0: it can't be told */

/* *ret_path: where what `path` (as the thread has it) names is, or would be made, as the sandbox calls it; freed by the
 * caller. NULL: the sandbox has no name for it that a rule could speak of: it is too deep, or it is there and was
 * removed, is of the host's alone, or never had a name (memfd_create(2)). Below the last folder that is there, or that
 * can be entered, names are taken as they stand. -ENOENT, -ENOTDIR, -ELOOP …: as the thread's own walk would fail.
 * -EACCES, -EXDEV …: it can't be told. */
int lead_find(const struct lead *lead, const char *path, char **ret_path);
/* Likewise. *ret_by_object: it was come to by a descriptor or working folder, also one of /proc, and by no name. */
int lead_find_how(const struct lead *lead, const char *path, char **ret_path, bool *ret_by_object);

/* What `path` leads to, as a name alone (O_PATH), whatever `there` says; *ret_path as above. Errors as above;
 * -ENOENT also for what would be made; -ESTALE behind a node of the curtain, where that can't be told. */
int lead_open(const struct lead *lead, const char *path, int *ret_fd, char **ret_path);

/* The thread's root, as a name alone, or a negative errno. It is that of all its sandbox: nobody in there can change it
 * (filter_make.c). */
int lead_root(pid_t thread);

/* Quicker than lead_find, of a name that is made, changed or removed, where its folder is there, with no link on the
 * way to it and, if `last`, none at the end. `root` is that of the sandbox, or -1: then nothing that begins there is
 * looked at. The walk begins at the thread's own folder or descriptor; *ret_path is by that one's name, which may be a
 * newer mount's by now. -EAGAIN: it takes lead_find, and *ret_path is NULL. */
int lead_straight(const struct lead *lead, int root, const char *path, char **ret_path);
