#include "direct.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"
#include "calls/socket_calls.h"
#include "sandbox_sockets.h"
#include "schema/limits.h"
#include "tethers.h"

#ifndef SO_BUF_LOCK /* Linux 5.14 */
#define SO_BUF_LOCK 72
#endif
enum { BUF_LOCK_SEND = 1, BUF_LOCK_RECEIVE = 2 /* SOCK_SNDBUF_LOCK, SOCK_RCVBUF_LOCK of <linux/socket.h> */ };

struct direct {
	struct direct_options options;
	int proc; /* of the sandbox, from the first connection on; -1 */
	struct tethers *tethers;
};

/* What the tool has set on its socket: on the host's from now on. */

static const struct {
	int level, option;
} options[] = {
	{SOL_SOCKET, SO_KEEPALIVE},       {SOL_SOCKET, SO_LINGER},    {SOL_SOCKET, SO_OOBINLINE},
	{SOL_SOCKET, SO_RCVTIMEO},        {SOL_SOCKET, SO_SNDTIMEO},  {SOL_SOCKET, SO_RCVLOWAT},
	{IPPROTO_TCP, TCP_NODELAY},       {IPPROTO_TCP, TCP_CORK},    {IPPROTO_TCP, TCP_KEEPIDLE},
	{IPPROTO_TCP, TCP_KEEPINTVL},     {IPPROTO_TCP, TCP_KEEPCNT}, {IPPROTO_TCP, TCP_USER_TIMEOUT},
	{IPPROTO_TCP, TCP_NOTSENT_LOWAT},
};

/* The kernel doubles what it is told (socket(7)); a size that nobody has set goes on growing by itself. */
static void copy_buffer_size(int from, int to, int locks, int lock, int option) {
	int bytes = 0;
	socklen_t size = sizeof bytes;
	if (!(locks & lock) || getsockopt(from, SOL_SOCKET, option, &bytes, &size) < 0) return;
	bytes /= 2;
	setsockopt(to, SOL_SOCKET, option, &bytes, sizeof bytes);
}

static void copy_options(int from, int to) {
	int locks = 0;
	socklen_t size = sizeof locks;
	for (size_t i = 0; i < ARRAY_LENGTH(options); i++) {
		char value[sizeof(struct timeval)];
		size = sizeof value;
		if (getsockopt(from, options[i].level, options[i].option, value, &size) == 0)
			setsockopt(to, options[i].level, options[i].option, value, size);
	}
	size = sizeof locks;
	if (getsockopt(from, SOL_SOCKET, SO_BUF_LOCK, &locks, &size) < 0) return;
	copy_buffer_size(from, to, locks, BUF_LOCK_SEND, SO_SNDBUF);
	copy_buffer_size(from, to, locks, BUF_LOCK_RECEIVE, SO_RCVBUF);
}

static int copy_mode(int from, int to) {
	const int wanted = fcntl(from, F_GETFL), flags = fcntl(to, F_GETFL);
	if (wanted < 0 || flags < 0) return -errno;
	return fcntl(to, F_SETFL, (flags & ~O_NONBLOCK) | (wanted & O_NONBLOCK)) < 0 ? -errno : 0;
}

/* One that the tool has bound means an address of the sandbox's; one that sends signals means itself (fcntl(2)). */
static bool is_plain(const struct socket_call *call) {
	struct sockaddr_storage own = {0}, none = {0};
	socklen_t size = sizeof own;
	const int flags = fcntl(call->fd, F_GETFL);
	if (flags < 0 || (flags & O_ASYNC)) return false;
	if (getsockname(call->fd, (struct sockaddr *)&own, &size) < 0) return false;
	none.ss_family = own.ss_family;
	return memcmp(&own, &none, sizeof own) == 0;
}

/* Its beginning */

static bool may_replace(struct direct *direct, const struct socket_call *call) {
	struct sandbox_socket own;
	if (call->kind != SOCKET_CALL_CONNECT) return false;
	if (!is_plain(call) || sandbox_socket_know(call->fd, &own) < 0) return false;
	if (direct->proc < 0) direct->proc = sandbox_sockets_proc(direct->options.init);
	return direct->proc >= 0 && sandbox_socket_is_sole(direct->proc, call->number, &own);
}

bool direct_hand_over(struct direct *direct, struct socket_call *call, const struct gate_result *result) {
	if (!result->verdict->direct || !may_replace(direct, call)) return false;
	struct gate_lease *lease;
	if (copy_mode(call->fd, result->fd) < 0) return false;
	if (tethers_add(direct->tethers, result->fd, direct->options.gate, result, &lease) < 0) return false;
	copy_options(call->fd, result->fd);
	gate_lease_need_direct(lease);
	/* a thread that is gone leaves one that nobody has, which is seen as its end */
	(void)socket_call_replace(call, result->fd);
	fd_close(result->fd);
	return true;
}

struct direct *direct_new(const struct direct_options *given) {
	struct direct *direct = mem_new(struct direct);
	*direct = (struct direct){.options = *given, .proc = -1};
	const struct tethers_options tethers = {.base = given->base,
						.init = given->init,
						.what = "a connection",
						.door = "direct",
						.look_ms = LIMIT_DIRECT_LOOK_MS,
						.most = LIMIT_CONNECTIONS};
	direct->tethers = tethers_new(&tethers);
	return direct;
}

bool direct_is_cut(const struct direct *direct) {
	return tethers_are_cut(direct->tethers);
}

void direct_free(struct direct *direct) {
	if (!direct) return;
	tethers_free(direct->tethers);
	fd_close(direct->proc);
	free(direct);
}
