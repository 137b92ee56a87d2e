/*
 * curtain: the file doorbell: a FUSE file system whose nodes hang where hidden things may be asked for.
 *
 * A node's path is the host's path. Promises: a request is held only where the kernel has no lock of a folder or file
 * taken for it, so that nothing that waits keeps others (or the portal) waiting; tells nothing of the host but names,
 * types and links that an ask rule covers; reads the host only with lstat(2), readlink(2) and readdir(3), bounded,
 * links never followed; hostile bytes are parsed in curtain_wire.c alone. Every error refuses.
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "curtain/doorbell.h"

struct curtain;

struct curtain_options {
	struct event_base *base;
	pid_t portal; /* its walks are answered at once, whatever is hidden; 0: none */
	pid_t init;   /* process 1 of the sandbox: only its pid namespace rings */
	uid_t uid;    /* the user, as the sandbox's owning user namespace calls them */
	gid_t gid;
	struct promptly *promptly;                              /* borrowed; NULL: a tool's memory is waited for */
	struct sight (*sight)(void *context, const char *path); /* no system call, microseconds */
	/* The thread's call waits: done() exactly once and later, unless dropped. Returns a ticket, 0: refused. */
	uint64_t (*hold)(void *context, pid_t thread, const struct need *need, held_done *done, void *argument);
	void (*interrupted)(void *context, uint64_t ticket); /* the kernel says that a signal came */
	void (*drop)(void *context, uint64_t ticket);
	/* The connection was aborted, by an administrator, fs.fuse.max_request_timeout or the last mount's end: its
	 * nodes are dead, what was held has failed. Nothing but curtain_free may follow. */
	void (*ended)(void *context);
	void *context;
};

/* Serves the FUSE device (opened in the sandbox's owning user namespace, its superblock mounted with
 * default_permissions; nodes neither read-only nor noexec), which is taken over also on failure. */
int curtain_new(int device, const struct curtain_options *options, struct curtain **ret_curtain, struct error *error);
void curtain_set_portal(struct curtain *curtain, pid_t portal);
void curtain_free(struct curtain *curtain); /* what is held still is refused */
