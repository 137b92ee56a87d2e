/*
 * pipes: empty pipes kept for splice(2), so that only a tunnel with bytes on their way holds one.
 *
 * Promises: pipes are PIPE_BYTES; PIPES_WIDE at most are PIPE_BYTES_WIDE, for ways that move much: each turn costs less
 * then (a quarter of the processor's time for a gigabyte), but a user may have 64 MiB of pipes in all, and gets tiny
 * ones past that (fs.pipe-user-pages-soft, pipe(7)).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
	PIPES_KEPT = 16,
	PIPES_WIDE = 8,
	PIPE_BYTES = 256 * 1024,
	PIPE_BYTES_LEAST = 64 * 1024,  /* what a pipe has at first (pipe(7)) */
	PIPE_BYTES_WIDE = 1024 * 1024, /* fs.pipe-max-size */
};

struct pipe {
	int out, in; /* -1, -1: none */
	bool wide;
};
#define PIPE_NONE ((struct pipe){.out = -1, .in = -1})

struct pipes {
	struct pipe kept[PIPES_KEPT];
	size_t count, wide; /* `wide`: also of those that are taken */
	bool narrow;        /* the kernel gives no wide ones (any more) */
};

void pipes_init(struct pipes *pipes);
void pipes_finish(struct pipes *pipes);

/* -errno when the process is out of descriptors; -ENOBUFS when the user's share of pipes is used up: a pipe of two
 * pages would be slower than none. */
int pipes_take(struct pipes *pipes, struct pipe *ret_pipe);
void pipes_widen(struct pipes *pipes, struct pipe *pipe);            /* if it may be */
void pipes_give(struct pipes *pipes, struct pipe *pipe, bool empty); /* one that isn't empty is closed */
