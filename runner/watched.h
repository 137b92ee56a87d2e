/*
 * watched: folders of the host in which a new or vanished name changes the plan: any name (plan.h, `watched`), or that
 * of something that is shown, or of a folder above it.
 *
 * Promises: inotify(7), names alone; bounded reads a turn, so that who makes many names keeps nothing else from its
 * turn. What can't be watched is left: the next plan sees it. Watching begins WATCHED_BEGINS_MS after watched_new,
 * since closing an inotify descriptor with watches takes the kernel milliseconds (an RCU grace period), which a short
 * run would wait for; what changes before is noticed then.
 */
#pragma once

#include <event2/event.h>

#include "base/memory.h"
#include "plan.h"

struct watched;

struct watched *watched_new(struct event_base *base, void (*stirred)(void *context), void *context);
void watched_follow(struct watched *watched, const struct plan *plan); /* what this one needs, and nothing else */
void watched_free(struct watched *watched);
DEFINE_CLEANUP(struct watched *, watched_free);
