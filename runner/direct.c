/*
 * Theory of operation. Nothing here may hold the socket open: its peer would never learn that the tool has closed it.
 * So what stays with us is a registration in an epoll instance of our own, which is no reference: it lasts as long as
 * the open file, wherever that is, and is gone with it. /proc/self/fdinfo lists those that are there ("tfd" lines,
 * proc_pid_fdinfo(5)), with the number that we gave each (epoll_event.data). To cut one it is looked for in the
 * sandbox's processes.
 */
#include "direct.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/string.h"
#include "regular.h"
#include "sandbox_sockets.h"
#include "schema/limits.h"
#include "socket_calls.h"

#ifndef SO_BUF_LOCK /* Linux 5.14 */
#define SO_BUF_LOCK 72
#endif
enum { BUF_LOCK_SEND = 1, BUF_LOCK_RECEIVE = 2 /* SOCK_SNDBUF_LOCK, SOCK_RCVBUF_LOCK of <linux/socket.h> */ };

enum { DIRECT_LIST_MAX = 1024 * 1024, DIRECT_AGAIN_MS = 10 /* between looks for one that was not found */ };

/* A connection that the tool has. */
struct handed {
	struct direct *direct;
	uint64_t number;
	struct sandbox_socket socket;
	struct gate_lease *lease; /* NULL: it is to be shut down, since: */
	int64_t cut_ms;
	bool lives; /* as was last seen */
};

struct direct {
	struct direct_options options;
	int epoll;
	int proc;              /* of the sandbox, from the first connection on; -1 */
	struct handed **items; /* by their number */
	size_t count;
	uint64_t last_number;
	struct event *tick;
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

/* Its end */

static struct handed *find(const struct direct *direct, uint64_t number) {
	size_t low = 0, high = direct->count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (direct->items[middle]->number == number) return direct->items[middle];
		if (direct->items[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Those that are still registered live. False: it can't be told. */
static bool look_who_lives(struct direct *direct) {
	static const char field[] = " data: ";
	CLEANUP_FREE char *path = string_format("/proc/self/fdinfo/%d", direct->epoll), *text = NULL;
	size_t size = 0;
	if (regular_read(path, DIRECT_LIST_MAX, &text, &size, NULL) < 0 || size >= DIRECT_LIST_MAX) return false;
	for (size_t i = 0; i < direct->count; i++) direct->items[i]->lives = false;
	for (const char *at = text; (at = strstr(at, field));) {
		at += strlen(field);
		struct handed *handed = find(direct, strtoull(at, NULL, 16));
		if (handed) handed->lives = true;
	}
	return true;
}

static void drop_ended(struct direct *direct) {
	size_t kept = 0;
	if (!look_who_lives(direct)) return;
	for (size_t i = 0; i < direct->count; i++) {
		struct handed *handed = direct->items[i];
		if (handed->lives) {
			direct->items[kept++] = handed;
			continue;
		}
		if (handed->lease) gate_lease_end(handed->lease, GATE_BYTES_UNKNOWN, GATE_BYTES_UNKNOWN, NULL);
		free(handed);
	}
	direct->count = kept;
}

static void end_hidden(const struct direct *direct, const struct handed *handed) {
	if (clock_ms(CLOCK_BOOTTIME) - handed->cut_ms < LIMIT_DIRECT_HIDDEN_MS) return;
	log_error("a connection whose grant has ended is hidden in a message: the sandbox is ended");
	kill(direct->options.init, SIGKILL);
}

/* All that were cut are looked for at once. True: some are still to be found. */
static bool shut_cut(struct direct *direct) {
	CLEANUP_FREE struct sandbox_socket *sockets = mem_array(struct sandbox_socket, direct->count + 1);
	CLEANUP_FREE bool *found = mem_array(bool, direct->count + 1);
	size_t wanted = 0, at = 0, kept = 0;
	bool more = false;
	for (size_t i = 0; i < direct->count; i++)
		if (!direct->items[i]->lease) sockets[wanted++] = direct->items[i]->socket;
	sandbox_sockets_shut(direct->options.init, sockets, wanted, found);
	for (size_t i = 0; i < direct->count; i++) {
		struct handed *handed = direct->items[i];
		const bool cut = !handed->lease, done = cut && found[at++];
		if (done) {
			free(handed);
			continue;
		}
		direct->items[kept++] = handed;
		more |= cut;
		if (cut) end_hidden(direct, handed);
	}
	direct->count = kept;
	return more;
}

static void schedule(struct direct *direct, int64_t ms) {
	const struct timeval delay = clock_timeval(ms);
	if (direct->count > 0) evtimer_add(direct->tick, &delay);
}

static void on_tick(evutil_socket_t fd, short what, void *argument) {
	struct direct *direct = argument;
	(void)fd, (void)what;
	drop_ended(direct);
	schedule(direct, shut_cut(direct) ? DIRECT_AGAIN_MS : LIMIT_DIRECT_LOOK_MS);
}

static void on_cut(void *argument) {
	struct handed *handed = argument;
	gate_lease_end(STEAL(handed->lease), GATE_BYTES_UNKNOWN, GATE_BYTES_UNKNOWN, "the grant has ended");
	handed->cut_ms = clock_ms(CLOCK_BOOTTIME);
	event_active(handed->direct->tick, EV_TIMEOUT, 0);
}

/* Its beginning */

/* Watched, without being held. */
static int watch(struct handed *handed, int fd) {
	struct epoll_event event = {.events = EPOLLET, .data.u64 = handed->number};
	int r = sandbox_socket_know(fd, &handed->socket);
	if (r < 0) return r;
	return epoll_ctl(handed->direct->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static bool may_replace(struct direct *direct, const struct socket_call *call) {
	struct sandbox_socket own;
	if (call->kind != SOCKET_CALL_CONNECT || direct->epoll < 0 || direct->count >= LIMIT_CONNECTIONS) return false;
	if (!is_plain(call) || sandbox_socket_know(call->fd, &own) < 0) return false;
	if (direct->proc < 0) direct->proc = sandbox_sockets_proc(direct->options.init);
	return direct->proc >= 0 && sandbox_socket_is_sole(direct->proc, call->number, &own);
}

bool direct_hand_over(struct direct *direct, struct socket_call *call, const struct gate_result *result) {
	if (!result->verdict->direct || !may_replace(direct, call)) return false;
	struct handed *handed = mem_new(struct handed);
	*handed = (struct handed){.direct = direct, .number = ++direct->last_number, .lives = true};
	if (watch(handed, result->fd) < 0 || copy_mode(call->fd, result->fd) < 0) {
		free(handed);
		return false;
	}
	copy_options(call->fd, result->fd);
	direct->items = array_grow(direct->items, direct->count, sizeof(struct handed *));
	direct->items[direct->count++] = handed;
	handed->lease = gate_lease_new(direct->options.gate, result, "direct", on_cut, handed);
	gate_lease_need_direct(handed->lease);
	/* a thread that is gone leaves one that nobody has, which is seen as its end */
	(void)socket_call_replace(call, result->fd);
	fd_close(result->fd);
	if (!evtimer_pending(direct->tick, NULL)) schedule(direct, LIMIT_DIRECT_LOOK_MS);
	return true;
}

struct direct *direct_new(const struct direct_options *given) {
	struct direct *direct = mem_new(struct direct);
	*direct = (struct direct){.options = *given, .epoll = epoll_create1(EPOLL_CLOEXEC), .proc = -1};
	direct->tick = mem_expect(evtimer_new(given->base, on_tick, direct));
	return direct;
}

void direct_free(struct direct *direct) {
	if (!direct) return;
	for (size_t i = 0; i < direct->count; i++) {
		struct handed *handed = direct->items[i];
		if (handed->lease) gate_lease_end(handed->lease, GATE_BYTES_UNKNOWN, GATE_BYTES_UNKNOWN, NULL);
		free(handed);
	}
	free(direct->items);
	event_free(direct->tick);
	fd_close(direct->epoll);
	fd_close(direct->proc);
	free(direct);
}
