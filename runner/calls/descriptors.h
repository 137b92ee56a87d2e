/*
 * descriptors: how many files this process may have open, and who gets how many of them.
 *
 * Promises: what a tool can make us open (sockets that it connects, calls that are held) takes its share and no more,
 * so that the portal and the gate find some whatever it does: a runner without descriptors can't keep its sandbox.
 */
#pragma once

#include <stddef.h>

/* As many as the hard limit lets us have (getrlimit(2)): programs that are started later inherit it. */
void descriptors_raise(void);

/* How many things of `each` descriptors have room in 1/`part` of all: at least 1, at most `most`. */
size_t descriptors_share(size_t part, size_t each, size_t most);
