/*
 * host_port: a TCP port of the host's loopback, 127.0.0.1 and ::1 alike (only the former where the host has no IPv6).
 *
 * Promises: never another address. A port that one of the two families has not free is not taken at all: what connects
 * to "localhost" must not reach somebody else by the other.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

enum { HOST_PORT_FAMILIES = 2 };

struct host_port {
	uint16_t port;               /* 0: there is none */
	int fds[HOST_PORT_FAMILIES]; /* listening, non-blocking; -1: not there */
};

#define HOST_PORT_NONE                                                                                                 \
	{                                                                                                              \
		.fds = { -1, -1 }                                                                                      \
	}

/* `port` 0: any that is free. -EADDRINUSE, -EACCES (below 1024, as the kernel says) with a sentence. */
int host_port_listen(uint16_t port, struct host_port *ret_port, struct error *error);
/* That port, or the next one of those above it that is free, or any. */
int host_port_listen_near(uint16_t port, struct host_port *ret_port, struct error *error);
void host_port_close(struct host_port *port);
