/*
 * hearing: what the first bytes of a connection ask for that waits for its verdict, so that the question can say it.
 *
 * Promises: the bytes are looked at and stay where they are; it takes LIMIT_HEAR_MS at most.
 */
#pragma once

#include <event2/event.h>

#include "schema/host.h"

struct hearing;

/* `near`: the tool's end, connected; borrowed until `done`, which is called once, never from inside hearing_start, and
 * not after hearing_cancel: with another host than `host`, or NULL. */
typedef void hearing_done(void *argument, const char *says);
struct hearing *hearing_start(struct event_base *base, int near, const struct host *host, hearing_done *done,
			      void *argument);
void hearing_cancel(struct hearing *hearing);
