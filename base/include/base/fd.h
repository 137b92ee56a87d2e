/*
 * fd: owned file descriptors, and messages over a Unix socket.
 *
 * Promises: every descriptor made here is close-on-exec; close never clobbers errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"

void fd_close(int fd);    /* -1 is allowed */
void fd_close_p(int *fd); /* for CLEANUP_FD */
int fd_steal(int *fd);    /* takes it out, leaving -1 */
#define CLEANUP_FD CLEANUP(fd_close_p)

/* Of a file that is open, also by its name alone (O_PATH), whatever has that name now: open it with `flags`, or change
 * its mode. -1 with errno. */
int fd_reopen(int fd, int flags);
int fd_chmod(int fd, mode_t mode);

int fd_nonblocking(int fd, bool on, struct error *error);
int fd_write_all(int fd, const void *bytes, size_t size, struct error *error);

/*
 * One datagram. fd_receive returns the number of bytes (0 = peer gone); one that was cut is -EMSGSIZE. -EAGAIN is
 * returned without filling the error. Descriptors that a peer sends along are closed by the kernel, since there is no
 * room for them (recvmsg(2), MSG_CTRUNC).
 */
int fd_send(int socket, const void *bytes, size_t size, struct error *error);
ssize_t fd_receive(int socket, void *bytes, size_t size, struct error *error);

/*
 * A copy of descriptor `number` of the process that the pidfd `process` stands for, or a negative errno: EPERM when we
 * may not trace it (pidfd_getfd(2)). So descriptors change hands between sbx's processes; SCM_RIGHTS is refused to a
 * user whose descriptors in flight are as many as RLIMIT_NOFILE (too_many_unix_fds() in net/core/scm.c), and any tool
 * of the user's can have so many.
 */
int fd_take(int process, int number, struct error *error);

/*
 * One datagram with the process that has sent it, as the kernel says where SO_PASSCRED is on (unix(7); 0: it doesn't).
 * Doesn't wait. There is no room for descriptors, so the kernel closes them: MSG_CTRUNC in the flags; MSG_TRUNC: it was
 * larger. The size, or a negative errno.
 */
ssize_t fd_receive_from(int socket, void *bytes, size_t size, pid_t *ret_sender, int *ret_flags);
