/*
 * traps: the doorbell for what the curtain can't hold: calls that the filter traps (seccomp_unotify(2)).
 *
 * Promises: decides only when to ask. What is let go on meets the mount table, which decides; nothing is carried out
 * for the tool, so a path that is changed after we read it gains nothing (attack K7). The id in a notification is a
 * thread's: the kernel takes no answer to it once that thread is gone, and before anything else comes of what was read
 * of the thread it is looked at again (K6). However many calls come, the rest of the loop has its turn (K5). Nothing
 * goes on from the moment on that the broker withholds the clearance. Never blocks, whatever a tool does to have its
 * memory read slowly (readers.h): that holds up its own calls alone.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "calls/call.h"
#include "calls/socket_calls.h"
#include "curtain/doorbell.h"
#include "network/network.h"
#include "sandbox/filter.h"
#include "session/clearance.h"

struct traps;

struct traps_options {
	struct event_base *base;
	int listener;    /* from REPORT_LISTENER; taken over, also on an error */
	unsigned wanted; /* what filter_build was given */
	dev_t curtain;   /* of the curtain's nodes; 0: there is none */
	/* The thread is in a call that was not allowed anything yet, or isn't any more: what it was allowed before is
	 * over. May be NULL. */
	void (*called)(void *context, pid_t thread);
	struct sight (*sight)(void *context, const char *path);
	const char *(*mask_below)(void *context, const char *folder); /* call_needs.h */
	/* As held_add, and to be looked at (held_watch): nobody else tells of a signal or of the thread's death. */
	uint64_t (*hold)(void *context, pid_t thread, const struct need *need, held_done *done, void *argument);
	void (*drop)(void *context, uint64_t ticket);
	/* Borrowed; NULL: nobody wants to know. Added to, up to a bound: names that calls were allowed to make or
	 * change, and links (links_key). */
	struct strings *allowed;
	struct clearance *clearance; /* borrowed, until traps_free: what goes on needs it */
	/* Is something that the broker has said being read, or has it taken something that may be held still? For
	 * any thread. */
	bool (*behind)(void *context);
	/* Call back once when what was heard until now is carried out, and nobody holds what that takes. */
	void (*carried_out)(void *context, void (*done)(void *argument), void *argument);
	/* Call back once when what the host has just got at a path that the view lets write is mounted, or can't be. */
	void (*remake)(void *context, void (*done)(void *argument), void *argument);
	struct network *network; /* borrowed: takes calls about sockets. NULL: connects are refused */
	void *context;
};

int traps_new(const struct traps_options *options, struct traps **ret_traps, struct error *error);

/* As the option, from now on, of the calls that the filter stops at. */
void traps_want(struct traps *traps, unsigned wanted);

/* What the sandbox sees, for other threads, one at a time. */
struct traps_view {
	struct sight (*seen)(void *context, const char *path);
	bool (*plain)(void *context, const char *path); /* sights_plain */
	void *context;
};

/* From now on calls for which nothing needs to be asked by what the view says go on without the loop. NULL, as in the
 * beginning, and before anything is mounted: all of them are judged on the loop, by `sight`. When this returns nothing
 * of the one before is used any more. */
void traps_see(struct traps *traps, const struct traps_view *view);

/* Of this sandbox until now, for tests and the last words. */
struct traps_counts {
	uint64_t received, held;
};
struct traps_counts traps_count(const struct traps *traps);

/* Calls that wait and those to come fail with ENOSYS: only when the sandbox has ended. */
void traps_free(struct traps *traps);
DEFINE_CLEANUP(struct traps *, traps_free);
#define CLEANUP_TRAPS CLEANUP(traps_free_p)
