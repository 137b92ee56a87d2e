/*
 * island: a network of its own, as a sandbox's: nothing but a loopback, on which every address is local.
 *
 * Who runs the test stays outside; what the tool inside would have are sockets that were made there. Made before any
 * thread is. As an ordinary user it needs user namespaces, as sbx does.
 */
#pragma once

#include <sys/types.h>

#include "net/streams/spares.h"

struct island {
	pid_t pid;
	int channel;
};

void island_make(struct island *island);
void island_remove(struct island *island);

/* socket(2) in there; close-on-exec. */
int island_socket(struct island *island, int domain, int type, int protocol);

/* A spares' fetch, with the island as its context; `spares` is where they go. */
struct island_store {
	struct island *island;
	struct spares *spares;
	struct island_copies *copies; /* who makes a socket may have it for a moment more than is wanted; or NULL */
};
struct island_copies {
	int fds[256];
	size_t count;
};
void island_copies_close(struct island_copies *copies);
void island_fetch(void *context, enum spare kind, unsigned count);
