/*
 * fake_broker: answers what a runner asks, from a view that the test made; no rules, no store.
 */
#pragma once

#include <sys/types.h>

#include "schema/view.h"

/* Serve at `path` in a process of its own: hello, session-open (with the view), agent, resolve (the view's longest
 * entry above the path; `matched` is absent), check (denied), event (appended to `events`), session-close. */
pid_t fake_broker_start(const char *path, const struct view *view, const char *matched, const char *events);
void fake_broker_stop(pid_t pid);
