/*
 * stub: the name server of a sandbox's own network (design section 7; attack N5).
 *
 * Promises: no question leaves the sandbox before its name is allowed. A and AAAA are answered with the name's stand-in
 * (net/standins.h), both whenever one is: which is used decides nothing. PTR of a stand-in is its name, localhost is
 * the loopback (RFC 6761), names that rules deny don't exist, and neither do those that don't normalise. SRV and TXT of
 * allowed names, alone, are asked of the host's name servers, and rebuilt. Every other type has no data: an HTTPS
 * record could hide a name (ECH). Malformed questions, and any number of them, cost a bounded piece of each turn of the
 * loop. Whatever it is asked it blocks nothing.
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>

#include "base/error.h"
#include "net/streams/spares.h"
#include "schema/verdict.h"
#include "standins.h"

struct stub;
struct record_source;

struct stub_judge {
	void *context;
	/* May this name be looked up (allow, ask: yes)? `done` is called exactly once, now or later, unless cancelled
	 * before. Returns a ticket for cancel, 0 if done was already called. */
	uint64_t (*name)(void *context, const char *host, void (*done)(void *argument, const struct verdict *verdict),
			 void *argument);
	void (*cancel)(void *context, uint64_t ticket);
	/* It was denied: for the last words. May be NULL. */
	void (*denied)(void *context, const char *host, const struct verdict *verdict);
};

/* Borrows the stand-ins and the spares (for a listener over TCP, once an answer is too long for a datagram); copies the
 * judge. */
struct stub *stub_new(struct event_base *base, struct standins *standins, struct spares *spares,
		      const struct stub_judge *judge);
void stub_free(struct stub *stub);

/*
 * Answer on 127.0.0.1:53 or [::1]:53 of the network that this datagram socket was made in, by its domain. The socket is
 * taken over, also when it fails. At most two.
 */
int stub_serve(struct stub *stub, int fd, struct error *error);

void stub_use_source(struct stub *stub, const struct record_source *source); /* a test's; copied */
