#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void fd_close(int fd) {
	if (fd < 0) return;
	int saved = errno;
	close(fd);
	errno = saved;
}

void fd_close_p(int *fd) {
	fd_close(*fd);
	*fd = -1;
}

int fd_steal(int *fd) {
	int stolen = *fd;
	*fd = -1;
	return stolen;
}

enum { LINK_SIZE = sizeof "/proc/self/fd/" + 10 };

static void link_of(int fd, char link[LINK_SIZE]) {
	snprintf(link, LINK_SIZE, "/proc/self/fd/%d", fd);
}

int fd_reopen(int fd, int flags) {
	char link[LINK_SIZE];
	link_of(fd, link);
	return open(link, flags | O_CLOEXEC);
}

int fd_chmod(int fd, mode_t mode) {
	char link[LINK_SIZE];
	link_of(fd, link);
	return chmod(link, mode);
}

int fd_nonblocking(int fd, bool on, struct error *error) {
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0) return error_errno(error, "reading a descriptor's flags");
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	if (fcntl(fd, F_SETFL, flags) < 0) return error_errno(error, "setting a descriptor's flags");
	return 0;
}

int fd_write_all(int fd, const void *bytes, size_t size, struct error *error) {
	const char *rest = bytes;
	while (size > 0) {
		ssize_t written = write(fd, rest, size);
		if (written < 0 && errno == EINTR) continue;
		if (written < 0) return error_errno(error, "writing");
		rest += written;
		size -= (size_t)written;
	}
	return 0;
}

int fd_send(int socket, const void *bytes, size_t size, struct error *error) {
	ssize_t sent;
	do sent = send(socket, bytes, size, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return -EAGAIN;
	if (sent < 0) return error_errno(error, "sending to the peer");
	if ((size_t)sent != size) return error_set(error, EMSGSIZE, "a message was cut while it was sent");
	return 0;
}

ssize_t fd_receive(int socket, void *bytes, size_t size, struct error *error) {
	struct iovec part = {.iov_base = bytes, .iov_len = size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t received;
	do received = recvmsg(socket, &message, 0);
	while (received < 0 && errno == EINTR);
	if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return -EAGAIN;
	if (received < 0) return error_errno(error, "receiving from the peer");
	if (message.msg_flags & MSG_TRUNC)
		return error_set(error, EMSGSIZE, "the peer sent more than %zu bytes at once", size);
	return received;
}

int fd_take(int process, int number, struct error *error) {
	const int fd = (int)syscall(SYS_pidfd_getfd, process, number, 0U);
	return fd < 0 ? error_errno(error, "taking a descriptor (pidfd_getfd)") : fd;
}

static pid_t sender_of(struct msghdr *received) {
	struct ucred sender = {0};
	for (struct cmsghdr *control = CMSG_FIRSTHDR(received); control; control = CMSG_NXTHDR(received, control))
		if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_CREDENTIALS)
			memcpy(&sender, CMSG_DATA(control), sizeof sender);
	return sender.pid;
}

ssize_t fd_receive_from(int socket, void *bytes, size_t size, pid_t *ret_sender, int *ret_flags) {
	union {
		struct cmsghdr aligned;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec part = {bytes, size};
	struct msghdr header = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	const ssize_t got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0) return -errno;
	*ret_sender = sender_of(&header);
	*ret_flags = header.msg_flags;
	return got;
}
