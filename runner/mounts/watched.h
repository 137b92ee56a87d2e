/*
 * watched: folders of the host in which a new or vanished name changes the plan: any name (plan.h, `watched`), or that
 * of something that is shown, or of a folder above it; and those in which a name that has a mask, or a folder above it,
 * may be moved away and made anew, which leaves the new one without the mask (masks.h).
 *
 * Promises: inotify(7), names alone; bounded reads a turn, so that who makes many names keeps nothing else from its
 * turn. What can't be watched is left: the next plan sees it, and `moved` is called every WATCHED_PAUSE_MS. Watching
 * begins WATCHED_BEGINS_MS after watched_new, since closing an inotify descriptor with watches takes the kernel
 * milliseconds (an RCU grace period), which a short run would wait for; what changes before is noticed then.
 */
#pragma once

#include <event2/event.h>

#include "base/memory.h"
#include "plan/plan.h"

struct watched;

struct watched_options {
	struct event_base *base;
	void (*stirred)(void *context); /* the plan has changed */
	void (*moved)(void *context);   /* a mask may lie somewhere else, with what was moved */
	void *context;
};

struct watched *watched_new(const struct watched_options *options);
void watched_follow(struct watched *watched, const struct plan *plan); /* what this one needs, and nothing else */
void watched_free(struct watched *watched);
DEFINE_CLEANUP(struct watched *, watched_free);
