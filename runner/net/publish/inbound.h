/*
 * inbound: one connection from the host's loopback to a port inside.
 *
 * Promises: leads to 127.0.0.1:PORT of the sandbox's network, or to [::1]:PORT when nothing listens there, and to
 * nowhere else: both ends are the runner's own sockets. Nothing waits: not for a spare socket, nor for the server.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/streams/pipes.h"
#include "net/streams/spares.h"

struct inbound;

struct inbound_options {
	struct event_base *base;
	struct spares *spares;
	struct pipes *pipes;
	uint16_t port;
	/* It has ended by itself: once, never from inside inbound_new. Must free it. */
	void (*done)(void *argument, struct inbound *inbound);
	void *argument;
};

struct inbound_end {
	bool connected;          /* else it never reached a server */
	uint64_t sent, received; /* bytes from the server, and to it */
	int64_t duration_ms;
	int code; /* 0, or errno */
};

/* `fd`: accepted on the host, non-blocking; taken over. */
struct inbound *inbound_new(const struct inbound_options *options, int fd);
struct inbound_end inbound_end(const struct inbound *inbound); /* so far */
void inbound_free(struct inbound *inbound);                    /* resets what lives */
