/*
 * datagrams: looks for datagram sockets that the host makes in folders which a running sandbox sees (attack N14).
 *
 * Promises: one look each LIMIT_IPC_LOOK_MS, which reads one file of the kernel's; each socket is told of once, as long
 * as it is there. Between its making and the look it can be reached.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/string.h"

struct datagrams;

struct datagrams_options {
	struct event_base *base;
	bool (*seen)(void *context, const char *path); /* from inside, and not meant to be used */
	void (*found)(void *context);                  /* one or more: facts have changed */
	void *context;
};

struct datagrams *datagrams_new(const struct datagrams_options *options);
void datagrams_free(struct datagrams *datagrams);
