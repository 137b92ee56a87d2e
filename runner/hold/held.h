/*
 * held: the calls of a sandbox that wait for an answer, whichever doorbell rang.
 *
 * Promises: each waits on its own; equal needs share one question, and what the user allows for one call lets the call
 * through that the question showed, the others are asked about anew; they are, too, when that call is gone before an
 * answer came. A signal with a handler, the freezer, the death of the thread and the broker's time-out settle it;
 * nothing waits when the runner ends. Never blocks. Every error refuses.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/memory.h"
#include "curtain/doorbell.h"
#include "live.h"
#include "schema/verdict.h"

struct held;

struct held_options {
	struct event_base *base;
	struct live *live; /* borrowed */
	/* Ask the broker: done() exactly once, now or later, unless cancelled. Returns a ticket for cancel, 0 when
	 * done() was called already. */
	uint64_t (*check)(void *context, pid_t thread, const struct need *need,
			  void (*done)(void *argument, const struct verdict *verdict), void *argument);
	void (*cancel)(void *context, uint64_t check);
	/* The name in the folder that the thread's call is about (need.name); freed by the caller. NULL: there is none.
	 * The function may be NULL, too. */
	char *(*name)(void *context, pid_t thread, const struct need *need);
	/* Have what a grant gives by its pattern alone in the next plan (given.h); false: it can't be. May be NULL.
	 */
	bool (*give)(void *context, const struct need *need);
	/* Is what is needed in a folder that only has to be opened up, so that the call meets what is in it? Then a
	 * plan that does so is on its way (live_when). May be NULL. */
	bool (*unfolds)(void *context, const struct need *need);
	/* A call that was refused, for the last words; may be NULL. */
	void (*refused)(void *context, const struct need *need, const struct verdict *verdict);
	void *context;
};

struct held *held_new(const struct held_options *options);

/* The thread's call waits. done() is called exactly once, never from within held_add. Returns its ticket, never 0. */
uint64_t held_add(struct held *held, pid_t thread, const struct need *need, held_done *done, void *argument);

/* The kernel says that a signal came (FUSE_INTERRUPT): look at the thread every LIMIT_HELD_LOOK_MS from now on. */
void held_interrupted(struct held *held, uint64_t ticket);

/* Nobody will say so (a seccomp notification): look at it every LIMIT_HELD_LOOK_MS. */
void held_watch(struct held *held, uint64_t ticket);

void held_drop(struct held *held, uint64_t ticket);         /* the requester is gone: done() is not called */
void held_settle_all(struct held *held, enum held_end end); /* suspend, end */
void held_flush(struct held *held); /* done() of what is settled now, not in the next turn. Not from within done() */
size_t held_count(const struct held *held);
void held_free(struct held *held); /* those that wait are not told: their doorbells go first */
