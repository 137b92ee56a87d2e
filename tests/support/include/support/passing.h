/*
 * passing: descriptors over a Unix socket (SCM_RIGHTS), for tests whose processes hand each other some. sbx itself
 * sends none (base/fd.h, fd_take).
 */
#pragma once

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { PASSING_MAX = 16 };

union passing_control {
	char bytes[CMSG_SPACE(sizeof(int) * PASSING_MAX)];
	struct cmsghdr align;
};

/* One datagram. 0, or a negative errno. */
static inline int passing_send(int socket, const void *bytes, size_t size, const int *fds, size_t count) {
	union passing_control control = {0};
	struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (count > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = (socklen_t)CMSG_SPACE(sizeof(int) * count);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		*header = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int) * count)};
		memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Close-on-exec; the first *ret_count of `fds` are the caller's, the others -1. The bytes, 0 = peer gone, or a negative
 * errno. */
static inline ssize_t passing_receive(int socket, void *bytes, size_t size, int fds[PASSING_MAX], size_t *ret_count) {
	union passing_control control = {0};
	struct iovec part = {.iov_base = bytes, .iov_len = size};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof control.bytes};
	ssize_t received;
	*ret_count = 0;
	for (size_t i = 0; i < PASSING_MAX; i++) fds[i] = -1;
	do received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (received < 0 && errno == EINTR);
	if (received < 0) return -errno;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return received;
	*ret_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(header), *ret_count * sizeof(int));
	return received;
}
