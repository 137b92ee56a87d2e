/*
 * Attacks of a tool on the loop that carries its calls out (N12): what it does to a socket meanwhile must not make us
 * wait. Where it does, these tests don't come to their end.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"
#include "calls/socket_calls.h"
#include "islander.h"
#include "support/patience.h"

enum { TRIES = 200, QUIET_MS = 300, TURNS_MAX = 100 };

static struct islander islander;

static int set_up(void **state) {
	(void)state;
	islander_make(&islander);
	return 0;
}

static int tear_down(void **state) {
	(void)state;
	islander_remove(&islander);
	return 0;
}

/* Of the tools */

static int listen_at(struct sockaddr_in *ret_place, int backlog) {
	socklen_t size = sizeof *ret_place;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*ret_place = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(fd, (struct sockaddr *)ret_place, size) < 0 || listen(fd, backlog) < 0) say("listen", -1);
	getsockname(fd, (struct sockaddr *)ret_place, &size);
	return fd;
}

static int dial(int fd, const struct sockaddr_in *place) {
	return connect(fd, (const struct sockaddr *)place, sizeof *place);
}

/* Both halves of a connection of the tool's own. */
static int pair(int *ret_other) {
	struct sockaddr_in place;
	int listener = listen_at(&place, 1), fd = socket(AF_INET, SOCK_STREAM, 0);

	if (dial(fd, &place) < 0) say("connect", -1);
	*ret_other = accept(listener, NULL, NULL);
	close(listener);
	return fd;
}

static void on_alarm(int number) {
	(void)number;
}

/* A thread that takes O_NONBLOCK away */

static atomic_int flipped = -1;

static void *thread_flips(void *argument) {
	(void)argument;
	for (int fd; (fd = atomic_load(&flipped)) != -2;)
		if (fd >= 0) fcntl(fd, F_SETFL, 0);
	return NULL;
}

static void tool_flips(void) {
	const struct itimerval often = {.it_value.tv_usec = 500, .it_interval.tv_usec = 500};
	const struct sigaction action = {.sa_handler = on_alarm};
	struct sockaddr_in full;
	sigset_t alarms;
	pthread_t thread;
	int other;

	listen_at(&full, 0);
	for (int i = 0; i < 4; i++) dial(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), &full);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarms, NULL);
	pthread_create(&thread, NULL, thread_flips, NULL);
	sigaction(SIGALRM, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < TRIES; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		atomic_store(&flipped, fd);
		while (fcntl(fd, F_GETFL) & O_NONBLOCK) { /* it has begun */
		}
		if (dial(fd, &full) == 0) say("full", 0);
		close(fd);
	}
	atomic_store(&flipped, -2);
	setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 0}, NULL);
	pthread_join(thread, NULL);
	say("another", pair(&other) < 0 ? -1 : 0);
}

static void attack_net_12_a_socket_that_is_made_to_block_meanwhile(void **state) {
	(void)state;
	islander_start(&islander, tool_flips);
	islander_expect(&islander, "another: 0\n");
}

/* The last one who closes a socket waits as long as it says */

static int last;

/* Until nothing more is taken for good. */
static void fill(int fd) {
	static const char much[1 << 16];
	struct pollfd polled = {.fd = fd, .events = POLLOUT};

	do {
		while (send(fd, much, sizeof much, MSG_DONTWAIT) > 0) {
		}
	} while (poll(&polled, 1, 200) > 0);
}

static void *thread_sends(void *argument) {
	static const char much[1 << 16];
	const struct sockaddr_in place = {.sin_family = AF_INET};
	long sent;

	(void)argument;
	do sent = sendto(last, much, sizeof much, 0, (const struct sockaddr *)&place, sizeof place);
	while (sent > 0);
	return NULL; /* it took too long, or the socket was closed by then */
}

static void tool_lingers(void) {
	const struct linger hours = {.l_onoff = 1, .l_linger = 3600};
	const struct timeval limit = {.tv_sec = 5}; /* the call is seen held before that, also on a busy machine */
	pthread_t thread;
	int silent, other;

	last = pair(&silent);
	setsockopt(last, SOL_SOCKET, SO_LINGER, &hours, sizeof hours);
	setsockopt(last, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	fill(last);
	say("full", 0);
	pthread_create(&thread, NULL, thread_sends, NULL);
	hear(); /* it is held */
	close(last);
	pthread_join(thread, NULL);
	say("another", pair(&other) < 0 ? -1 : 0);
}

static bool one_is_held(const struct islander *each) {
	return each->calls && socket_calls_count(each->calls) == 1;
}

static void attack_net_12_a_socket_that_lingers(void **state) {
	(void)state;
	islander_start(&islander, tool_lingers);
	islander_until(&islander, "full: 0\n");
	islander_until_true(&islander, one_is_held);
	islander_tell(&islander, "");
	islander_expect(&islander, "full: 0\nanother: 0\n");
}

/* What stays of a call, or of a socket's queue of errors (IP_RECVERR, ip(7)), must not keep the loop awake */

static void on_time(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	*(bool *)argument = true;
}

static unsigned count_turns(void) {
	const struct timeval time = {.tv_usec = QUIET_MS * 1000};
	bool over = false;
	unsigned turns = 0;
	struct event *timer = evtimer_new(islander.base, on_time, &over);

	evtimer_add(timer, &time);
	while (!over) {
		event_base_loop(islander.base, EVLOOP_ONCE);
		turns++;
	}
	event_free(timer);
	return turns;
}

static void tool_stays(void) {
	int other;

	say("connected", pair(&other) < 0 ? -1 : 0);
	hear();
}

static void attack_net_12_nothing_is_left_of_a_call_that_waited(void **state) {
	(void)state;
	islander_start(&islander, tool_stays);
	islander_until(&islander, "connected: 0\n");
	assert_in_range(count_turns(), 1, TURNS_MAX);
	islander_tell(&islander, "");
	islander_expect(&islander, "connected: 0\n");
}

/* A stream whose send waits, with an error in its queue that nobody takes: MSG_ERRQUEUE has the times of what was sent
 * (SO_TIMESTAMPING). */
static void tool_leaves_errors(void) {
	static const int stamps = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE, small = 4096;
	struct sockaddr_in place;
	char bytes[4096] = {0};
	int listener = listen_at(&place, 1), fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	if (dial(fd, &place) < 0 || accept(listener, NULL, NULL) < 0) say("pair", -1);
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps);
	while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
	}
	say("full", 0);
	sendto(fd, bytes, sizeof bytes, 0, (struct sockaddr *)&place, sizeof place);
}

static void attack_net_12_errors_that_nobody_takes(void **state) {
	(void)state;
	islander_start(&islander, tool_leaves_errors);
	islander_until(&islander, "full: 0\n");
	islander_until_true(&islander, one_is_held);
	assert_in_range(count_turns(), 1, TURNS_MAX);
	islander_end(&islander);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_net_12_a_socket_that_is_made_to_block_meanwhile),
		cmocka_unit_test(attack_net_12_a_socket_that_lingers),
		cmocka_unit_test(attack_net_12_nothing_is_left_of_a_call_that_waited),
		cmocka_unit_test(attack_net_12_errors_that_nobody_takes),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
