#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
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

union control {
	char bytes[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
	struct cmsghdr align;
};

int fd_send(int socket, const void *bytes, size_t size, const int *fds, size_t count, struct error *error) {
	if (count > FD_PASS_MAX) return error_set(error, EINVAL, "sending %zu descriptors at once", count);
	union control control = {0};
	struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (count > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = (socklen_t)CMSG_SPACE(sizeof(int) * count);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = (socklen_t)CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
	}
	ssize_t sent;
	do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return -EAGAIN;
	if (sent < 0) return error_errno(error, "sending to the peer");
	if ((size_t)sent != size) return error_set(error, EMSGSIZE, "a message was cut while it was sent");
	return 0;
}

ssize_t fd_receive(int socket, void *bytes, size_t size, int fds[FD_PASS_MAX], size_t *ret_count, struct error *error) {
	union control control = {0};
	struct iovec part = {.iov_base = bytes, .iov_len = size};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};
	ssize_t received;
	do received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (received < 0 && errno == EINTR);
	*ret_count = 0;
	if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return -EAGAIN;
	if (received < 0) return error_errno(error, "receiving from the peer");

	size_t count = 0;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
		size_t here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < here && count < FD_PASS_MAX; i++)
			memcpy(&fds[count++], CMSG_DATA(header) + i * sizeof(int), sizeof(int));
	}
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (size_t i = 0; i < count; i++) fd_close(fds[i]);
		return error_set(error, EMSGSIZE, "the peer sent more than %zu bytes or %d descriptors at once", size,
				 FD_PASS_MAX);
	}
	*ret_count = count;
	return received;
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
