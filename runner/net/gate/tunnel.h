/*
 * tunnel: an allowed connection: bytes both ways between the tool's end and the host's, under a lease.
 *
 * Promises: when the tool speaks first, what it says goes on only when it asks for no other host than the one that was
 * allowed, or for one that is allowed at that port, too (hello.h; nobody is asked); else both ends are reset and the
 * history has the denial. Not looked at are addresses and localhost, where no name was allowed, what the far side sends
 * first, and what comes after. The lease is ended with what was carried.
 */
#pragma once

#include "gate.h"
#include "net/streams/relay.h"

struct tunnel;

struct tunnel_options {
	struct event_base *base;
	struct gate *gate;
	struct pipes *pipes;
	struct relay_ends ends;   /* taken over */
	struct gate_lease *lease; /* taken over; what cuts it is the tunnel's from now on */
	const struct host *host;  /* that was allowed, and connected to. Copied. NULL: what is said isn't looked at */
	uint16_t port;
	/* Once, never from inside tunnel_new: both ways have ended, one failed, or it was cut or refused. Its ends are
	 * closed and the lease is ended. Free it then, or later. */
	void (*ended)(void *argument);
	void *argument;
};

struct tunnel *tunnel_new(const struct tunnel_options *options);
void tunnel_free(struct tunnel *tunnel); /* cuts one that lives; `ended` isn't called */
