/*
 * readiness: what a non-blocking socket can do, as far as is known.
 *
 * Promises: `readable` and `writable` stay until their owner has met EAGAIN and says so; from then on, and only then,
 * the socket is waited for in that direction. What its owner doesn't want yet wakes nobody, and a socket that is read
 * or written again and again costs the loop nothing. A new socket counts as writable and not as readable.
 */
#pragma once

#include <stdbool.h>

#include "base/loop.h"

struct readiness {
	bool readable, writable;
	struct event *reads, *writes, *turn;
	void (*wake)(void *argument);
	void *argument;
};

/* `wake` runs from the loop when the socket can do more than before. The socket is borrowed. */
void readiness_watch(struct readiness *readiness, struct event_base *base, int fd, void (*wake)(void *argument),
		     void *argument);
void readiness_end(struct readiness *readiness); /* before the socket is closed */

void readiness_not_readable(struct readiness *readiness);
void readiness_not_writable(struct readiness *readiness);
void readiness_wake_soon(struct readiness *readiness); /* run `wake` from the loop, after others had their turn */
