/*
 * fd: owned file descriptors, and passing them over a Unix socket.
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

int fd_nonblocking(int fd, bool on, struct error *error);
int fd_write_all(int fd, const void *bytes, size_t size, struct error *error);

/*
 * One datagram with up to FD_PASS_MAX descriptors. fd_receive returns the number of bytes (0 = peer gone) and
 * sets *ret_count; a datagram or descriptor list that was cut is -EMSGSIZE and every descriptor is closed.
 * -EAGAIN is returned without filling the error.
 */
enum { FD_PASS_MAX = 16 };
int fd_send(int socket, const void *bytes, size_t size, const int *fds, size_t count, struct error *error);
ssize_t fd_receive(int socket, void *bytes, size_t size, int fds[FD_PASS_MAX], size_t *ret_count, struct error *error);

/*
 * One datagram with the process that has sent it, as the kernel says where SO_PASSCRED is on (unix(7); 0: it doesn't).
 * Doesn't wait. There is no room for descriptors, so the kernel closes them: MSG_CTRUNC in the flags; MSG_TRUNC: it was
 * larger. The size, or a negative errno.
 */
ssize_t fd_receive_from(int socket, void *bytes, size_t size, pid_t *ret_sender, int *ret_flags);
