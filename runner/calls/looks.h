/*
 * looks: at held threads, for whether a signal, the freezer or death wants them back (attack K9).
 *
 * Promises: each is looked at every LIMIT_HELD_LOOK_MS, at most LIMIT_HELD_LOOKS a time, in turn. Reads /proc and the
 * control groups' files alone (pending.h). Each is told at most once.
 */
#pragma once

#include <event2/event.h>
#include <sys/types.h>

#include "base/memory.h"
#include "pending.h"

struct looks;
struct look; /* one held thread */

/* frozen(): its control group is about to be frozen: all have to come back. It may free looks. */
struct looks *looks_new(struct event_base *base, void (*frozen)(void *context), void *context);
void looks_free(struct looks *looks); /* all looks are freed by then */

/* interrupted(): from the loop, with what wants the thread back; it may free looks, this one too. */
struct look *look_new(struct looks *looks, pid_t thread, void (*interrupted)(void *argument, enum pending why),
		      void *argument);

/* The kernel says that something woke the thread: it is looked at now, and interrupted() may be called from within. */
void look_woken(struct look *look);
void look_free(struct look *look); /* NULL is allowed */
