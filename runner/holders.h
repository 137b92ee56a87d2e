/*
 * holders: what a process of a sandbox still has open of what was taken from it.
 *
 * Promises: the kernel's mount ids say what is held (descriptors, program, working and root folder, of each thread); of
 * memory maps, where it tells none, path and inode do, and of a part that is hidden within a tree, the path. Sends
 * nothing into the sandbox's file systems. Bounded (LIMIT_HOLDERS, LIMIT_HOLDER_FILES).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/memory.h"
#include "base/string.h"

struct taken_mounts {
	struct strings paths; /* where they were mounted */
	uint64_t *ids;
	size_t count;
};

/* Zero-initialise. */
struct taken {
	struct taken_mounts whole; /* nothing of them is allowed */
	struct taken_mounts parts; /* not all of them: who has any folder of them open can walk to the rest */
	struct strings covered;    /* what is hidden within a mount, told by path: of those of `parts`, too */
};
void taken_add(struct taken_mounts *mounts, uint64_t id, const char *path);
bool taken_is_empty(const struct taken *taken);
void taken_finish(struct taken *taken);

/* By how much of it can be reached. */
enum holds {
	HOLDS_NOTHING,
	HOLDS_FILE,   /* files alone */
	HOLDS_UNSEEN, /* what nobody can look at: descriptors in a message that waits, more than are looked at */
	HOLDS_FOLDER, /* all that lies in it */
};

struct holding {
	enum holds holds;
	char *path;   /* of the first such; NULL with HOLDS_NOTHING */
	bool sockets; /* it has Unix sockets, in which descriptors travel */
};
void holder_look(pid_t pid, const struct taken *taken, struct holding *ret_holding);
void holding_finish(struct holding *holding);
#define CLEANUP_HOLDING CLEANUP(holding_finish)

struct holder {
	pid_t pid; /* here, not inside */
	char *command, *path;
};

/* Zero-initialise. */
struct holders {
	struct holder *items; /* the first LIMIT_HOLDERS_TOLD */
	size_t count;         /* of items */
	size_t all;
};
/* `command` and the path are taken over. */
void holders_add(struct holders *holders, pid_t pid, char *command, struct holding *holding);
void holders_finish(struct holders *holders);
#define CLEANUP_HOLDERS CLEANUP(holders_finish)

/* Zero-initialise. */
struct pids {
	pid_t *items;
	size_t count;
};
void pids_add(struct pids *pids, pid_t pid);
bool pids_have(const struct pids *pids, pid_t pid);
void pids_finish(struct pids *pids);

/* The children of a process, of all its threads, as long as there are no more than LIMIT_HOLDERS in all. */
void processes_add_children(struct pids *pids, pid_t pid);
bool process_has_ended(pid_t pid); /* or is gone */

/* The processes of the sandbox but its first, those that have children before them; freed by the caller. At most
 * LIMIT_HOLDERS. */
size_t sandbox_processes(pid_t init, pid_t **ret_pids);
