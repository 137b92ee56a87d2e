/*
 * Theory of operation. A listener is a socket of the sandbox's network at the address that stands for a host,
 * unconnected, so that it hears all sources; their sockets are connected to it and take answers from nowhere else.
 * Listeners and flows are kept in order of use: the sweep ends them from the far end, and a newcomer that finds no room
 * takes the place of the one that was used longest ago, a listener that never heard anything before one that did.
 *
 * What is refused loses its listener, so that the kernel answers the tool's next datagram; where other sources are
 * heard by the same listener it stays, and what comes from the refused one is dropped for a second.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "flows_private.h"

int64_t flows_now(void) {
	return clock_ms(CLOCK_MONOTONIC_COARSE);
}

/* Listeners */

void listener_touch(struct listener *listener) {
	struct flows *flows = listener->flows;

	listener->used_ms = flows_now();
	TAILQ_REMOVE(&flows->listeners, listener, entry);
	TAILQ_INSERT_HEAD(&flows->listeners, listener, entry);
}

/* One that isn't in the list any more. */
static void listener_release(struct listener *listener, const char *error) {
	struct flow *flow;

	while ((flow = TAILQ_FIRST(&listener->sources))) {
		TAILQ_REMOVE(&listener->sources, flow, near);
		flow_release(flow, error);
	}
	listener->flows->listener_count--;
	if (listener->readable) event_free(listener->readable);
	fd_close(listener->fd);
	strings_finish(&listener->parents);
	free(listener->process);
	free(listener);
}

void listener_free(struct listener *listener, const char *error) {
	TAILQ_REMOVE(&listener->flows->listeners, listener, entry);
	listener_release(listener, error);
}

/* Level-triggered: what one turn leaves is told of again. */
static void listener_readable(evutil_socket_t fd, short what, void *argument) {
	struct listener *listener = argument;
	uint8_t *buffer = listener->flows->buffer;

	(void)what;
	for (int i = 0; i < FLOW_TURN; i++) {
		struct address source = {.size = sizeof source.ipv6};
		ssize_t n = recvfrom(fd, buffer, DATAGRAM_MAX, MSG_DONTWAIT, &source.any, &source.size);

		if (n < 0) return;
		if (!flow_take(listener, &source, buffer, (size_t)n)) return;
	}
}

static void listener_set_caller(struct listener *listener, const struct gate_caller *caller) {
	free(listener->process);
	strings_finish(&listener->parents);
	listener->process = string_copy_or_null(caller ? caller->process : NULL);
	listener->parents = (struct strings){0};
	if (!caller || !caller->parents) return;
	for (size_t i = 0; i < caller->parents->count; i++) strings_add(&listener->parents, caller->parents->items[i]);
}

static int listener_bind(struct listener *listener) {
	struct sockaddr *address = &listener->bound.any;
	const int on = 1;

	if (address->sa_family == AF_INET6) setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	int r = bind(listener->fd, address, listener->bound.size);
	if (r < 0 && errno == EADDRINUSE) { /* by the tool itself, at every address */
		*address_port(address) = 0;
		r = bind(listener->fd, address, listener->bound.size);
	}
	if (r < 0) return -errno;
	if (getsockname(listener->fd, address, &listener->bound.size) < 0) return -errno;
	listener->readable = event_new(listener->flows->options.base, listener->fd, EV_READ | EV_PERSIST,
				       listener_readable, listener);
	if (!listener->readable || event_add(listener->readable, NULL) < 0) mem_exhausted();
	return 0;
}

static struct listener *listener_find(const struct flows *flows, const struct address *address) {
	struct listener *listener;

	TAILQ_FOREACH(listener, &flows->listeners, entry) {
		if (address_equal(&listener->address, address)) return listener;
	}
	return NULL;
}

static void make_room(struct flows *flows) {
	struct listener *listener;

	if (flows->listener_count < LIMIT_FLOW_LISTENERS) return;
	TAILQ_FOREACH_REVERSE(listener, &flows->listeners, listener_list, entry) {
		if (TAILQ_EMPTY(&listener->sources)) break;
	}
	if (!listener) listener = TAILQ_LAST(&flows->listeners, listener_list);
	listener_free(listener, "other destinations needed its place");
}

static int listener_new(struct flows *flows, const struct address *address, const struct host *host,
			struct listener **ret_listener) {
	const int family = address->any.sa_family;
	int fd = spares_take(flows->options.spares, family == AF_INET ? SPARE_UDP4 : SPARE_UDP6), r;

	if (fd < 0) return fd;
	if (!flows->buffer) flows->buffer = mem_array(uint8_t, DATAGRAM_MAX);
	make_room(flows);
	struct listener *listener = mem_new(struct listener);
	*listener = (struct listener){.flows = flows, .address = *address, .bound = *address, .host = *host, .fd = fd};
	listener->port = ntohs(*address_port(&listener->address.any));
	TAILQ_INIT(&listener->sources);
	TAILQ_INSERT_HEAD(&flows->listeners, listener, entry);
	flows->listener_count++;
	if ((r = listener_bind(listener)) < 0) {
		listener_free(listener, NULL);
		return r;
	}
	*ret_listener = listener;
	return 0;
}

static void flows_schedule(struct flows *flows) {
	const int64_t ms = flows->unused_ms;
	const struct timeval after = clock_timeval(ms);

	if (flows->listener_count > 0 && !evtimer_pending(flows->sweep, NULL)) evtimer_add(flows->sweep, &after);
}

int flows_listen(struct flows *flows, const struct address *address, const struct host *host,
		 const struct gate_caller *caller, in_port_t *ret_port) {
	struct listener *listener = listener_find(flows, address);
	int r = listener ? 0 : listener_new(flows, address, host, &listener);

	if (r < 0) return r;
	listener_touch(listener);
	listener_set_caller(listener, caller);
	flows_schedule(flows);
	*ret_port = *address_port(&listener->bound.any);
	return 0;
}

/* One that nobody has sent anything to for a while. */
static bool is_unused(const struct listener *listener) {
	return TAILQ_EMPTY(&listener->sources) && listener->used_ms <= flows_now() - listener->flows->unused_ms;
}

static void note_wanted(void *argument, const struct sockaddr_storage *peer) {
	const struct flows *flows = argument;
	struct listener *listener;
	struct address end;

	if (!address_read((const struct sockaddr *)peer, sizeof *peer, &end)) return;
	TAILQ_FOREACH(listener, &flows->listeners, entry) {
		if (address_equal(&listener->bound, &end)) listener->wanted = true;
	}
}

/* Who is connected but silent (a log's client) may speak at any time; whoever sorted addresses is gone by now. Where
 * the kernel can't be asked they have as long as one that has spoken. */
static void find_wanted(struct flows *flows) {
	const int64_t before = flows_now() - flows->idle_ms;
	struct diag *diag = flows->options.diag;
	struct listener *listener;
	bool told;

	TAILQ_FOREACH(listener, &flows->listeners, entry) {
		listener->wanted = false;
	}
	told = diag && diag_each_peer(diag, note_wanted, flows);
	TAILQ_FOREACH(listener, &flows->listeners, entry) {
		if (!told) listener->wanted = listener->used_ms > before;
	}
}

static void drop_unused(struct flows *flows) {
	struct listener *next;
	bool known = false;

	for (struct listener *listener = TAILQ_FIRST(&flows->listeners); listener; listener = next) {
		next = TAILQ_NEXT(listener, entry);
		if (!is_unused(listener)) continue;
		if (!known) find_wanted(flows);
		known = true;
		if (!listener->wanted) listener_free(listener, NULL);
	}
}

static void flows_sweep(evutil_socket_t fd, short what, void *argument) {
	struct flows *flows = argument;
	const int64_t before = flows_now() - flows->idle_ms;
	struct flow *flow;

	(void)fd, (void)what;
	while ((flow = TAILQ_LAST(&flows->all, flow_list)) && flow->used_ms <= before) flow_free(flow, NULL);
	drop_unused(flows);
	flows_schedule(flows);
}

struct flows *flows_new(const struct flows_options *options) {
	struct flows *flows = mem_new(struct flows);

	flows->options = *options;
	flows->idle_ms = LIMIT_FLOW_IDLE_MS;
	flows->unused_ms = LIMIT_FLOW_UNUSED_MS;
	TAILQ_INIT(&flows->listeners);
	TAILQ_INIT(&flows->all);
	if (!(flows->sweep = evtimer_new(options->base, flows_sweep, flows))) mem_exhausted();
	return flows;
}

void flows_free(struct flows *flows) {
	struct listener *listener;

	if (!flows) return;
	while ((listener = TAILQ_FIRST(&flows->listeners))) {
		TAILQ_REMOVE(&flows->listeners, listener, entry);
		listener_release(listener, "the sandbox has ended");
	}
	event_free(flows->sweep);
	free(flows->buffer);
	free(flows);
}

void flows_set_idle(struct flows *flows, int64_t ms) {
	flows->idle_ms = flows->unused_ms = ms;
	evtimer_del(flows->sweep);
	flows_schedule(flows);
}

struct flows_counts flows_count(const struct flows *flows) {
	return (struct flows_counts){.listeners = flows->listener_count, .flows = flows->flow_count};
}
