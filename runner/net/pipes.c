#include "pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

void pipes_init(struct pipes *pipes) {
	*pipes = (struct pipes){0};
}

void pipes_finish(struct pipes *pipes) {
	while (pipes->count > 0) pipe_close(pipes->kept[--pipes->count]);
}

int pipes_take(struct pipes *pipes, int ret_pipe[2]) {
	if (pipes->count > 0) {
		pipes->count--;
		ret_pipe[0] = pipes->kept[pipes->count][0];
		ret_pipe[1] = pipes->kept[pipes->count][1];
		return 0;
	}
	if (pipe2(ret_pipe, O_CLOEXEC | O_NONBLOCK) < 0) return -errno;
	/* Past the user's share (fs.pipe-user-pages-soft, pipe(7)) it stays small, which is slower but works. */
	(void)fcntl(ret_pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

void pipes_give(struct pipes *pipes, int pipe[2]) {
	if (pipes->count == PIPES_KEPT) {
		pipe_close(pipe);
		return;
	}
	pipes->kept[pipes->count][0] = fd_steal(&pipe[0]);
	pipes->kept[pipes->count][1] = fd_steal(&pipe[1]);
	pipes->count++;
}

void pipe_close(int pipe[2]) {
	fd_close(fd_steal(&pipe[0]));
	fd_close(fd_steal(&pipe[1]));
}
