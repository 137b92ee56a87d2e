#include "bus.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/string.h"
#include "timer.h"

enum {
	RETRY_MS = 1000,
	TURN_MAX = 64, /* messages in one turn of the loop, whoever sends them */
};

struct bus {
	struct event_base *base;
	struct bus_events events;
	sd_bus *connection;
	struct event *readable, *writable, *due, *retry;
};

sd_bus *bus_connection(const struct bus *bus) {
	return bus->connection;
}

void bus_wake(struct bus *bus) {
	event_active(bus->due, EV_TIMEOUT, 0);
}

static void close_connection(struct bus *bus) {
	if (bus->readable) event_free(bus->readable);
	if (bus->writable) event_free(bus->writable);
	bus->readable = bus->writable = NULL;
	bus->connection = sd_bus_close_unref(bus->connection);
}

static void lose(struct bus *bus, const char *what, int r) {
	CLEANUP_FREE char *why = string_format("%s: %s", what, strerror(-r));
	event_del(bus->due);
	close_connection(bus);
	timer_after_ms(bus->retry, RETRY_MS);
	bus->events.lost(bus->events.context, why);
}

/* What the bus waits for changes with every call. */
static void rearm(struct bus *bus) {
	uint64_t until_us = UINT64_MAX;
	int events = sd_bus_get_events(bus->connection);
	if (events < 0) {
		lose(bus, "the session bus", events);
		return;
	}
	if (events & POLLOUT)
		event_add(bus->writable, NULL);
	else
		event_del(bus->writable);
	event_del(bus->due);
	sd_bus_get_timeout(bus->connection, &until_us);
	if (until_us == UINT64_MAX) return;
	int64_t left_ms = (int64_t)(until_us / 1000) - clock_ms(CLOCK_MONOTONIC);
	timer_after_ms(bus->due, left_ms > 0 ? left_ms + 1 : 0);
}

static void on_bus(evutil_socket_t fd, short what, void *argument) {
	struct bus *bus = argument;
	int r = 1;
	(void)fd;
	(void)what;
	if (!bus->connection) return;
	for (int i = 0; i < TURN_MAX && r > 0; i++) r = sd_bus_process(bus->connection, NULL);
	if (r < 0)
		lose(bus, "the session bus", r);
	else
		rearm(bus);
}

/* Whoever listens there is believed to be the user's own bus: a process of the user's it must be at least. */
static int check_peer(int fd) {
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (fd < 0) return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return -errno;
	return peer.uid == geteuid() ? 0 : -EPERM;
}

static void on_retry(evutil_socket_t none, short due, void *argument) {
	struct bus *bus = argument;
	const char *what = "there is no session bus";
	(void)none;
	(void)due;
	int r = sd_bus_open_user_with_description(&bus->connection, "sbx-notify");
	if (r >= 0) {
		what = "the session bus isn't yours";
		r = check_peer(sd_bus_get_fd(bus->connection));
	}
	if (r >= 0) {
		what = "the session bus";
		r = bus->events.opened(bus->events.context);
	}
	if (r < 0) {
		lose(bus, what, r);
		return;
	}
	int fd = sd_bus_get_fd(bus->connection);
	bus->readable = event_new(bus->base, fd, EV_READ | EV_PERSIST, on_bus, bus);
	bus->writable = event_new(bus->base, fd, EV_WRITE, on_bus, bus);
	if (!bus->readable || !bus->writable || event_add(bus->readable, NULL) < 0) mem_exhausted();
	bus_wake(bus);
}

struct bus *bus_new(struct event_base *base, const struct bus_events *events) {
	struct bus *bus = mem_new(struct bus);
	*bus = (struct bus){.base = base, .events = *events};
	bus->due = mem_expect(evtimer_new(base, on_bus, bus));
	bus->retry = mem_expect(evtimer_new(base, on_retry, bus));
	timer_after_ms(bus->retry, 0);
	return bus;
}

void bus_free(struct bus *bus) {
	if (!bus) return;
	close_connection(bus);
	event_free(bus->due);
	event_free(bus->retry);
	free(bus);
}
