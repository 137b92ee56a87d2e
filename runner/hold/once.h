/*
 * once: what was allowed for a held call alone, until that call has returned.
 *
 * Promises: a need is in the view for its thread's call and at most LIMIT_ONCE_MS; whether the call has returned is
 * read from /proc/TID/syscall, which a thread can't write. While it is there other calls of the sandbox can use it,
 * too, but start a program: they are asked about (traps.h).
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/memory.h"
#include "plan/sight.h"

struct onces;

/* `over` is called when something has to go from the view. */
struct onces *onces_new(struct event_base *base, void (*over)(void *context), void *context);
void onces_free(struct onces *onces);
DEFINE_CLEANUP(struct onces *, onces_free);

/* `name`: by which rules speak of what is needed, so that the broker judges where it leads. `alone`: the user has
 * allowed just this call, so what else is opened meanwhile ends with it (onces_ending). */
void onces_add(struct onces *onces, pid_t thread, const struct need *need, const char *name, bool alone);
bool onces_any(const struct onces *onces);
bool onces_none(const struct onces *onces);                                        /* nor any that is about to go */
bool onces_gave(const struct onces *onces, pid_t thread, const struct need *need); /* it is in force */
/* Is it there for a call alone? A program that is goes on being one that is asked about (sight.h). */
bool onces_cover(const struct onces *onces, const char *path);
/* Of the calls that were allowed `alone`, how many gave what is mounted at the path and are left out of the plan made?
 */
size_t onces_ending(const struct onces *onces, const char *path);
void onces_over(struct onces *onces, pid_t thread); /* it makes another call */
/* Its call needs what is at `path`: it is another one, if what the first was given is all that it can need. */
void onces_asked(struct onces *onces, pid_t thread, const char *path);
void onces_put_into(const struct onces *onces, struct view *view);
/* Adds where something may be written for calls alone, and not by what the view says without them. */
void onces_written(const struct onces *onces, const struct view *view, struct strings *paths);
void onces_plan(struct onces *onces);     /* a plan is made: without those whose calls have returned */
void onces_in_force(struct onces *onces); /* it is in force: from now on the calls may return */
