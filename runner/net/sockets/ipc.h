/*
 * ipc: connect(2) and sendto(2) of a sandbox to Unix sockets, as the filter holds them (socket_calls.h).
 *
 * Promises: a socket that a process of the sandbox bound, an abstract one (of the sandbox's own network, attack N13)
 * and what is no socket are as outside. A socket of the host is asked for (ipc:connect) by its path on the host, also
 * where the sandbox doesn't see it; what is connected is the very inode that was looked at before asking. Where no rule
 * speaks of a path the host is not looked at (no oracle, F21). When what allowed a connection ends, so does the
 * connection. A call that a signal's handler interrupts keeps its question for LIMIT_HELD_AWAY_MS, in which its thread
 * makes it again. Bounded (LIMIT_IPC_CALLS, LIMIT_IPC_LINKS); never blocks; every error refuses.
 *
 * Must not: hand a socket of the host in, continue a call, follow a way into the curtain.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "calls/socket_calls.h"
#include "schema/verdict.h"
#include "schema/view.h"

struct ipc;

struct ipc_options {
	struct event_base *base;
	pid_t init;    /* process 1 of the sandbox */
	dev_t curtain; /* of its nodes; 0: there are none */
	/* A Unix socket of the sandbox's network is bound there (diag_bound; ret_name may be NULL). */
	bool (*is_own)(void *context, dev_t device, ino_t inode, char **ret_name);
	/* Ask the broker about ipc:connect of a path, as struct gate_judge (net/gate.h) has it. */
	uint64_t (*check)(void *context, pid_t thread, const char *path,
			  void (*done)(void *argument, const struct verdict *verdict), void *argument);
	uint64_t (*check_again)(void *context, const char *path,
				void (*done)(void *argument, const struct verdict *verdict), void *argument);
	void (*cancel)(void *context, uint64_t ticket);
	/* A call that was refused, for the last words. */
	void (*refused)(void *context, const char *path, const struct verdict *verdict);
	/* A connection that has ended, for the history. */
	void (*report)(void *context, const char *path, int64_t grant, int64_t duration_ms, const char *error);
	void *context;
};

struct ipc *ipc_new(const struct ipc_options *options);
void ipc_call(struct ipc *ipc, struct socket_call *call); /* of AF_UNIX, CONNECT or SEND; ends it, now or later */

/* The broker's pushes: what `sockets` of the view says (copied); grants that ended; rules or denials that are new. */
void ipc_set_view(struct ipc *ipc, const struct view *view);
void ipc_cut(struct ipc *ipc, const int64_t *grants, size_t count);
void ipc_review(struct ipc *ipc);
bool ipc_is_cut(const struct ipc *ipc); /* gate_is_reviewed, and tethers_are_cut */

void ipc_free(struct ipc *ipc); /* what waits is answered with EINTR: before socket_calls_free */
