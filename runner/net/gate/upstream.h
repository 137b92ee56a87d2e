/*
 * upstream: what is said to the upstream proxy, so that it makes a connection: CONNECT (RFC 9110 9.3.6), with Basic
 * credentials where the policy has some (RFC 7617).
 *
 * Promises: its reply is bounded by LIMIT_HEADER, interim replies with it, and read to its end and no byte further, so
 * that what comes next is the far host's; the credentials are in no message.
 */
#pragma once

#include <event2/event.h>

#include "schema/upstream.h"

struct handshake;

/* `fd`: connected to the proxy, non-blocking; borrowed. `done` is called once, never from inside handshake_start, and
 * not after handshake_cancel: with 0, or an errno and a sentence. */
typedef void handshake_done(void *argument, int code, const char *message);
struct handshake *handshake_start(struct event_base *base, int fd, const struct upstream *upstream,
				  const struct host *host, uint16_t port, handshake_done *done, void *argument);
void handshake_cancel(struct handshake *handshake);
