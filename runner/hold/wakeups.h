/*
 * wakeups: where a thread goes on that was answered.
 *
 * Promises: synchronously (SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP: on the processor of who answers and is about to wait) as
 * long as nobody else can run, which spares both a wake-up of another processor. Otherwise the kernel chooses: in a
 * parallel build the thread would stand in that one processor's queue. Where that can't be told, as in the beginning,
 * synchronously. For one thread at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/memory.h"

struct wakeups {
	int listener; /* borrowed */
	int load;     /* /proc/loadavg, or -1 */
	bool synchronous;
};

struct wakeups wakeups_new(int listener);
void wakeups_look(struct wakeups *wakeups);
void wakeups_finish(struct wakeups *wakeups);
