#include "host_port.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

enum {
	ANY_TRIES = 32,  /* ports of one family that the other has taken */
	NEAR_TRIES = 32, /* ports above the wanted one */
};

union loopback {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t loopback_of(int family, uint16_t port, union loopback *ret_address) {
	if (family == AF_INET) {
		*ret_address = (union loopback){
			.v4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}}};
		return sizeof ret_address->v4;
	}
	*ret_address = (union loopback){
		.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT}};
	return sizeof ret_address->v6;
}

/* A negative errno; -EAFNOSUPPORT and -EADDRNOTAVAIL: the host has no such loopback. */
static int listen_on(int family, uint16_t port) {
	const int on = 1;
	union loopback address;
	const socklen_t size = loopback_of(family, port, &address);
	CLEANUP_FD int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) return -errno;
	/* One that was published before may have connections in TIME_WAIT; two listeners are refused all the same. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* accepted connections inherit it */
	if (bind(fd, &address.any, size) < 0 || listen(fd, SOMAXCONN) < 0) return -errno;
	return fd_steal(&fd);
}

static uint16_t port_of(int fd) {
	struct sockaddr_in address = {0}; /* the first family is this one, or has its port in the same place */
	socklen_t size = sizeof address;
	static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
		      "the port is in the same place");
	return getsockname(fd, (struct sockaddr *)&address, &size) < 0 ? 0 : ntohs(address.sin_port);
}

static bool is_missing_family(int code) {
	return code == -EAFNOSUPPORT || code == -EADDRNOTAVAIL;
}

static int listen_both(uint16_t port, struct host_port *ret_port) {
	static const int families[HOST_PORT_FAMILIES] = {AF_INET, AF_INET6};
	struct host_port found = {.port = port, .fds = {-1, -1}};
	int r = -EAFNOSUPPORT;
	for (size_t i = 0; i < HOST_PORT_FAMILIES; i++) {
		int fd = listen_on(families[i], found.port);
		if (fd < 0 && is_missing_family(fd)) continue;
		if (fd < 0) {
			host_port_close(&found);
			return fd;
		}
		found.fds[i] = fd;
		found.port = port_of(fd);
		r = 0;
	}
	if (r == 0) *ret_port = found;
	return r;
}

int host_port_listen(uint16_t port, struct host_port *ret_port, struct error *error) {
	int r = listen_both(port, ret_port);
	for (int i = 0; r == -EADDRINUSE && port == 0 && i < ANY_TRIES; i++) r = listen_both(port, ret_port);
	if (r == -EADDRINUSE)
		return error_set(error, EADDRINUSE,
				 "port %u of this machine is taken: name another one (PORT:HOSTPORT), or PORT:0 for "
				 "any that is free",
				 port);
	if (r == -EACCES)
		return error_set(error, EACCES,
				 "port %u of this machine is for administrators (net.ipv4.ip_unprivileged_port_start): "
				 "name a higher one (PORT:HOSTPORT)",
				 port);
	return r < 0 ? error_set(error, -r, "listening on port %u of this machine's loopback: %s", port, strerror(-r))
		     : 0;
}

int host_port_listen_near(uint16_t port, struct host_port *ret_port, struct error *error) {
	int r = listen_both(port, ret_port);
	for (unsigned next = port + 1U; r < 0 && next <= UINT16_MAX && next <= port + (unsigned)NEAR_TRIES; next++)
		r = listen_both((uint16_t)next, ret_port);
	return r < 0 ? host_port_listen(0, ret_port, error) : 0;
}

void host_port_close(struct host_port *port) {
	for (size_t i = 0; i < HOST_PORT_FAMILIES; i++) fd_close_p(&port->fds[i]);
	*port = (struct host_port)HOST_PORT_NONE;
}
