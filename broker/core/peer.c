/*
 * Theory of operation.
 *
 * The pidfd holds the process while what belongs to its number is read from /proc; if it lives when that is done, all
 * that was read was its own (pidfd_open(2): a pidfd polls readable when its process has ended). With SO_PEERPIDFD
 * (Linux 6.5, unix(7)) it is the very process that connected. Before that it is who has the number now: if the number
 * was given to another between connect and here, that one has passed the same checks as its own peer would.
 *
 * The pidfd is kept as long as the connection. What comes names its sender by number (SCM_CREDENTIALS, unix(7)), and
 * the number is the peer's for as long as the peer lives: so whoever looks after a message was received, and finds it
 * alive, knows that the sender was this very process.
 */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static int peer_pidfd(int socket, pid_t pid) {
	int fd = -1;
	socklen_t size = sizeof fd;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0) return fd;
	if (errno != ENOPROTOOPT) return -1;
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int same_namespace(pid_t pid, const char *name, struct error *error) {
	char theirs_path[64], ours_path[64];
	snprintf(theirs_path, sizeof theirs_path, "/proc/%d/ns/%s", (int)pid, name);
	snprintf(ours_path, sizeof ours_path, "/proc/self/ns/%s", name);
	struct stat theirs, ours;
	if (stat(theirs_path, &theirs) < 0) return error_errno(error, "looking at %s", theirs_path);
	if (stat(ours_path, &ours) < 0) return error_errno(error, "looking at %s", ours_path);
	if (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino)
		return error_set(error, EPERM, "process %d lives in another %s namespace", (int)pid, name);
	return 0;
}

bool peer_has_ended(int pidfd) {
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	return poll(&ended, 1, 0) != 0;
}

int peer_check(int socket, pid_t *ret_pid, int *ret_pidfd, struct error *error) {
	struct ucred credentials;
	socklen_t size = sizeof credentials;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return error_errno(error, "asking who the peer is");
	if (credentials.uid != geteuid())
		return error_set(error, EPERM, "the peer is user %u", (unsigned)credentials.uid);
	/* 0: a process of a namespace that this one can't see. */
	if (credentials.pid <= 0) return error_set(error, EPERM, "the peer is in no PID namespace of ours");
	CLEANUP_FD int pidfd = peer_pidfd(socket, credentials.pid);
	if (pidfd < 0) return error_errno(error, "holding process %d", (int)credentials.pid);
	int r = same_namespace(credentials.pid, "user", error);
	if (r == 0) r = same_namespace(credentials.pid, "pid", error);
	if (r < 0) return r;
	if (peer_has_ended(pidfd)) return error_set(error, ESRCH, "process %d has ended", (int)credentials.pid);
	*ret_pid = credentials.pid;
	*ret_pidfd = fd_steal(&pidfd);
	return 0;
}
