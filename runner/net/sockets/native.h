/*
 * native: the gate's door for tools that know of no proxy: the connect(2) of a TCP socket of the sandbox.
 *
 * Promises: the tool's socket stays its own. We connect it, on our duplicate, to a listener of ours inside, and what is
 * accepted there is relayed to where the gate has connected; nothing of the host's enters the sandbox. A blocking
 * connect waits for the answer and the connection, and fails with the true error; one that doesn't block is connected
 * at once, and its bytes wait until there is an answer: a refusal resets it. Each live connection has a lease (door
 * "native"): it is cut when its grant ends. At most LIMIT_CONNECTIONS, held or live. Never blocks.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/string.h"
#include "net/gate/gate.h"

struct native;
struct socket_call;
struct spares;

/* All are borrowed and outlive the door. */
struct native_options {
	struct event_base *base;
	struct gate *gate;
	struct spares *spares;
	/* Who a thread is, for the question: *ret_process may be NULL. Both freed by the caller. */
	void (*describe)(void *context, pid_t thread, char **ret_process, struct strings *ret_parents);
	/* Where the verdict says `direct: true`: true when the tool has the host's socket now; the call has ended then,
	 * and the result's socket is taken over. NULL: never. A connect that doesn't block then waits for the answer,
	 * LIMIT_DIRECT_HOLD_MS at most. */
	bool (*hand_over)(void *context, struct socket_call *call, const struct gate_result *result);
	void *context;
};

struct native *native_new(const struct native_options *options);

/* The call, a TCP socket's that has no connection, is to lead to host:port: a listener at its address will stand for
 * that. `refusal`: the errno of a call that is denied. The call is taken over. */
void native_connect(struct native *native, struct socket_call *call, const struct host *host, uint16_t port,
		    int refusal);

/* For tests: connections, those that are held included. */
size_t native_count(const struct native *native);

/* Resets all connections; calls that are held fail with EINTR. Before the gate and the spares. */
void native_free(struct native *native);
