/*
 * connects: where a connect(2) or sendto(2) of an IPv4, IPv6 or netlink socket of the sandbox goes.
 *
 * Promises: nothing that a sandbox connects to is of the host but by the gate. What means nothing outside (its own
 * loopback, AF_UNSPEC, a socket that has a connection) is carried out on the duplicate with the one copy of the
 * address, and ends as the kernel says; a socket that blocks waits in the loop, not in us. localhost is the sandbox's
 * own where something listens there, else the host's where something listens there, else refused.
 * Nothing is done for a tool that our rights allow and its own don't.
 */
#pragma once

#include <event2/event.h>
#include <sys/types.h>

#include "base/string.h"

struct connects;
struct diag;
struct flows;
struct native;
struct socket_call;
struct spares;
struct standins;

/* All are borrowed and outlive it. */
struct connects_options {
	struct event_base *base;
	struct native *native;     /* NULL: nothing leaves the sandbox from here, all is carried out inside */
	struct flows *flows;       /* for UDP; NULL as above */
	struct spares *spares;     /* with flows */
	struct standins *standins; /* with native */
	struct diag *inside;       /* of the sandbox's network; NULL: this kernel can't say who listens */
	/* Of the host's; may be NULL. Only asked for where the sandbox's own loopback has nobody: not every sandbox
	 * does. */
	struct diag *(*outside)(void *context);
	/* Who a thread is, for a question about what it sends (native.h). With flows. */
	void (*describe)(void *context, pid_t thread, char **ret_process, struct strings *ret_parents);
	void *context;
};

struct connects *connects_new(const struct connects_options *options);

/* A connect or send call of such a socket; taken over. */
void connects_call(struct connects *connects, struct socket_call *call);

/* Calls that still wait fail with EINTR. */
void connects_free(struct connects *connects);
