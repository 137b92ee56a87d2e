/*
 * SO_PEERPIDFD: Linux 6.5, unix(7). Before that SO_PEERCRED's pid may have been given to another process between
 * connect and here: the pidfd is opened first, the namespaces are read, and then the process must still be alive and
 * older than the connection could be ours to misread: since the pid can only have been reused before pidfd_open, and
 * a reused pid belongs to a process that runs as somebody who may start processes here, the checks are made of
 * that process. What would be gained is nothing: it must be of the same user and namespaces itself.
 */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

int peer_check(int socket, pid_t *ret_pid, struct error *error) {
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
	/* Alive still, so what was read under its number was its own. */
	if (syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0)
		return error_errno(error, "process %d has gone", (int)credentials.pid);
	*ret_pid = credentials.pid;
	return 0;
}
