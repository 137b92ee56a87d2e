/*
 * sandbox_sockets: where in a sandbox a socket is held, for those that were handed in or connected from outside.
 *
 * Promises: a socket is known by its inode, which no other open file has, so whoever has that inode has this very
 * socket. Bounded (LIMIT_HOLDERS processes, LIMIT_HOLDER_FILES descriptors of one; LIMIT_DIRECT_FILES of all where a
 * call waits for it). One that waits in a message can't be seen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sandbox_socket {
	ino_t inode;
	uint64_t cookie; /* SO_COOKIE */
};

int sandbox_socket_know(int fd, struct sandbox_socket *ret_socket);

/* The sandbox's own /proc, for sandbox_socket_is_sole; the caller's, or -errno. `init`: process 1 of the sandbox. */
int sandbox_sockets_proc(pid_t init);

/* Nothing in the sandbox refers to it but one descriptor of that number: no duplicate, no epoll registration. False
 * also when there is more than can be looked at. */
bool sandbox_socket_is_sole(int proc, int number, const struct sandbox_socket *socket);

/* Shuts them down both ways, wherever they are found, in one look; found[i]: somebody has (or had) that one. */
void sandbox_sockets_shut(pid_t init, const struct sandbox_socket *sockets, size_t count, bool *found);
