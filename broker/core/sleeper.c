/*
 * sbx-sleep: logind's word to sbxd that the machine is about to sleep. Started by sbxd; stdin is its socket.
 *
 * Theory of operation. It holds one of logind's delay locks (org.freedesktop.login1(5), Inhibit): logind says
 * PrepareForSleep(true) and waits until all such locks are let go, or InhibitDelayMaxSec (5 s) is over. The lock is let
 * go when sbxd says so, or after WAIT_MS, and taken again when the machine is awake. It ends with sbxd's end of the
 * socket, or the bus.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "sleep_wire.h"

enum { SOCKET = STDIN_FILENO, WAIT_MS = 2000, EXIT_BUS = 1 };

static const char service[] = "org.freedesktop.login1", object[] = "/org/freedesktop/login1",
		  interface[] = "org.freedesktop.login1.Manager";

struct sleeper {
	sd_bus *bus;
	int lock;         /* -1: not held */
	int64_t until_ms; /* while sbxd is waited for; 0: it isn't */
};

static int64_t now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool tell(enum sleep_byte what) {
	const char byte = (char)what;
	return write(SOCKET, &byte, 1) == 1;
}

static void let_go(struct sleeper *sleeper) {
	if (sleeper->lock >= 0) close(sleeper->lock);
	sleeper->lock = -1;
	sleeper->until_ms = 0;
}

static int take_lock(struct sleeper *sleeper) {
	sd_bus_message *reply = NULL;
	int fd = -1;
	int r = sd_bus_call_method(sleeper->bus, service, object, interface, "Inhibit", NULL, &reply, "ssss", "sleep",
				   "sbx", "Calls that wait for an answer are ended first", "delay");
	if (r >= 0) r = sd_bus_message_read(reply, "h", &fd); /* the message's own */
	if (r >= 0) {
		let_go(sleeper);
		sleeper->lock = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		r = sleeper->lock < 0 ? -errno : 0;
	}
	sd_bus_message_unref(reply);
	return r;
}

static int on_prepare(sd_bus_message *message, void *argument, sd_bus_error *error) {
	struct sleeper *sleeper = argument;
	int sleeping;
	(void)error;
	int r = sd_bus_message_read(message, "b", &sleeping);
	if (r < 0) return r;
	if (sleeping)
		sleeper->until_ms = now_ms() + WAIT_MS;
	else
		take_lock(sleeper);
	tell(sleeping ? SLEEP_SOON : SLEEP_AWAKE);
	return 0;
}

static int start(struct sleeper *sleeper) {
	int r = sd_bus_open_system(&sleeper->bus);
	if (r >= 0)
		r = sd_bus_match_signal(sleeper->bus, NULL, service, object, interface, "PrepareForSleep", on_prepare,
					sleeper);
	if (r >= 0) r = take_lock(sleeper);
	return r;
}

/* False: sbxd has gone. */
static bool hear(struct sleeper *sleeper) {
	char byte;
	ssize_t got = read(SOCKET, &byte, 1);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
	if (got == 1 && byte == SLEEP_GO) let_go(sleeper);
	return got == 1;
}

/* In ms; -1: for ever. */
static int time_left(const struct sleeper *sleeper) {
	uint64_t bus_us = UINT64_MAX;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t now_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000, left = -1;
	sd_bus_get_timeout(sleeper->bus, &bus_us);
	if (bus_us != UINT64_MAX) left = (int64_t)bus_us > now_us ? ((int64_t)bus_us - now_us) / 1000 + 1 : 0;
	if (sleeper->until_ms != 0) {
		int64_t wait = sleeper->until_ms > now_ms() ? sleeper->until_ms - now_ms() : 0;
		if (left < 0 || wait < left) left = wait;
	}
	return (int)(left > WAIT_MS ? WAIT_MS : left);
}

static int serve(struct sleeper *sleeper) {
	for (;;) {
		int r;
		while ((r = sd_bus_process(sleeper->bus, NULL)) > 0) continue;
		if (r < 0) return r;
		int events = sd_bus_get_events(sleeper->bus);
		if (events < 0) return events;
		struct pollfd fds[] = {{.fd = SOCKET, .events = POLLIN},
				       {.fd = sd_bus_get_fd(sleeper->bus), .events = (short)events}};
		if (poll(fds, 2, time_left(sleeper)) < 0 && errno != EINTR) return -errno;
		if (sleeper->until_ms != 0 && now_ms() >= sleeper->until_ms) let_go(sleeper);
		if (fds[0].revents && !hear(sleeper)) return 0;
	}
}

/* A person may find the program, and wonder. */
static int refuse(void) {
	static const char words[] = "sbx-sleep: this tells sbxd when the machine is about to sleep; sbxd starts it\n";
	(void)!write(STDERR_FILENO, words, sizeof words - 1);
	return EXIT_BUS;
}

int main(void) {
	struct sleeper sleeper = {.lock = -1};
	struct stat socket;
	if (fstat(SOCKET, &socket) < 0 || !S_ISSOCK(socket.st_mode)) return refuse();
	/* Who ends sbxd by force ends this with it, by the socket. */
	if (start(&sleeper) < 0 || !tell(SLEEP_READY)) return EXIT_BUS;
	int r = serve(&sleeper);
	let_go(&sleeper);
	sd_bus_flush_close_unref(sleeper.bus);
	return r < 0 ? EXIT_BUS : 0;
}
