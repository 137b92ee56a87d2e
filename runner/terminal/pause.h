/*
 * pause: while the question of another run stands on our terminal, what our tool writes is held (broker's push `hold`).
 *
 * Promises: the tool's processes are not held. The broker is told that it is so when also what was handed on to whoever
 * reads our output has been read: that is seen by looking every few milliseconds, during a pause alone.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "ask.h"
#include "outlets.h"
#include "session/session.h"

struct pause;

struct pause_options {
	struct event_base *base;
	struct session *session;
	const struct outlets *outlets; /* borrowed */
	struct asker *asker;           /* asks nothing meanwhile; or NULL */
};

struct pause *pause_new(const struct pause_options *options);
void pause_set(struct pause *pause, int64_t number); /* of the push; 0: it is over */
void pause_without_asker(struct pause *pause);       /* it asks nothing any more; NULL is allowed */
bool pause_is_on(const struct pause *pause);
void pause_free(struct pause *pause); /* NULL is allowed */
