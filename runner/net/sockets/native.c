/*
 * Theory of operation. A connection goes through these steps; a blocking connect asks first, since its tool wants to
 * know how it ended, one that doesn't block meets first, since its tool has an event loop to go on with:
 *
 *     blocking:      ask the gate ──► meet ──► answer 0 ──► relay
 *     not blocking:  meet ──► answer EINPROGRESS ──► ask the gate ──► relay
 *
 * Where a rule says `direct: true` one that doesn't block asks first, too, and meets after a moment at the latest.
 *
 * "Meet": a spare socket of the sandbox's network is bound to the very address that the tool named and listens, the
 * duplicate is connected to it, and the end that is accepted there is ours; then the listener is closed. It lives for
 * microseconds, so that no listener is ever in a tool's way, and nobody else connects meanwhile: every connect in the
 * sandbox is one of ours. (What is accepted is compared with the duplicate's name all the same.) Where the tool's own
 * server holds the port, another port of the same address does.
 *
 * A blocking connect that a signal or the socket's own time-out ends (SO_SNDTIMEO) goes on without its tool, as
 * connect(2) says of EINTR and EINPROGRESS: it meets then, and is answered so.
 */
#include "native.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "calls/descriptors.h"
#include "calls/socket_calls.h"
#include "net/gate/tunnel.h"
#include "net/parse/address.h"
#include "net/streams/pipes.h"
#include "net/streams/socket_abort.h"
#include "net/streams/spares.h"

enum {
	NATIVE_PART = 2,         /* of all descriptors */
	NATIVE_FDS = 4,          /* of one connection: two ends, a pipe while bytes wait */
	NATIVE_MEET_MS = 5000,   /* for a handshake over the loopback, which takes none */
	NATIVE_LEAVING_MS = 500, /* between looks whether one who has closed its half still lives */
};

TAILQ_HEAD(link_list, link);

/* One connection. `call` is there until the tool was answered, `near` from the meeting on. */
struct link {
	TAILQ_ENTRY(link) entry;
	struct native *native;
	struct socket_call *call;
	struct address to; /* what the tool named, and what it stands for: */
	struct host host;
	uint16_t port;
	pid_t thread; /* who connected */
	int refusal;
	int result; /* what the call ends with once it has met, 0 or -errno */
	bool meeting;
	char *process;
	struct strings parents;
	struct spares_wait *spare;
	int listener, near, far;
	struct event *accepting; /* the listener, when the handshake took longer than the call */
	struct event *timeout;   /* of the blocking call */
	struct event *leaving;   /* near's other end has gone, or gone half: see on_closed */
	struct event *closed;
	struct gate_call *asking;
	struct gate_lease *lease;
	struct tunnel *tunnel;
};

struct native {
	struct native_options options;
	struct pipes pipes;
	struct link_list links;
	size_t count, most;
	bool warned; /* of too many */
};

static void free_event(struct event **event) {
	if (*event) event_free(*event);
	*event = NULL;
}

/* The portal may have its copy of the socket for a moment more, which would take the tool's next connect. */
static void stop_listening(struct link *link) {
	if (link->listener >= 0) shutdown(link->listener, SHUT_RDWR);
	fd_close(fd_steal(&link->listener));
}

/* Whatever it has by now; ends of no tunnel are reset. It is in no list any more. */
static void link_release(struct link *link, const char *error) {
	struct socket_call *call = STEAL(link->call);
	if (call) socket_call_answer(call, link->result < 0 ? link->result : -EINTR);
	if (link->asking) gate_cancel(link->asking);
	if (link->lease) gate_lease_end(link->lease, 0, 0, error);
	tunnel_free(link->tunnel);
	spares_cancel(link->spare);
	free_event(&link->accepting);
	free_event(&link->timeout);
	free_event(&link->leaving);
	free_event(&link->closed);
	stop_listening(link);
	socket_abort(link->near);
	socket_abort(link->far);
	free(link->process);
	strings_finish(&link->parents);
	link->native->count--;
	free(link);
}

static void link_end(struct link *link, const char *error) {
	TAILQ_REMOVE(&link->native->links, link, entry);
	link_release(link, error);
}

/* The call, and with it the connection, ends with this error. */
static void link_fail(struct link *link, int code) {
	link->result = -code;
	link_end(link, strerror(code));
}

static void on_cut(void *argument) {
	struct link *link = argument;
	link->result = -link->refusal;
	link_end(link, "the grant has ended");
}

/* Relaying */

static void on_ended(void *argument) {
	link_end(argument, NULL);
}

static void link_relay(struct link *link) {
	const struct tunnel_options options = {.base = link->native->options.base,
					       .gate = link->native->options.gate,
					       .pipes = &link->native->pipes,
					       .ends = {.near = fd_steal(&link->near), .far = fd_steal(&link->far)},
					       .lease = STEAL(link->lease),
					       .host = &link->host,
					       .port = link->port,
					       .ended = on_ended,
					       .argument = link};
	free_event(&link->closed);
	free_event(&link->leaving);
	link->tunnel = tunnel_new(&options);
}

/* Asking */

static void link_meet(struct link *link);

static bool link_hands_over(struct link *link, const struct gate_result *result) {
	const struct native_options *options = &link->native->options;
	if (!options->hand_over || !result->verdict->direct || !link->call || link->meeting) return false;
	if (!options->hand_over(options->context, link->call, result)) return false;
	link->call = NULL;
	return true;
}

/* A tool that is connected already sees a reset, whatever the reason; one that waits sees an errno, which doesn't say
 * that the name wasn't found, or that it was the way to the upstream proxy. */
static void say_failed(const struct link *link, const struct gate_result *result) {
	if (link->near < 0 && string_equal(result->message, strerror(result->code))) return;
	CLEANUP_FREE char *how = string_format("failed: %s", result->message);
	gate_add_broken(link->native->options.gate, result->target, how);
}

static void on_asked(void *argument, const struct gate_result *result) {
	struct link *link = argument;
	link->asking = NULL;
	if (result->outcome == GATE_FAILED) say_failed(link, result);
	if (result->outcome != GATE_CONNECTED) {
		link_fail(link, result->outcome == GATE_DENIED ? link->refusal : result->code);
		return;
	}
	if (link_hands_over(link, result)) {
		link_end(link, NULL);
		return;
	}
	link->far = result->fd;
	link->lease = gate_lease_new(link->native->options.gate, result, "native", on_cut, link);
	if (link->near >= 0)
		link_relay(link);
	else if (!link->meeting)
		link_meet(link);
}

static void link_ask(struct link *link) {
	const struct gate_caller caller = {.process = link->process, .parents = &link->parents};
	struct gate *gate = link->native->options.gate;
	link->asking = link->near < 0
			       ? gate_open(gate, &link->host, link->port, &caller, on_asked, link)
			       : gate_open_heard(gate, &link->host, link->port, &caller, link->near, on_asked, link);
}

static void look_later(struct link *link) {
	static const struct timeval moment = {.tv_usec = NATIVE_LEAVING_MS * 1000};
	evtimer_add(link->leaving, &moment);
}

static void on_left(evutil_socket_t fd, short what, void *argument) {
	const struct link *link = argument;
	(void)fd, (void)what;
	if (kill(link->thread, 0) < 0 && errno == ESRCH)
		link_end(argument, "cut");
	else
		look_later(argument);
}

/* While it is asked: a tool that said nothing and closed has gone. One that did say something may have closed its half
 * alone, and waits for what comes back: until it has gone. */
static void on_closed(evutil_socket_t fd, short what, void *argument) {
	struct link *link = argument;
	char byte;
	(void)what;
	if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
		link_end(link, "cut");
		return;
	}
	link->leaving = mem_expect(evtimer_new(link->native->options.base, on_left, link));
	look_later(link);
}

static void watch_near(struct link *link) {
	link->closed = event_new(link->native->options.base, link->near, EV_CLOSED, on_closed, link);
	if (!link->closed || event_add(link->closed, NULL) < 0) mem_exhausted();
}

/* Meeting */

static bool is_named(int fd, const struct address *name) {
	struct sockaddr_storage own = {0};
	socklen_t size = sizeof own;
	struct address address;
	return getsockname(fd, (struct sockaddr *)&own, &size) == 0 &&
	       address_read((struct sockaddr *)&own, size, &address) && address_equal(&address, name);
}

/* Ours, or -EAGAIN. */
static int accept_own(const struct link *link) {
	for (;;) {
		struct address peer = {.size = sizeof peer.ipv6};
		int fd = accept4(link->listener, &peer.any, &peer.size, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
		if (fd < 0) return -errno;
		if (is_named(link->call->fd, &peer)) return fd;
		socket_abort(fd);
	}
}

static void link_met(struct link *link, int near) {
	struct socket_call *call = STEAL(link->call);
	link->meeting = false;
	link->near = near;
	stop_listening(link);
	free_event(&link->accepting);
	free_event(&link->timeout);
	/* A connect that doesn't wait leaves the socket as one whose next connect(2) says that it is connected. The
	 * tool that has waited has had that one. */
	if (link->result == 0) socket_call_connect(call, (struct sockaddr *)&call->address, call->address_size);
	const int result = link->result;
	const bool relays = link->far >= 0;
	/* first: the tool goes on where we run (traps_new), once we are done */
	if (relays) link_relay(link);
	socket_call_answer(call, result);
	if (relays) return;
	watch_near(link);
	if (!link->asking) link_ask(link);
}

static void on_acceptable(evutil_socket_t fd, short what, void *argument) {
	struct link *link = argument;
	(void)fd;
	int near = what & EV_TIMEOUT ? -ETIMEDOUT : accept_own(link);
	if (near >= 0)
		link_met(link, near);
	else if (near != -EAGAIN)
		link_fail(link, -near);
}

static void accept_later(struct link *link) {
	const struct timeval limit = {.tv_sec = NATIVE_MEET_MS / 1000};
	link->accepting =
		event_new(link->native->options.base, link->listener, EV_READ | EV_PERSIST, on_acceptable, link);
	if (!link->accepting || event_add(link->accepting, &limit) < 0) mem_exhausted();
}

static enum spare kind_of(const struct link *link) {
	return link->to.any.sa_family == AF_INET ? SPARE_TCP4 : SPARE_TCP6;
}

/* *at gets another port where that one is taken. 0 or -errno. */
static int listen_at(int fd, struct address *at) {
	static const int one = 1;
	/* older connections to the same place may still be there */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0) return -errno;
	/* what comes goes on as it comes; what is accepted inherits it */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) < 0) return -errno;
	int r = bind(fd, &at->any, at->size) < 0 ? -errno : 0;
	if (r == 0) r = listen(fd, 1) < 0 ? -errno : 0;
	if (r != -EADDRINUSE) return r;
	*address_port(&at->any) = 0;
	if (bind(fd, &at->any, at->size) < 0 || listen(fd, 1) < 0 || getsockname(fd, &at->any, &at->size) < 0)
		return -errno;
	return 0;
}

static void link_meet_on(struct link *link, int listener) {
	struct socket_call *call = link->call;
	struct sockaddr_storage address = call->address;
	struct address at = link->to;
	link->listener = listener;
	int r = listen_at(listener, &at);
	*address_port((struct sockaddr *)&address) = *address_port(&at.any);
	if (r == 0) r = socket_call_connect(call, (struct sockaddr *)&address, call->address_size);
	if (r < 0 && r != -EINPROGRESS) {
		link_fail(link, -r);
		return;
	}
	if (link->result == 0 && !call->blocking) link->result = r;
	int near = accept_own(link);
	if (near >= 0)
		link_met(link, near);
	else if (near == -EAGAIN && r == -EINPROGRESS)
		accept_later(link);
	else
		link_fail(link, near == -EAGAIN ? EISCONN : -near); /* another call has connected it meanwhile */
}

static void on_spare(void *argument) {
	struct link *link = argument;
	link->spare = NULL;
	int fd = spares_take(link->native->options.spares, kind_of(link));
	if (fd < 0)
		link_fail(link, EAGAIN);
	else
		link_meet_on(link, fd);
}

static void link_meet(struct link *link) {
	struct spares *spares = link->native->options.spares;
	const enum spare kind = kind_of(link);
	link->meeting = true;
	int fd = spares_take(spares, kind);
	if (fd >= 0)
		link_meet_on(link, fd);
	else
		link->spare = spares_when(spares, kind, on_spare, link);
}

/* Beginning */

/* The tool can't wait any longer: what it began goes on. */
static void go_on_without(struct link *link, int code) {
	if (link->result == 0) link->result = -code;
	if (!link->meeting) link_meet(link);
}

static void on_interrupted(void *argument) {
	const struct link *link = argument;
	go_on_without(argument, link->call->blocking ? EINTR : 0); /* else: as it meets, EINPROGRESS */
}

static void on_timeout(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	go_on_without(argument, EINPROGRESS); /* as inet_stream_connect() of net/ipv4/af_inet.c */
}

/* socket(7), SO_SNDTIMEO: connect(2) heeds it. */
static void heed_timeout(struct link *link) {
	struct timeval limit = {0};
	socklen_t size = sizeof limit;
	if (getsockopt(link->call->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, &size) < 0) return;
	if (limit.tv_sec == 0 && limit.tv_usec == 0) return;
	link->timeout = evtimer_new(link->native->options.base, on_timeout, link);
	evtimer_add(link->timeout, &limit);
}

static void on_held(evutil_socket_t fd, short what, void *argument) {
	struct link *link = argument;
	(void)fd, (void)what;
	if (!link->meeting) link_meet(link);
}

/* It may be handed the host's socket, but its tool has an event loop to go on with. */
static void hold_shortly(struct link *link) {
	const struct timeval limit = {.tv_usec = LIMIT_DIRECT_HOLD_MS * 1000};
	link->timeout = mem_expect(evtimer_new(link->native->options.base, on_held, link));
	evtimer_add(link->timeout, &limit);
}

void native_connect(struct native *native, struct socket_call *call, const struct host *host, uint16_t port,
		    int refusal) {
	if (native->count >= native->most) {
		if (!native->warned)
			log_warning("the sandbox has %zu connections: further ones are refused", native->most);
		native->warned = true;
		socket_call_answer(call, -EAGAIN);
		return;
	}
	struct link *link = mem_new(struct link);
	*link = (struct link){.native = native,
			      .call = call,
			      .host = *host,
			      .port = port,
			      .thread = call->thread,
			      .refusal = refusal,
			      .listener = -1,
			      .near = -1,
			      .far = -1};
	address_read((const struct sockaddr *)&call->address, call->address_size, &link->to);
	TAILQ_INSERT_TAIL(&native->links, link, entry);
	native->count++;
	native->options.describe(native->options.context, call->thread, &link->process, &link->parents);
	socket_call_on_interrupt(call, on_interrupted, link);
	if (!call->blocking && !native->options.hand_over) {
		link_meet(link);
		return;
	}
	link_ask(link); /* while that is under way: */
	if (call->blocking)
		heed_timeout(link);
	else
		hold_shortly(link);
}

struct native *native_new(const struct native_options *options) {
	struct native *native = mem_new(struct native);
	*native = (struct native){.options = *options,
				  .most = descriptors_share(NATIVE_PART, NATIVE_FDS, LIMIT_CONNECTIONS)};
	TAILQ_INIT(&native->links);
	pipes_init(&native->pipes);
	return native;
}

size_t native_count(const struct native *native) {
	return native->count;
}

void native_free(struct native *native) {
	struct link *link;
	if (!native) return;
	while ((link = TAILQ_FIRST(&native->links))) {
		TAILQ_REMOVE(&native->links, link, entry);
		link_release(link, "the sandbox has ended");
	}
	pipes_finish(&native->pipes);
	free(native);
}
