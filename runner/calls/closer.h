/*
 * closer: closes what a tool has had its hands on, in threads of its own.
 *
 * Promises: closer_close doesn't wait. The last close(2) of a file does what the tool has prepared it for: a socket
 * lingers for as long as it was told to (socket(7), SO_LINGER), and takes with it what lies in it, deleted files of
 * gigabytes included (unix(7), SCM_RIGHTS). Whoever does that on the loop is held up by the tool, and with it the end
 * of grants (attack N12). A few threads, started when they are needed; how many descriptors may wait is the caller's
 * to bound.
 */
#pragma once

#include <stddef.h>

#include "base/memory.h"

struct closer;

struct closer *closer_new(void);
void closer_close(struct closer *closer, int fd); /* taken over */
size_t closer_count(struct closer *closer);       /* that aren't closed yet */

/* Doesn't wait either: what is left is closed by the threads, which then end. */
void closer_free(struct closer *closer);
DEFINE_CLEANUP(struct closer *, closer_free);
