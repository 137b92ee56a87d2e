#include "pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

void pipes_init(struct pipes *pipes) {
	*pipes = (struct pipes){0};
}

static void pipe_close(struct pipe *pipe) {
	fd_close(pipe->out);
	fd_close(pipe->in);
	*pipe = PIPE_NONE;
}

void pipes_finish(struct pipes *pipes) {
	while (pipes->count > 0) pipe_close(&pipes->kept[--pipes->count]);
}

int pipes_take(struct pipes *pipes, struct pipe *ret_pipe) {
	int ends[2];

	if (pipes->count > 0) {
		*ret_pipe = pipes->kept[--pipes->count];
		return 0;
	}
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return -errno;
	*ret_pipe = (struct pipe){.out = ends[0], .in = ends[1]};
	if (fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) < 0 && fcntl(ends[1], F_GETPIPE_SZ) < PIPE_BYTES_LEAST) {
		pipe_close(ret_pipe);
		return -ENOBUFS;
	}
	return 0;
}

void pipes_widen(struct pipes *pipes, struct pipe *pipe) {
	if (pipe->wide || pipes->narrow || pipes->wide == PIPES_WIDE) return;
	pipe->wide = fcntl(pipe->in, F_SETPIPE_SZ, PIPE_BYTES_WIDE) >= 0;
	pipes->narrow = !pipe->wide;
	pipes->wide += pipe->wide;
}

void pipes_give(struct pipes *pipes, struct pipe *pipe, bool empty) {
	if (empty && pipes->count < PIPES_KEPT) {
		pipes->kept[pipes->count++] = *pipe;
		*pipe = PIPE_NONE;
		return;
	}
	pipes->wide -= pipe->wide;
	pipe_close(pipe);
}
