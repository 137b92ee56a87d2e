/*
 * flows: datagrams of the sandbox's connected UDP sockets, relayed to where their destination stands for.
 *
 * Promises: byte-exact and whole (a datagram is passed on as it came or not at all); nothing leaves before the gate has
 * allowed host:port, and nothing is asked before a first datagram comes (getaddrinfo connects UDP sockets to sort what
 * it found, and never sends). Each source has a socket of its own on the host, and a lease (door "udp"): cut when its
 * grant ends, ended after LIMIT_FLOW_IDLE_MS without a datagram either way. A refusal, and a port that the host found
 * closed, is told to the source as the network would: its socket gets ECONNREFUSED.
 * Everything is bounded (LIMIT_FLOW_…): what is over is dropped, as datagrams are where a queue is full.
 */
#pragma once

#include <event2/event.h>
#include <stddef.h>
#include <sys/socket.h>

#include "net/gate.h"

struct flows;
struct spares;

/* All are borrowed and outlive the flows. */
struct flows *flows_new(struct event_base *base, struct gate *gate, struct spares *spares);
void flows_free(struct flows *flows); /* before the gate */

/*
 * Before a UDP socket of the sandbox is connected to `address` (a stand-in, or an address that was written in figures;
 * not port 0), which means host:port: a listener is there from now on. *ret_address is where to connect the tool's
 * socket to: `address` itself, or another port of it where the tool's own server holds that one.
 * -EAGAIN: no spare socket is there now (spares_when); -EADDRINUSE, -EADDRNOTAVAIL: it can't be had.
 */
int flows_listen(struct flows *flows, const struct sockaddr *address, const struct host *host,
		 struct sockaddr_storage *ret_address, socklen_t *ret_size);

/* For tests: listeners, and flows of all of them. */
struct flows_counts {
	size_t listeners, flows;
};
struct flows_counts flows_count(const struct flows *flows);
