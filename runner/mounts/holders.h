/*
 * holders: what a process of a sandbox still has open of what was taken from it.
 *
 * Promises: the kernel's mount ids say what is held (descriptors, program, working and root folder, of each thread); of
 * a part that is hidden or read-only within a tree, the path, and of the latter whether the mount may be written. A
 * memory map, for which the kernel tells neither, is held unless its file is one that the plan in force shows under the
 * path that the kernel gives it. What lives and can't be looked at counts as held (HOLDS_UNSEEN). Sends nothing into
 * the sandbox's own file systems. Bounded (LIMIT_HOLDERS, LIMIT_HOLDER_FILES).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/memory.h"
#include "base/string.h"
#include "mountinfo.h"
#include "session/settled.h"

struct taken_mounts {
	struct strings paths; /* where they were mounted */
	struct taken_mount {
		uint64_t id;
		dev_t device; /* of its file system, as mountinfo and maps have it; 0: not known */
		bool written; /* it could not be made read-only */
		size_t calls; /* of those that it was there for */
	} * items;
	size_t count;
};

/* Zero-initialise. */
struct taken {
	struct taken_mounts whole; /* nothing of them is allowed */
	struct taken_mounts parts; /* not all of them: who has any folder of them open can walk to the rest */
	struct taken_mounts once;  /* allowed for some calls alone, each of which may have opened a file */
	struct taken_file {
		uint64_t mount, inode;
	} * kept; /* what these calls have opened: the first files of each mount that are found */
	size_t kept_count;
	struct strings covered;   /* what is hidden within a mount, told by path: of those of `parts`, too */
	struct strings read_only; /* what may be read alone within a mount that may be written, told by path, too: who
				   * has come upon it by that mount writes it still */
	struct strings replaced;  /* masked, and the host has put another file or folder there: of a file, who may read
				   * it alone holds nothing */
	bool written;             /* some of it could not be made read-only */
	struct mountinfo host;    /* the runner's own */
	/* Does the plan in force show it, to be written where that is asked? NULL: it shows nothing. */
	bool (*shows)(const void *context, const char *path, bool written);
	const void *context;
};
void taken_add(struct taken_mounts *mounts, const struct taken_mount *mount, const char *path);
bool taken_is_empty(const struct taken *taken);
void taken_finish(struct taken *taken);

/* By how much of it can be reached. */
enum holds {
	HOLDS_NOTHING,
	HOLDS_FILE,   /* files alone */
	HOLDS_UNSEEN, /* what nobody can look at: descriptors in a message that waits, more than are looked at, the
		       * process itself where its program can't be read */
	HOLDS_FOLDER, /* all that lies in it; or a file that can be opened anew to be written, or that no call was for
		       */
};

struct holding {
	enum holds holds;
	char *path;   /* of the first such; NULL with HOLDS_NOTHING */
	bool sockets; /* it has Unix sockets, in which descriptors travel */
};
/* Also notes what is found of `once` in it. */
void holder_look(pid_t pid, struct taken *taken, struct holding *ret_holding);
void holding_finish(struct holding *holding);
#define CLEANUP_HOLDING CLEANUP(holding_finish)

/* `command` and the path are taken over. */
void holders_add(struct holders *holders, pid_t pid, char *command, struct holding *holding);

/* Zero-initialise. */
struct pids {
	pid_t *items;
	size_t count;
};
void pids_add(struct pids *pids, pid_t pid);
bool pids_have(const struct pids *pids, pid_t pid);
void pids_finish(struct pids *pids);

/* The children of a process, of all its threads, as long as there are no more than LIMIT_HOLDERS in all. False: it
 * lives, and not all of them could be listed. */
bool processes_add_children(struct pids *pids, pid_t pid);
bool process_has_ended(pid_t pid); /* or is gone; also of a thread */

/* The processes of the sandbox but its first, those that have children before them; freed by the caller. At most
 * LIMIT_HOLDERS. */
size_t sandbox_processes(pid_t init, pid_t **ret_pids);
