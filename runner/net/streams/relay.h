/*
 * relay: bytes both ways between two connected sockets, by splice(2).
 *
 * Promises: byte-exact; an end of one way is passed on and the other way goes on (half-close); a reset is passed on as
 * a reset; memory is bounded whatever the ends do (what the receiver doesn't take stays in the sender's socket); an
 * idle relay holds two descriptors and is never ended for being idle.
 */
#pragma once

#include <event2/buffer.h>
#include <event2/event.h>
#include <stdint.h>

#include "pipes.h"

struct relay;

/*
 * Hears what near says until it passes, or far has said something: `said` is all of it so far, at most LIMIT_HEARD
 * bytes; the last piece waits for the answer. `ended`: near says no more. Never from inside relay_new.
 */
enum relay_order {
	RELAY_PASS, /* it goes on, as does all that comes */
	RELAY_MORE, /* it goes on, and what comes is heard, too */
	RELAY_HOLD, /* it waits for relay_release, or the end */
};
typedef enum relay_order relay_heard(void *argument, const char *said, size_t size, bool ended);

/* near: the tool's end, far: the host's. Both non-blocking, both taken over. What `near_pending` holds was read from
 * near already, `far_pending` likewise (or is said in its name): passed on first; drained here, either may be NULL. */
struct relay_ends {
	int near, far;
	struct evbuffer *near_pending, *far_pending;
	relay_heard *heard; /* with relay_new's argument; or NULL */
};

/* Called once when both ways have ended or one failed, never from inside relay_new; must free the relay. */
typedef void relay_done(void *argument, int code /* 0 or errno */);

struct relay *relay_new(struct event_base *base, struct pipes *pipes, const struct relay_ends *ends, relay_done *done,
			void *argument);
void relay_release(struct relay *relay);            /* what was held goes on; never from within `heard` */
uint64_t relay_sent(const struct relay *relay);     /* bytes from near to far */
uint64_t relay_received(const struct relay *relay); /* bytes from far to near */
void relay_free(struct relay *relay);               /* resets both ends unless they have ended in order */
