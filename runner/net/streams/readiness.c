#include "readiness.h"

#include "base/memory.h"

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct readiness *readiness = argument;

	(void)fd, (void)what;
	readiness->readable = true;
	readiness->wake(readiness->argument);
}

static void on_writable(evutil_socket_t fd, short what, void *argument) {
	struct readiness *readiness = argument;

	(void)fd, (void)what;
	readiness->writable = true;
	readiness->wake(readiness->argument);
}

static void on_turn(evutil_socket_t fd, short what, void *argument) {
	const struct readiness *readiness = argument;

	(void)fd, (void)what;
	readiness->wake(readiness->argument);
}

void readiness_watch(struct readiness *readiness, struct event_base *base, int fd, void (*wake)(void *argument),
		     void *argument) {
	*readiness = (struct readiness){.writable = true, .wake = wake, .argument = argument};
	readiness->reads = mem_expect(event_new(base, fd, EV_READ, on_readable, readiness));
	readiness->writes = mem_expect(event_new(base, fd, EV_WRITE, on_writable, readiness));
	/* one of its own: event_add does nothing for an event that event_active has made run already */
	readiness->turn = mem_expect(evtimer_new(base, on_turn, readiness));
	event_add(readiness->reads, NULL);
}

void readiness_end(struct readiness *readiness) {
	event_free(readiness->reads);
	event_free(readiness->writes);
	event_free(readiness->turn);
	*readiness = (struct readiness){0};
}

void readiness_not_readable(struct readiness *readiness) {
	readiness->readable = false;
	event_add(readiness->reads, NULL);
}

void readiness_not_writable(struct readiness *readiness) {
	readiness->writable = false;
	event_add(readiness->writes, NULL);
}

void readiness_wake_soon(struct readiness *readiness) {
	event_active(readiness->turn, EV_TIMEOUT, 0);
}
