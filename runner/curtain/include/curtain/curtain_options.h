/*
 * curtain_options: what a curtain is told when it is made, and whom it asks and tells from then on.
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>
#include <sys/types.h>

#include "curtain/doorbell.h"

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
