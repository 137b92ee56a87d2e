/*
 * pipes: empty pipes kept for splice(2), so that only a tunnel with bytes on their way holds one.
 */
#pragma once

#include <stddef.h>

enum { PIPES_KEPT = 16, PIPE_BYTES = 256 * 1024 };

struct pipes {
	int kept[PIPES_KEPT][2];
	size_t count;
};

void pipes_init(struct pipes *pipes);
void pipes_finish(struct pipes *pipes);

/* -errno when the process is out of descriptors. What is given back must be empty. */
int pipes_take(struct pipes *pipes, int ret_pipe[2]);
void pipes_give(struct pipes *pipes, int pipe[2]);
void pipe_close(int pipe[2]);
