/*
 * holders: the processes of a sandbox that still have open what was taken from it.
 *
 * Promises: the kernel's mount ids say what is held (descriptors, working and root folder, of each thread); of memory
 * maps, where it tells none, path and inode do. Descriptors in a message that nobody has received can't be looked at,
 * nor can more than LIMIT_HOLDER_FILES: a process that has such is taken for a holder. Sends nothing into the sandbox's
 * file systems. Bounded (LIMIT_HOLDERS). A process is ended only when it is in the sandbox and holds something after
 * its pidfd was opened.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/memory.h"
#include "base/string.h"

struct taken {
	struct strings paths; /* where it was mounted */
	uint64_t *mounts;     /* ids */
	size_t mount_count;
	struct strings covered; /* hidden within a mount that is there still (a denial of a part of it): told by path */
};
void taken_cover(struct taken *taken, const char *path);
void taken_uncover(struct taken *taken, const char *path);
void taken_add(struct taken *taken, const struct strings *paths, const uint64_t *mounts, size_t count);
void taken_finish(struct taken *taken);

struct holder {
	pid_t pid; /* here, not inside */
	char *command, *path;
};

struct holders {
	struct holder *items; /* the first LIMIT_HOLDERS_TOLD */
	size_t count;         /* of items */
	size_t all;
};

/* `init`: process 1 of the sandbox, which holds nothing. */
void holders_find(pid_t init, const struct taken *taken, struct holders *ret_holders);
void holders_finish(struct holders *holders);
#define CLEANUP_HOLDERS CLEANUP(holders_finish)

/* The processes of the sandbox but its first, those that have children before them; freed by the caller. At most
 * LIMIT_HOLDERS. */
size_t sandbox_processes(pid_t init, pid_t **ret_pids);

/* SIGKILL for each; who may have handed something on meanwhile is looked for again. Past LIMIT_HOLDERS, and when it
 * comes to no rest, the whole sandbox is ended. Returns how many. */
size_t holders_kill(pid_t init, const struct taken *taken);
