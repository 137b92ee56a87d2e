/*
 * connect: the first of several addresses that answers (happy eyeballs, RFC 8305).
 *
 * Promises: families alternate, a further attempt starts every 250 ms or as soon as one failed, the first that connects
 * wins and the others are closed. A datagram socket is connected at once to the first that there is a route to. `done`
 * is called exactly once, never from inside connect_start, and not after connect_cancel: with a connected, non-blocking
 * socket that the callee owns, or -1 and the true errno.
 */
#pragma once

#include <event2/event.h>

#include "net/parse/address.h"

struct connector;

typedef void connect_done(void *argument, int fd, int code);
struct connector *connect_start(struct event_base *base, const struct addresses *addresses,
				int type /* SOCK_STREAM, SOCK_DGRAM */, connect_done *done, void *argument);
void connect_cancel(struct connector *connector);
