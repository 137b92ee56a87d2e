/*
 * flows: datagrams of the sandbox's connected UDP sockets, relayed to where their destination stands for.
 *
 * Promises: byte-exact and whole (a datagram is passed on as it came or not at all); nothing leaves before the gate has
 * allowed host:port, and nothing is asked before a first datagram comes (getaddrinfo connects UDP sockets to sort what
 * it found, and never sends). Each source has a socket of its own on the host, and a lease (door "udp"): cut when its
 * grant ends, ended after LIMIT_FLOW_IDLE_MS without a datagram either way. After a refusal, a cut, or a closed port at
 * the other end the tool's next datagram meets a closed port (ECONNREFUSED): it has to connect anew.
 * Everything is bounded (LIMIT_FLOW…): what is over is dropped, as datagrams are where a queue is full.
 */
#pragma once

#include <event2/event.h>
#include <netinet/in.h>
#include <stddef.h>

#include "diag.h"
#include "net/gate/gate.h"
#include "net/streams/spares.h"

struct flows;

struct flows_options {
	struct event_base *base;
	struct gate *gate;     /* borrowed, outlives them */
	struct spares *spares; /* likewise */
	struct diag *diag;     /* likewise; of the sandbox's network; NULL: it can't be asked who is connected */
};

struct flows *flows_new(const struct flows_options *options);
void flows_free(struct flows *flows);

/*
 * Before a UDP socket of the sandbox is connected to `address` (address_read; a stand-in, or an address that was
 * written in figures, with a port that isn't 0), which means `host` at that port: a listener is there from now on, and
 * `caller` (borrowed; NULL: not known) is who asks if a datagram comes. *ret_port is where to connect the tool's socket
 * to, in the network's order: the same port, or another one where the tool's own server holds that one.
 * -EAGAIN: no spare socket is there now (spares_when); others: it can't be had, and nothing will answer there.
 */
struct address;
int flows_listen(struct flows *flows, const struct address *address, const struct host *host,
		 const struct gate_caller *caller, in_port_t *ret_port);

struct flows_counts {
	size_t listeners, flows;
};
struct flows_counts flows_count(const struct flows *flows);
