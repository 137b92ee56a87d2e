/*
 * portal_spaces: the namespaces that a portal goes to and fro between, and what it needs of them.
 *
 * Promises: after spaces_join the process's capabilities are those of the sandbox's user namespace, cut to what is
 * needed. Paths are walked from `host` or `inside`, never from the process's own root, and no link is followed.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct spaces {
	pid_t parent;                    /* the runner; its end is ours */
	int own_mounts, mounts, network; /* namespaces: of ours, of the sandbox; -1 = not yet */
	int host;                        /* O_PATH: root of the host's view */
	int scratch;                     /* O_PATH: root of a tmpfs of ours, which nobody else sees */
	int inside;                      /* O_PATH: root of the sandbox, after spaces_enter */
	int self;                        /* O_PATH: our folder in the host's /proc */
};

void spaces_init(struct spaces *spaces, pid_t parent);
int spaces_join(struct spaces *spaces, pid_t init, struct error *error);
int spaces_enter(struct spaces *spaces, struct error *error); /* and make the sandbox's mounts private */

/* Stand in the sandbox's mount namespace, which calls on its mounts need; and back, which can't fail. */
int spaces_step_in(const struct spaces *spaces, struct error *error);
void spaces_step_out(const struct spaces *spaces);

/* Stand in the sandbox's network from now on: the process has no business in another. */
int spaces_enter_network(const struct spaces *spaces, struct error *error);

/* The right to change the sandbox's network, which comes with joining, isn't needed any more. */
int spaces_drop_network(struct error *error);

/* O_PATH of `path` (absolute, normal) below `root`; the last name may be a link, none is followed. -1 with errno. */
int spaces_reach(int root, const char *path);
