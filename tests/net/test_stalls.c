/*
 * Attacks of a tool on the loop that carries its calls out (N12): what it does to a socket meanwhile must not make us
 * wait. Where it does, these tests don't come to their end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"
#include "islander.h"
#include "regular.h"
#include "socket_calls.h"
#include "support/patience.h"

enum { TRIES = 200, INFO_MAX = 64 * 1024 };

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
	const struct timeval limit = {.tv_sec = 1};
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

/* A registration in an epoll instance that outlives the duplicate makes the loop spin (epoll(7)) */

static void check_registrations(const char *number) {
	CLEANUP_FREE char *path = string_format("/proc/self/fdinfo/%s", number), *text = NULL;

	assert_int_equal(regular_read(path, INFO_MAX, &text, NULL, NULL), 0);
	for (const char *at = text; (at = strstr(at, "tfd:"));) {
		struct stat status;

		at += strlen("tfd:");
		const char *inode = strstr(at, " ino:");
		assert_non_null(inode);
		assert_int_equal(fstat((int)strtol(at, NULL, 10), &status), 0);
		assert_int_equal(status.st_ino, strtoull(inode + strlen(" ino:"), NULL, 16));
	}
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
	DIR *stream = opendir("/proc/self/fd");
	assert_non_null(stream);
	unsigned loops = 0;
	for (struct dirent *entry; (entry = readdir(stream));) {
		CLEANUP_FREE char *path = string_format("/proc/self/fd/%s", entry->d_name);
		char link[64] = "";

		if (readlink(path, link, sizeof link - 1) < 0 || !string_equal(link, "anon_inode:[eventpoll]"))
			continue;
		check_registrations(entry->d_name);
		loops++;
	}
	closedir(stream);
	assert_true(loops > 0);
	islander_tell(&islander, "");
	islander_expect(&islander, "connected: 0\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_net_12_a_socket_that_is_made_to_block_meanwhile),
		cmocka_unit_test(attack_net_12_a_socket_that_lingers),
		cmocka_unit_test(attack_net_12_nothing_is_left_of_a_call_that_waited),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
