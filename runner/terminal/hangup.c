/*
 * Theory of operation. A terminal that is hung up is readable for good, and poll(2) says POLLHUP of it. One that merely
 * has input is readable, too, which can't be left out for a terminal of any kind, so then it is looked at again only a
 * while later. While nobody types, nothing wakes us. The signal may come a moment before the terminal is gone.
 */
#include "hangup.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fd.h"

enum { HANGUP_LOOK_MS = 200 }; /* between looks at a terminal with input that waits for somebody else */

struct hangup {
	int terminal;                            /* -1: none */
	struct event *readable, *again, *signal; /* NULL: not for this one */
	void (*told)(void *context, bool gone);
	void *context;
};

bool hangup_of(int terminal) {
	struct pollfd polled = {.fd = terminal};
	return poll(&polled, 1, 0) > 0 && (polled.revents & POLLHUP);
}

bool hangup_has_come(const struct hangup *hangup) {
	return hangup && hangup_of(hangup->terminal);
}

static void tell(const struct hangup *hangup, bool gone) {
	if (hangup->told) hangup->told(hangup->context, gone);
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	const struct hangup *hangup = argument;
	const struct timeval later = clock_timeval(HANGUP_LOOK_MS);
	(void)fd, (void)what;
	if (hangup_of(hangup->terminal))
		tell(hangup, true);
	else
		event_add(hangup->again, &later);
}

static void on_again(evutil_socket_t fd, short what, void *argument) {
	const struct hangup *hangup = argument;
	(void)fd, (void)what;
	event_add(hangup->readable, NULL);
}

/* With a terminal that is gone it says nothing new. */
static void on_signal(evutil_socket_t number, short what, void *argument) {
	const struct hangup *hangup = argument;
	(void)number, (void)what;
	if (!hangup_has_come(hangup)) tell(hangup, false);
}

static bool is_ignored(void) {
	struct sigaction action;
	return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

struct hangup *hangup_new(struct event_base *base) {
	struct hangup *hangup = mem_new(struct hangup);
	hangup->terminal = -1;
	if (is_ignored()) return hangup;
	hangup->signal = mem_expect(evsignal_new(base, SIGHUP, on_signal, hangup));
	hangup->terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (hangup->terminal < 0) return hangup;
	hangup->readable = mem_expect(event_new(base, hangup->terminal, EV_READ, on_readable, hangup));
	hangup->again = mem_expect(evtimer_new(base, on_again, hangup));
	return hangup;
}

void hangup_watch(struct hangup *hangup, void (*told)(void *context, bool gone), void *context) {
	hangup->told = told;
	hangup->context = context;
	if (hangup->signal) event_add(hangup->signal, NULL);
	if (!hangup->readable) return;
	event_del(hangup->again);
	if (told)
		event_add(hangup->readable, NULL);
	else
		event_del(hangup->readable);
}

static void free_event(struct event *event) {
	if (event) event_free(event);
}

void hangup_free(struct hangup *hangup) {
	if (!hangup) return;
	free_event(hangup->readable);
	free_event(hangup->again);
	free_event(hangup->signal);
	fd_close(hangup->terminal);
	free(hangup);
}
