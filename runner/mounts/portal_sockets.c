#include "portal_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/fd.h"

int sockets_listen_port(const struct spaces *spaces, uint16_t port, int *ret_fd, struct error *error) {
	int r = spaces_enter_network(spaces, error);
	if (r < 0) return r;
	CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, SOMAXCONN) < 0)
		return error_errno(error, "listening on 127.0.0.1:%u inside", port);
	*ret_fd = fd_steal(&fd);
	return 0;
}

int sockets_listen_path(const struct spaces *spaces, const char *path, int type, int *ret_fd, struct error *error) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) return error_set(error, ENAMETOOLONG, "%s is too long", path);
	memcpy(address.sun_path, path, strlen(path));
	int r = spaces_enter_network(spaces, error); /* the sandbox's own, not one of the host's */
	if (r < 0) return r;
	CLEANUP_FD int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) return error_errno(error, "making a socket");
	if ((r = spaces_step_in(spaces, error)) < 0) return r;
	mode_t mask = umask(0177);
	if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, SOMAXCONN) < 0)
		r = error_errno(error, "listening at %s inside", path);
	umask(mask);
	spaces_step_out(spaces);
	if (r == 0) *ret_fd = fd_steal(&fd);
	return r;
}

/* For IPv6 a `local` route doesn't make an address one that can be bound to; setting this takes no right (ipv6(7)). */
static int make_one(const struct spare_shape *shape) {
	const int on = 1;
	CLEANUP_FD int fd = socket(shape->domain, shape->type | SOCK_CLOEXEC | SOCK_NONBLOCK, shape->protocol);
	if (fd >= 0 && shape->domain == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof on) < 0)
		return -1;
	return fd_steal(&fd);
}

int sockets_make(const struct spaces *spaces, const struct spare_shape *shape, size_t count, int *ret_fds,
		 struct error *error) {
	int r = spaces_enter_network(spaces, error);
	if (r < 0) return r;
	for (size_t i = 0; i < count; i++) {
		ret_fds[i] = make_one(shape);
		if (ret_fds[i] >= 0) continue;
		r = error_errno(error, "making a socket inside");
		while (i > 0) fd_close(ret_fds[--i]);
		return r;
	}
	return 0;
}
