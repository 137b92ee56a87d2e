/*
 * tethers: the connections to outside that a sandbox's processes hold themselves, each tied to what allowed it, so that
 * they end when that does.
 *
 * Promises: keeps no descriptor of such a socket, whose peer would never learn that the tool has closed it; it is known
 * by its inode and SO_COOKIE, looked for in the sandbox's processes when it must be cut, and shut down both ways. One
 * that nobody has (it waits in a message) for LIMIT_DIRECT_HIDDEN_MS ends the sandbox. That one has ended is seen
 * within `look_ms`. Which connection rests on which grant the gate's leases know (net/gate.h); of the bytes nothing is
 * known.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "net/gate.h"
#include "sandbox_sockets.h"

struct tethers;

struct inodes {
	ino_t *items; /* in no order */
	size_t count;
};
void inodes_add(struct inodes *inodes, ino_t inode);

struct tethers_options {
	struct event_base *base;
	pid_t init;       /* process 1 of the sandbox */
	const char *what; /* is cut, to the user */
	const char *door; /* gate_lease_new */
	int64_t look_ms;
	/* The sockets that are alive, others may be among them; false: it can't be told. */
	bool (*living)(void *context, struct inodes *inodes);
	void *context;
};

struct tethers *tethers_new(const struct tethers_options *options);

/* The lease that begins for it; borrowed. */
struct gate_lease *tethers_add(struct tethers *tethers, const struct sandbox_socket *socket, struct gate *gate,
			       const struct gate_result *result);

/* It isn't that connection any more. False: that one is being cut. */
bool tethers_forget(struct tethers *tethers, const struct sandbox_socket *socket);

bool tethers_are_cut(const struct tethers *tethers); /* those that were to be, have been found and shut down */
size_t tethers_count(const struct tethers *tethers); /* some of them may have ended meanwhile: */
void tethers_drop_ended(struct tethers *tethers);

void tethers_free(struct tethers *tethers); /* the sandbox has ended */
