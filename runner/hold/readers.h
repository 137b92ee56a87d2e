/*
 * readers: threads that receive trapped calls (seccomp_unotify(2)) and look at the threads that made them.
 *
 * Promises: a reader of a tool's memory waits for the tool: for its lock on it, which a fork(2) of gigabytes holds,
 * and for pages that a file system is slow to bring. So a reader may be stuck, and never the loop. There is one reader
 * as long as it is quick; one that is at a call for READERS_STUCK_MS is relieved by another, up to READERS_MAX; past
 * that the sandbox's calls wait. Neither readers_new nor readers_free waits for any of them: one that is stuck goes
 * when its read returns, one that waits for a call when the sandbox has ended, or with this process. Signals stay with
 * the loop's thread.
 */
#pragma once

#include <linux/seccomp.h>

#include "base/error.h"
#include "base/memory.h"
#include "calls/socket_calls.h"

enum { READERS_MAX = 8, READERS_STUCK_MS = 5 };

struct readers;

struct readers_options {
	int listener; /* of the filter; borrowed until `gone` */
	/* In a thread, and in several at once when one is stuck. `caller` is that thread's own. */
	void (*serve)(void *context, const struct seccomp_notif *received, struct socket_caller *caller);
	/* Now and then while calls come, in one thread at a time, which isn't that of a reader. */
	void (*look)(void *context);
	/* In whichever thread is the last, after readers_free: nothing of `context` is used any more. */
	void (*gone)(void *context);
	void *context;
};

/* On an error `gone` isn't called. */
int readers_new(const struct readers_options *options, struct readers **ret_readers, struct error *error);
void readers_free(struct readers *readers);
DEFINE_CLEANUP(struct readers *, readers_free);
