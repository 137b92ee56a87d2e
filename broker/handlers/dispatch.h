/*
 * dispatch: one message to its handler, by a table of what is allowed when.
 *
 * Promises: a handler sees only messages that are well-formed, complete, and allowed in the connection's state; every
 * request gets exactly one reply, also when its handler fails.
 */
#pragma once

#include <stddef.h>

struct client;

void dispatch(struct client *client, const char *bytes, size_t size);
