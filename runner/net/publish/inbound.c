/*
 * Theory of operation. A connection goes through waiting for a spare → connecting → its relay, for 127.0.0.1 first and,
 * when that is refused, once more for [::1]: a server that listens on both by one socket is found by the first. What
 * the client sends meanwhile stays in its socket.
 */
#include "inbound.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "net/streams/relay.h"
#include "net/streams/socket_abort.h"
#include "schema/limits.h"

struct inbound {
	struct inbound_options options;
	int outer, inner; /* the host's end, the sandbox's; the relay's when there is one */
	bool second;      /* [::1]'s turn */
	struct spares_wait *wait;
	struct event *connecting, *step;
	struct relay *relay;
	int64_t since_ms;
	int code;
};

static void finish(struct inbound *inbound, int code) {
	inbound->code = code;
	inbound->options.done(inbound->options.argument, inbound);
}

static void on_relayed(void *argument, int code) {
	finish(argument, code);
}

static void relay_it(struct inbound *inbound) {
	const struct relay_ends ends = {.near = fd_steal(&inbound->inner), .far = fd_steal(&inbound->outer)};
	inbound->since_ms = clock_ms(CLOCK_BOOTTIME);
	inbound->relay = relay_new(inbound->options.base, inbound->options.pipes, &ends, on_relayed, inbound);
}

static enum spare kind_of(const struct inbound *inbound) {
	return inbound->second ? SPARE_TCP6 : SPARE_TCP4;
}

static void begin(struct inbound *inbound);

static void tried(struct inbound *inbound, int code) {
	if (inbound->connecting) event_free(STEAL(inbound->connecting));
	if (code == 0) {
		relay_it(inbound);
		return;
	}
	fd_close(fd_steal(&inbound->inner));
	if (inbound->second || code != ECONNREFUSED) {
		finish(inbound, code);
		return;
	}
	inbound->second = true;
	begin(inbound);
}

static void on_connected(evutil_socket_t fd, short what, void *argument) {
	int code = 0;
	socklen_t size = sizeof code;
	if (what & EV_TIMEOUT)
		code = ETIMEDOUT;
	else if (getsockopt((int)fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0)
		code = errno;
	tried(argument, code);
}

static int start_connect(const struct inbound *inbound) {
	const struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(inbound->options.port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(inbound->options.port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const int on = 1;
	setsockopt(inbound->inner, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	int r = inbound->second ? connect(inbound->inner, (const struct sockaddr *)&v6, sizeof v6)
				: connect(inbound->inner, (const struct sockaddr *)&v4, sizeof v4);
	return r < 0 ? errno : 0;
}

static void connect_inside(struct inbound *inbound) {
	static const struct timeval limit = {.tv_sec = LIMIT_CONNECT_MS / 1000};
	int code = start_connect(inbound);
	if (code != EINPROGRESS) {
		tried(inbound, code);
		return;
	}
	inbound->connecting =
		mem_expect(event_new(inbound->options.base, inbound->inner, EV_WRITE, on_connected, inbound));
	event_add(inbound->connecting, &limit);
}

static void on_spare(void *argument) {
	struct inbound *inbound = argument;
	inbound->wait = NULL;
	int fd = spares_take(inbound->options.spares, kind_of(inbound));
	if (fd < 0) {
		finish(inbound, EMFILE);
		return;
	}
	inbound->inner = fd;
	connect_inside(inbound);
}

static void begin(struct inbound *inbound) {
	int fd = spares_take(inbound->options.spares, kind_of(inbound));
	if (fd < 0) {
		inbound->wait = spares_when(inbound->options.spares, kind_of(inbound), on_spare, inbound);
		return;
	}
	inbound->inner = fd;
	connect_inside(inbound);
}

static void on_step(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	begin(argument);
}

struct inbound *inbound_new(const struct inbound_options *options, int fd) {
	struct inbound *inbound = mem_new(struct inbound);
	*inbound = (struct inbound){.options = *options, .outer = fd, .inner = -1};
	inbound->step = mem_expect(evtimer_new(options->base, on_step, inbound));
	event_active(inbound->step, EV_TIMEOUT, 0); /* `done` isn't called from in here */
	return inbound;
}

struct inbound_end inbound_end(const struct inbound *inbound) {
	if (!inbound->relay) return (struct inbound_end){.code = inbound->code};
	return (struct inbound_end){.connected = true,
				    .sent = relay_sent(inbound->relay),
				    .received = relay_received(inbound->relay),
				    .duration_ms = clock_ms(CLOCK_BOOTTIME) - inbound->since_ms,
				    .code = inbound->code};
}

void inbound_free(struct inbound *inbound) {
	if (!inbound) return;
	spares_cancel(inbound->wait);
	if (inbound->connecting) event_free(inbound->connecting);
	event_free(inbound->step);
	relay_free(inbound->relay);
	fd_close(inbound->inner);
	socket_abort(inbound->outer);
	free(inbound);
}
