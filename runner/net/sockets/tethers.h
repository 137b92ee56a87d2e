/*
 * tethers: the connections to outside that a sandbox's processes hold themselves, each tied to what allowed it, so that
 * they end when that does.
 *
 * Promises: keeps no descriptor of such a socket, whose peer would never learn that the tool has closed it; it is known
 * by its inode and SO_COOKIE, looked for in the sandbox's processes when it must be cut, and shut down both ways. One
 * that nobody has (it waits in a message) for LIMIT_DIRECT_HIDDEN_MS ends the sandbox. That one has ended is seen
 * within `look_ms`, and never said of one that lives. Which connection rests on which grant the gate's leases know
 * (net/gate.h); of the bytes nothing is known. Bounded (`most`).
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "net/gate/gate.h"
#include "sandbox_sockets.h"

struct tethers;

struct tethers_options {
	struct event_base *base;
	pid_t init;       /* process 1 of the sandbox */
	const char *what; /* is cut, to the user */
	const char *door; /* gate_lease_new */
	int64_t look_ms;
	size_t most; /* at once */
};

struct tethers *tethers_new(const struct tethers_options *options);

/* `fd`: the socket (borrowed). The lease that begins for it, borrowed. -ENOSPC: there are so many already, or the user
 * has no watches of epoll left. */
int tethers_add(struct tethers *tethers, int fd, struct gate *gate, const struct gate_result *result,
		struct gate_lease **ret_lease);

/* It isn't that connection any more. False: that one is being cut. */
bool tethers_forget(struct tethers *tethers, int fd);

bool tethers_are_cut(const struct tethers *tethers); /* those that were to be, have been found and shut down */
void tethers_free(struct tethers *tethers);          /* the sandbox has ended */
