/*
 * pending: does a signal want a held thread to come back from its call?
 *
 * Promises: reads /proc/TID/status and the control group's files alone, bounded; touches nothing of the sandbox's. A
 * signal is meant when it would end or stop the thread, or has a handler and is one that interrupts calls as a person
 * or a timer means it (the table in pending.c): then the thread may make its call again when the handler has run. All
 * others are left pending: Go's SIGURG, SIGCHLD, SIGPROF restart nothing.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum pending {
	PENDING_NONE,    /* no signal at all: whatever woke it was none */
	PENDING_OTHER,   /* some that are not meant */
	PENDING_HANDLED, /* one that is meant, with a handler, and none that ends or stops the thread */
	PENDING_MEANT,
	PENDING_GONE, /* the thread has died */
};

/* *ret_alone: it is the only thread of its process, so nobody else can have taken a signal that came. */
enum pending pending_read(pid_t thread, bool *ret_alone);

/* Is its control group, or one above it, about to be frozen (cgroup.freeze, cgroups(7))? */
bool pending_freeze(pid_t thread);
