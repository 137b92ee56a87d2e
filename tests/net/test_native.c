/*
 * The native door and what leads to it (issue 5, point 2), with real sockets of a network of their own under a real
 * filter. Each case has a tool that runs in there; what it prints is what a tool sees.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "calls/socket_calls.h"
#include "islander.h"
#include "net/sockets/native.h"
#include "schema/limits.h"
#include "support/patience.h"
#include "wire.h"

static struct islander islander;

/* What tools inherit. */
static char standin4[INET6_ADDRSTRLEN], standin6[INET6_ADDRSTRLEN];
static uint16_t port, closed;
static struct server *echo;

static void serve_echo(int fd, void *argument) {
	char bytes[4096];
	ssize_t size;

	(void)argument;
	while ((size = read(fd, bytes, sizeof bytes)) > 0) wire_send(fd, bytes, (size_t)size);
}

static int set_up(void **state) {
	(void)state;
	islander_make(&islander);
	echo = server_new(serve_echo, NULL);
	port = server_port(echo);
	closed = wire_closed_port();
	snprintf(standin4, sizeof standin4, "%s", islander_name(&islander, "api.test", "127.0.0.1", AF_INET));
	snprintf(standin6, sizeof standin6, "%s", islander_name(&islander, "api.test", "127.0.0.1", AF_INET6));
	return 0;
}

static int tear_down(void **state) {
	(void)state;
	server_free(echo);
	islander_remove(&islander);
	return 0;
}

/* Of the tools */

struct place {
	struct sockaddr_storage address;
	socklen_t size;
};

static struct place place_of(const char *text, uint16_t at) {
	struct place place = {.size = sizeof(struct sockaddr_in)};
	struct sockaddr_in *four = (struct sockaddr_in *)&place.address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&place.address;

	*four = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(at)};
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) return place;
	place.size = sizeof *six;
	*six = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(at)};
	inet_pton(AF_INET6, text, &six->sin6_addr);
	return place;
}

static int make(const char *text, int flags) {
	return socket(strchr(text, ':') ? AF_INET6 : AF_INET, SOCK_STREAM | flags, 0);
}

static int dial(int fd, const char *text, uint16_t at) {
	const struct place place = place_of(text, at);

	return connect(fd, (const struct sockaddr *)&place.address, place.size);
}

static void say_peer(int fd) {
	struct place place = {.size = sizeof place.address};
	char text[INET6_ADDRSTRLEN];
	const struct sockaddr_in *four = (struct sockaddr_in *)&place.address;
	const struct sockaddr_in6 *six = (struct sockaddr_in6 *)&place.address;

	if (getpeername(fd, (struct sockaddr *)&place.address, &place.size) < 0) {
		say("getpeername", -1);
		return;
	}
	const bool is_four = place.address.ss_family == AF_INET;
	inet_ntop(place.address.ss_family, is_four ? (const void *)&four->sin_addr : &six->sin6_addr, text,
		  sizeof text);
	const bool expected = strcmp(text, standin4) == 0 || strcmp(text, standin6) == 0;
	printf("peer: %s %s\n", expected ? "the stand-in" : text,
	       ntohs(is_four ? four->sin_port : six->sin6_port) == port ? "and port" : "another port");
}

static void say_error(int fd) {
	int error = 0;
	socklen_t size = sizeof error;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	printf("SO_ERROR: %s\n", error ? strerrorname_np(error) : "0");
	fflush(stdout);
}

/* Whatever the mode. */
static void talk(int fd) {
	char bytes[8] = "";
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	if (write(fd, "ping", 4) != 4) say("write", -1);
	poll(&polled, 1, PATIENCE_MS);
	ssize_t size = read(fd, bytes, sizeof bytes - 1);
	if (size < 0)
		say("read", -1);
	else
		printf("echo: %s\n", bytes);
	fflush(stdout);
}

static void expect_asked(const char *host, uint16_t at) {
	char target[300];

	snprintf(target, sizeof target, "%s:%u", host, at);
	assert_string_equal(islander.target, target);
}

static bool is_held(const struct islander *each) {
	return each->held_count > 0;
}

static bool is_over(const struct islander *each) {
	return native_count(each->native) == 0;
}

static bool is_cancelled(const struct islander *each) {
	return each->cancelled > 0;
}

static void add_broken(void *argument, const char *target, unsigned count, const char *how) {
	string_appendf(argument, "%s %s (%u)\n", target, how, count);
}

/* What the tool could not see: "api.test:PORT HOW (1)"; without HOW: nothing of that port. The gate has all tests'. */
static void expect_broken(uint16_t port_of_it, const char *how) {
	CLEANUP_STRING struct string broken = {0};
	CLEANUP_FREE char *wanted = string_format("api.test:%u %s%s", port_of_it, how ? how : "", how ? " (1)\n" : "");
	gate_each_broken(islander.gate, add_broken, &broken);
	assert_int_equal(broken.data && strstr(broken.data, wanted), how != NULL);
}

/* Blocking */

static void tool_blocking(void) {
	int fd = make(standin4, 0);

	say("connect", dial(fd, standin4, port));
	say_peer(fd);
	say_error(fd);
	talk(fd);
	say("again", dial(fd, standin4, port));
	say("flags", fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static void a_blocking_connect_is_relayed(void **state) {
	(void)state;
	islander_start(&islander, tool_blocking);
	islander_expect(&islander, "connect: 0\npeer: the stand-in and port\nSO_ERROR: 0\necho: ping\nagain: EISCONN\n"
				   "flags: 0\n");
	expect_asked("api.test", port);
	islander_until_true(&islander, is_over);
	assert_int_equal(islander.reports, 1);
	assert_string_equal(islander.door, "native");
	assert_int_equal(islander.sent, 4);
	assert_int_equal(islander.received, 4);
}

static void tool_refused(void) {
	int fd = make(standin4, 0);

	say("connect", dial(fd, standin4, port));
	say_error(fd);
	hear();
	say("and now", dial(fd, standin4, port));
	talk(fd);
}

static void a_denied_connect_is_refused_and_may_be_tried_again(void **state) {
	(void)state;
	islander_start(&islander, tool_refused);
	islander.answer = ISLANDER_DENY;
	islander_until(&islander, "SO_ERROR");
	islander.answer = ISLANDER_ALLOW;
	islander_tell(&islander, "");
	islander_expect(&islander, "connect: EACCES\nSO_ERROR: 0\nand now: 0\necho: ping\n");
}

static void tool_closed(void) {
	int fd = make(standin4, 0);
	say("connect", dial(fd, standin4, closed));
}

static void a_connect_that_fails_outside_fails_so_inside(void **state) {
	(void)state;
	islander_start(&islander, tool_closed);
	islander_expect(&islander, "connect: ECONNREFUSED\n");
	expect_broken(closed, NULL); /* the tool knows it */
}

static void a_blocking_connect_waits_for_the_answer(void **state) {
	(void)state;
	islander_start(&islander, tool_blocking);
	islander.answer = ISLANDER_HOLD;
	islander_until_true(&islander, is_held);
	assert_string_equal(islander.said, "");
	islander_judge(&islander, EFFECT_ALLOW);
	islander.answer = ISLANDER_ALLOW;
	islander_end(&islander);
	assert_non_null(strstr(islander.said, "connect: 0\n"));
	assert_non_null(strstr(islander.said, "echo: ping\n"));
}

/* Families */

static void tool_families(void) {
	char mapped[64];
	int six = make(standin6, 0), both = make("::", 0);

	say("six", dial(six, standin6, port));
	say_peer(six);
	talk(six);
	snprintf(mapped, sizeof mapped, "::ffff:%s", standin4);
	say("mapped", dial(both, mapped, port));
	talk(both);
}

static void stand_ins_of_both_families_and_mapped_ones_lead_there(void **state) {
	(void)state;
	islander_start(&islander, tool_families);
	islander_expect(&islander, "six: 0\npeer: the stand-in and port\necho: ping\nmapped: 0\necho: ping\n");
	assert_int_equal(islander.asked, 2);
}

static void tool_figures(void) {
	int fd = make("192.0.2.7", 0);
	say("connect", dial(fd, "192.0.2.7", 443));
}

static void an_address_in_figures_is_judged_as_one(void **state) {
	(void)state;
	islander_start(&islander, tool_figures);
	islander.answer = ISLANDER_DENY;
	islander_expect(&islander, "connect: EACCES\n");
	expect_asked("192.0.2.7", 443);
}

static void tool_nobody(void) {
	int fd = make("198.18.77.77", 0);
	say("connect", dial(fd, "198.18.77.77", port));
}

static void a_stand_in_of_nobody_leads_nowhere(void **state) {
	(void)state;
	islander_start(&islander, tool_nobody);
	islander_expect(&islander, "connect: ECONNREFUSED\n");
	assert_int_equal(islander.asked, 0);
}

/* Not blocking */

static void tool_ticking(void) {
	int fd = make(standin4, SOCK_NONBLOCK);
	struct pollfd polled = {.fd = fd, .events = POLLOUT};

	say("connect", dial(fd, standin4, port));
	poll(&polled, 1, PATIENCE_MS);
	say_error(fd);
	say("write", write(fd, "ping", 4));
	hear(); /* held all the while */
	char bytes[8] = "";
	polled.events = POLLIN;
	poll(&polled, 1, PATIENCE_MS);
	say("read", read(fd, bytes, 4));
	say("flags", (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
}

static void one_that_does_not_block_is_connected_at_once(void **state) {
	(void)state;
	islander_start(&islander, tool_ticking);
	islander.answer = ISLANDER_HOLD;
	islander_until(&islander, "write: 4\n");
	islander_until_true(&islander, is_held);
	islander_judge(&islander, EFFECT_ALLOW);
	islander_tell(&islander, "");
	islander_expect(&islander, "connect: EINPROGRESS\nSO_ERROR: 0\nwrite: 4\nread: 4\nflags: 1\n");
}

static void a_refusal_resets_one_that_is_connected(void **state) {
	(void)state;
	islander_start(&islander, tool_ticking);
	islander.answer = ISLANDER_HOLD;
	islander_until(&islander, "write: 4\n");
	islander_until_true(&islander, is_held);
	islander_judge(&islander, EFFECT_DENY);
	islander_tell(&islander, "");
	islander_expect(&islander, "connect: EINPROGRESS\nSO_ERROR: 0\nwrite: 4\nread: ECONNRESET\nflags: 1\n");
	expect_broken(port, NULL); /* it is among the denied */
}

static void tool_closed_ticking(void) {
	int fd = make(standin4, SOCK_NONBLOCK);
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	char byte;

	say("connect", dial(fd, standin4, closed));
	poll(&polled, 1, PATIENCE_MS);
	say("read", read(fd, &byte, 1));
}

static void that_one_failed_outside_is_known_though_its_tool_sees_a_reset(void **state) {
	(void)state;
	islander_start(&islander, tool_closed_ticking);
	islander_expect(&islander, "connect: EINPROGRESS\nread: ECONNRESET\n");
	expect_broken(closed, "failed: Connection refused");
}

static void tool_twice(void) {
	int fd = make(standin4, SOCK_NONBLOCK);
	struct pollfd polled = {.fd = fd, .events = POLLOUT};

	say("connect", dial(fd, standin4, port));
	poll(&polled, 1, PATIENCE_MS);
	say("second", dial(fd, standin4, port));
	say("third", dial(fd, standin4, port));
}

static void connecting_again_says_what_it_says_outside(void **state) {
	(void)state;
	islander_start(&islander, tool_twice);
	islander_expect(&islander, "connect: EINPROGRESS\nsecond: 0\nthird: EISCONN\n");
}

static void tool_leaves(void) {
	int fd = make(standin4, SOCK_NONBLOCK);
	say("connect", dial(fd, standin4, port));
	hear();
	close(fd);
	say("closed", 0);
	hear();
}

static void who_left_without_a_word_is_not_asked_about(void **state) {
	(void)state;
	islander_start(&islander, tool_leaves);
	islander.answer = ISLANDER_HOLD;
	islander_until_true(&islander, is_held);
	islander_tell(&islander, "");
	islander_until_true(&islander, is_cancelled);
	assert_int_equal(native_count(islander.native), 0);
	islander_tell(&islander, "");
	islander_end(&islander);
}

static void tool_half_closes(void) {
	int fd = make(standin4, SOCK_NONBLOCK);
	struct pollfd polled = {.fd = fd, .events = POLLOUT};
	char bytes[8] = "";

	dial(fd, standin4, port);
	poll(&polled, 1, PATIENCE_MS);
	say("write", write(fd, "ping", 4));
	say("shutdown", shutdown(fd, SHUT_WR));
	polled.events = POLLIN;
	poll(&polled, 1, PATIENCE_MS);
	say("read", read(fd, bytes, 4));
}

static int64_t later_ms;

static bool is_later(const struct islander *each) {
	(void)each;
	return now_ms() > later_ms;
}

static void who_closed_one_half_still_waits_for_the_answer(void **state) {
	(void)state;
	islander_start(&islander, tool_half_closes);
	islander.answer = ISLANDER_HOLD;
	islander_until(&islander, "shutdown: 0\n");
	islander_until_true(&islander, is_held);
	later_ms = now_ms() + 1200; /* longer than anybody is given who has gone */
	islander_until_true(&islander, is_later);
	assert_int_equal(islander.cancelled, 0);
	islander_judge(&islander, EFFECT_ALLOW);
	islander_expect(&islander, "write: 4\nshutdown: 0\nread: 4\n");
}

static void who_said_something_and_died_is_not_asked_about(void **state) {
	(void)state;
	islander_start(&islander, tool_half_closes);
	islander.answer = ISLANDER_HOLD;
	islander_until(&islander, "shutdown: 0\n");
	islander_until_true(&islander, is_held);
	kill(islander.tool, SIGKILL);
	waitpid(islander.tool, NULL, 0);
	islander_until_true(&islander, is_cancelled);
	islander.tool = -1;
	islander_end(&islander);
}

/* What programs do with sockets */

static void tool_epoll(void) {
	int fd = make(standin4, SOCK_NONBLOCK), epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLOUT | EPOLLIN | EPOLLET, .data.fd = fd}, got;

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event); /* before there is a connection, as Java's NIO does */
	while (epoll_wait(epoll, &got, 1, 0) > 0) {
	}
	say("connect", dial(fd, standin4, port));
	bool written = false;
	for (int i = 0; i < 100; i++) {
		if (epoll_wait(epoll, &got, 1, PATIENCE_MS) != 1) break;
		if ((got.events & EPOLLOUT) && !written) written = write(fd, "ping", 4) == 4;
		if (!(got.events & EPOLLIN)) continue;
		talk(fd);
		return;
	}
	say("no events", 0);
}

static void an_epoll_registered_before_sees_it(void **state) {
	(void)state;
	islander_start(&islander, tool_epoll);
	islander_end(&islander);
	assert_non_null(strstr(islander.said, "connect: EINPROGRESS\necho: ping"));
}

static void tool_duplicates(void) {
	int fd = make(standin4, 0), other = dup(fd);

	say("connect", dial(fd, standin4, port));
	close(fd);
	talk(other);
	say("again", dial(other, standin4, port));
}

static void a_duplicate_is_the_same_socket(void **state) {
	(void)state;
	islander_start(&islander, tool_duplicates);
	islander_expect(&islander, "connect: 0\necho: ping\nagain: EISCONN\n");
}

static void tool_binds(void) {
	static const char *const own[] = {"127.0.0.1", "0.0.0.0", "198.18.0.1"};

	for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
		struct place place = place_of(own[i], 0), bound = {.size = sizeof bound.address}, after = bound;
		int fd = make(standin4, 0);

		say("bind", bind(fd, (struct sockaddr *)&place.address, place.size));
		getsockname(fd, (struct sockaddr *)&bound.address, &bound.size);
		say("connect", dial(fd, standin4, port));
		getsockname(fd, (struct sockaddr *)&after.address, &after.size);
		say("same port", ((struct sockaddr_in *)&bound.address)->sin_port ==
					 ((struct sockaddr_in *)&after.address)->sin_port);
		talk(fd);
	}
}

static void one_that_was_bound_keeps_its_port(void **state) {
	(void)state;
	islander_start(&islander, tool_binds);
	islander_expect(&islander, "bind: 0\nconnect: 0\nsame port: 1\necho: ping\n"
				   "bind: 0\nconnect: 0\nsame port: 1\necho: ping\n"
				   "bind: 0\nconnect: 0\nsame port: 1\necho: ping\n");
}

static void tool_unspecified(void) {
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	int fd = make(standin4, 0);

	say("connect", dial(fd, standin4, port));
	say("dissolve", connect(fd, &none, sizeof none));
	say_peer(fd);
	say("connect", dial(fd, standin4, port));
	talk(fd);
}

static void af_unspec_dissolves_a_connection(void **state) {
	(void)state;
	islander_start(&islander, tool_unspecified);
	islander_expect(&islander, "connect: 0\ndissolve: 0\ngetpeername: ENOTCONN\nconnect: 0\necho: ping\n");
}

static void tool_limited(void) {
	const struct timeval limit = {.tv_usec = 50000};
	struct timeval kept = {0};
	socklen_t size = sizeof kept;
	int fd = make(standin4, 0);

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	say("connect", dial(fd, standin4, port));
	getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kept, &size);
	say("kept", kept.tv_usec == limit.tv_usec || kept.tv_usec > 0);
	hear();
	say("again", dial(fd, standin4, port));
	talk(fd);
}

static void the_sockets_own_time_out_ends_the_call_and_not_the_connection(void **state) {
	(void)state;
	islander_start(&islander, tool_limited);
	islander.answer = ISLANDER_HOLD;
	islander_until(&islander, "kept: 1\n");
	islander_judge(&islander, EFFECT_ALLOW);
	islander_tell(&islander, "");
	islander_expect(&islander, "connect: EINPROGRESS\nkept: 1\nagain: 0\necho: ping\n");
}

static void *thread_dials(void *argument) {
	int *fd = argument;
	*fd = make(standin4, 0);
	say("connect", dial(*fd, standin4, port));
	return NULL;
}

static void tool_threads(void) {
	pthread_t thread;
	int fd;

	pthread_create(&thread, NULL, thread_dials, &fd);
	pthread_join(thread, NULL);
	talk(fd);
}

static void any_thread_may_connect(void **state) {
	(void)state;
	islander_start(&islander, tool_threads);
	islander_expect(&islander, "connect: 0\necho: ping\n");
}

static void tool_wrong(void) {
	struct place place = place_of(standin4, port);
	const struct sockaddr *address = (struct sockaddr *)&place.address;
	int fd = make(standin4, 0), null = open("/dev/null", O_RDWR);

	say("no descriptor", connect(999, address, place.size));
	say("no socket", connect(null, address, place.size));
	say("no memory", connect(fd, (struct sockaddr *)8, place.size));
	say("too long", connect(fd, address, sizeof place.address + 1));
	say("negative", connect(fd, address, (socklen_t)-1));
	say("too short", connect(fd, address, 8));
	say("none", connect(fd, address, 0));
	place.address.ss_family = AF_INET6;
	say("family", connect(fd, address, sizeof(struct sockaddr_in6)));
}

static void wrong_arguments_fail_as_the_kernel_says(void **state) {
	(void)state;
	islander_start(&islander, tool_wrong);
	islander_expect(&islander, "no descriptor: EBADF\nno socket: ENOTSOCK\nno memory: EFAULT\ntoo long: EINVAL\n"
				   "negative: EINVAL\ntoo short: EINVAL\nnone: EINVAL\nfamily: EAFNOSUPPORT\n");
	assert_int_equal(islander.asked, 0);
}

static void tool_own_server(void) {
	struct place all = place_of("0.0.0.0", port);
	int own = make(standin4, 0), fd = make(standin4, 0);

	say("bind", bind(own, (struct sockaddr *)&all.address, all.size));
	say("listen", listen(own, 5));
	say("connect", dial(fd, standin4, port));
	say_peer(fd);
	talk(fd);
}

static void a_server_of_its_own_at_that_port_is_not_in_the_way(void **state) {
	(void)state;
	islander_start(&islander, tool_own_server);
	islander_expect(&islander, "bind: 0\nlisten: 0\nconnect: 0\npeer: the stand-in another port\necho: ping\n");
}

/* localhost */

static void tool_local(void) {
	static const char *const names[] = {"127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1"};

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		int fd = make(names[i], 0);
		say(names[i], dial(fd, names[i], port));
		if (i == 0) talk(fd);
		close(fd);
	}
}

static void localhost_is_the_hosts_where_that_is_allowed(void **state) {
	(void)state;
	islander_start(&islander, tool_local);
	/* the server is on 127.0.0.1 alone */
	islander_expect(&islander, "127.0.0.1: 0\necho: ping\n::1: ECONNREFUSED\n0.0.0.0: 0\n::ffff:127.0.0.1: 0\n");
	expect_asked("localhost", port);
	assert_int_equal(islander.asked, 3);
}

enum { ROUNDS = 40 /* more than there are spares */ };

static void tool_local_often(void) {
	for (int i = 0; i < ROUNDS; i++) {
		int fd = make("127.0.0.1", 0);
		say("connect", dial(fd, "127.0.0.1", port));
		talk(fd);
		close(fd);
	}
}

/* Whoever made what we listened on has it still: the next connect isn't taken by that. */
static void a_listener_of_ours_has_ended_when_a_connect_returns(void **state) {
	CLEANUP_STRING struct string expected = {0};
	struct island_copies copies = {.count = 0};
	(void)state;
	for (int i = 0; i < ROUNDS; i++) string_append(&expected, "connect: 0\necho: ping\n");
	islander.store.copies = &copies;
	islander_start(&islander, tool_local_often);
	islander_expect(&islander, expected.data);
	islander.store.copies = NULL;
	island_copies_close(&copies);
	assert_int_equal(islander.asked, ROUNDS);
}

static void localhost_that_is_denied_is_refused(void **state) {
	(void)state;
	islander_start(&islander, tool_local);
	islander.answer = ISLANDER_DENY;
	islander_expect(&islander, "127.0.0.1: ECONNREFUSED\nwrite: EPIPE\nread: ENOTCONN\n::1: ECONNREFUSED\n"
				   "0.0.0.0: ECONNREFUSED\n::ffff:127.0.0.1: ECONNREFUSED\n");
}

static void tool_local_nobody(void) {
	int fd = make("127.0.0.1", 0);
	say("connect", dial(fd, "127.0.0.1", closed));
}

static void where_nobody_listens_nobody_is_asked(void **state) {
	(void)state;
	islander_start(&islander, tool_local_nobody);
	islander_expect(&islander, "connect: ECONNREFUSED\n");
	assert_int_equal(islander.asked, 0);
}

static void tool_local_own(void) {
	struct place place = place_of("127.0.0.1", port); /* the host listens there, too */
	int own = make("127.0.0.1", 0), fd = make("127.0.0.1", 0), accepted;

	if (bind(own, (struct sockaddr *)&place.address, place.size) < 0) say("bind", -1);
	listen(own, 5);
	say("connect", dial(fd, "127.0.0.1", port));
	accepted = accept(own, NULL, NULL);
	say("accepted", accepted >= 0);
	say("write", write(accepted, "mine", 4));
	char bytes[8] = "";
	say("read", read(fd, bytes, 4));
	printf("%s\n", bytes);
}

static void attack_net_10_the_sandboxes_own_loopback_comes_first(void **state) {
	(void)state;
	islander_start(&islander, tool_local_own);
	islander_expect(&islander, "connect: 0\naccepted: 1\nwrite: 4\nread: 4\nmine\n");
	assert_int_equal(islander.asked, 0);
}

/* Signals and death (K9, K6) */

static volatile sig_atomic_t caught;
static void on_signal(int number) {
	caught = number;
}

static void tool_signalled(void) {
	const struct sigaction action = {.sa_handler = on_signal};
	struct itimerval soon = {.it_value.tv_usec = 50000};
	int fd = make(standin4, 0);
	struct pollfd polled = {.fd = fd, .events = POLLOUT};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	say("connect", dial(fd, standin4, port));
	say("caught", caught == SIGALRM);
	hear();
	poll(&polled, 1, PATIENCE_MS); /* connect(2), EINTR: it is established asynchronously */
	say_error(fd);
	talk(fd);
}

static void attack_k_09_a_caught_signal_interrupts_a_held_connect(void **state) {
	(void)state;
	islander_start(&islander, tool_signalled);
	islander.answer = ISLANDER_HOLD;
	islander_until(&islander, "caught: 1\n");
	islander_judge(&islander, EFFECT_ALLOW);
	islander_tell(&islander, "");
	islander_expect(&islander, "connect: EINTR\ncaught: 1\nSO_ERROR: 0\necho: ping\n");
}

static void the_machines_sleep_interrupts_all(void **state) {
	(void)state;
	islander_start(&islander, tool_closed);
	islander.answer = ISLANDER_HOLD;
	islander_until_true(&islander, is_held);
	socket_calls_interrupt(islander.calls);
	islander_expect(&islander, "connect: EINTR\n");
}

static void attack_k_06_death_of_the_thread_cancels(void **state) {
	(void)state;
	islander_start(&islander, tool_blocking);
	islander.answer = ISLANDER_HOLD;
	islander_until_true(&islander, is_held);
	kill(islander.tool, SIGKILL);
	islander_until_true(&islander, is_cancelled);
	assert_int_equal(socket_calls_count(islander.calls), 0);
	islander_end(&islander);
}

/* Ends */

static void tool_lives(void) {
	int fd = make(standin4, 0);
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	char byte;

	say("connect", dial(fd, standin4, port));
	talk(fd);
	poll(&polled, 1, PATIENCE_MS);
	say("read", read(fd, &byte, 1));
}

static void the_end_of_a_grant_cuts_its_connection(void **state) {
	const int64_t grant = 7;
	(void)state;
	islander_start(&islander, tool_lives);
	islander_until(&islander, "echo: ping\n");
	assert_int_equal(gate_cut(islander.gate, &grant, 1), 1); /* at once: it is gone when this returns */
	assert_int_equal(islander.reports, 1);
	assert_int_equal(islander.sent, 4);
	assert_string_equal(islander.error, "the grant has ended");
	islander_expect(&islander, "connect: 0\necho: ping\nread: ECONNRESET\n");
	expect_broken(port, "was cut: what allowed it has ended or changed");
}

/* Attacks */

static struct place swapped;
static atomic_bool swapping;

static void *thread_swaps(void *argument) {
	const struct place away = place_of("192.0.2.1", port), allowed = place_of(standin4, port);

	(void)argument;
	while (swapping) {
		memcpy(&swapped.address, &away.address, sizeof(struct sockaddr_in));
		memcpy(&swapped.address, &allowed.address, sizeof(struct sockaddr_in));
	}
	return NULL;
}

static void tool_swaps_the_address(void) {
	pthread_t thread;
	int there = 0, refused = 0, elsewhere = 0;

	swapping = true;
	swapped = place_of(standin4, port);
	pthread_create(&thread, NULL, thread_swaps, NULL);
	for (int i = 0; i < 100; i++) {
		struct place peer = {.size = sizeof peer.address};
		char text[INET_ADDRSTRLEN] = "";
		int fd = make(standin4, 0);
		const int r = connect(fd, (struct sockaddr *)&swapped.address, sizeof(struct sockaddr_in));
		if (getpeername(fd, (struct sockaddr *)&peer.address, &peer.size) == 0)
			inet_ntop(AF_INET, &((struct sockaddr_in *)&peer.address)->sin_addr, text, sizeof text);
		there += r == 0 && strcmp(text, standin4) == 0;
		refused += r < 0 && text[0] == '\0';
		elsewhere += text[0] && strcmp(text, standin4) != 0;
		close(fd);
	}
	swapping = false;
	pthread_join(thread, NULL);
	say("elsewhere", elsewhere);
	say("all", there + refused);
}

static void attack_net_09_an_address_that_changes_is_read_once(void **state) {
	char only[300];

	(void)state;
	snprintf(only, sizeof only, "api.test:%u", port);
	islander_start(&islander, tool_swaps_the_address);
	islander.answer = ISLANDER_DENY;
	islander.allowed = only;
	islander_expect(&islander, "elsewhere: 0\nall: 100\n");
}

static int exchanged;

static void *thread_dials_exchanged(void *argument) {
	(void)argument;
	say("connect", dial(exchanged, standin4, port));
	return NULL;
}

static void tool_swaps_the_descriptor(void) {
	pthread_t thread;
	exchanged = make(standin4, 0);
	const int kept = dup(exchanged), other = make(standin4, 0);

	pthread_create(&thread, NULL, thread_dials_exchanged, NULL);
	hear(); /* it is held */
	dup2(other, exchanged);
	say("swapped", 0);
	pthread_join(thread, NULL);
	say_peer(exchanged);
	say_peer(kept);
}

static void attack_net_09_a_descriptor_that_changes_is_not_connected(void **state) {
	(void)state;
	islander_start(&islander, tool_swaps_the_descriptor);
	islander.answer = ISLANDER_HOLD;
	islander_until_true(&islander, is_held);
	islander_tell(&islander, "");
	islander_until(&islander, "swapped: 0\n");
	islander_judge(&islander, EFFECT_ALLOW);
	islander_expect(&islander, "swapped: 0\nconnect: 0\ngetpeername: ENOTCONN\npeer: the stand-in and port\n");
}

static void tool_handed(void) {
	say("connect", dial(ISLANDER_HANDED, "127.0.0.1", port));
	say_peer(ISLANDER_HANDED);
}

static void attack_net_09_a_socket_of_the_host_is_not_connected(void **state) {
	(void)state;
	islander.handed = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	islander_start(&islander, tool_handed);
	close(islander.handed);
	islander.handed = -1;
	islander_expect(&islander, "connect: EACCES\ngetpeername: ENOTCONN\n");
	assert_int_equal(islander.asked, 0);
}

static void *thread_dials_closed(void *argument) {
	int fd = make(standin4, 0);
	(void)argument;
	dial(fd, standin4, closed);
	close(fd);
	return NULL;
}

enum { MANY = 2000 };

/* Both ends of as many connections as there may be are in a process each. */
static void need_descriptors(void) {
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max >= 8 * LIMIT_CONNECTIONS) return;
	print_message("not tested: a process may open %llu files here\n", (unsigned long long)limit.rlim_max);
	skip();
}

static void tool_many(void) {
	pthread_t threads[MANY];
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 * 1024);
	for (size_t i = 0; i < MANY; i++)
		if (pthread_create(&threads[i], &attributes, thread_dials_closed, NULL) != 0) say("thread", -1);
	hear(); /* all are held */
	int fd = make(standin4, 0);
	say("connect", dial(fd, standin4, port));
	talk(fd);
	for (size_t i = 0; i < MANY; i++) pthread_join(threads[i], NULL);
	say("over", 0);
}

static bool all_are_held(const struct islander *each) {
	return each->held_count == MANY;
}

static void thousands_that_are_held_do_not_disturb_another(void **state) {
	char only[300];

	(void)state;
	need_descriptors();
	snprintf(only, sizeof only, "api.test:%u", port);
	islander_start(&islander, tool_many);
	islander.answer = ISLANDER_HOLD;
	islander.allowed = only;
	islander_until_true(&islander, all_are_held);
	islander_tell(&islander, "");
	islander_until(&islander, "connect: 0\necho: ping\n");
	assert_int_equal(islander.held_count, MANY);
	islander_judge(&islander, EFFECT_DENY);
	islander_expect(&islander, "connect: 0\necho: ping\nover: 0\n");
}

enum { TOO_MANY = LIMIT_CONNECTIONS + 50 };

static void tool_too_many(void) {
	int refused = 0, connected = 0;

	for (int i = 0; i < TOO_MANY; i++) {
		int fd = make(standin4, SOCK_NONBLOCK);
		if (dial(fd, standin4, port) == 0 || errno == EINPROGRESS) connected++;
		refused += errno == EAGAIN;
	}
	say("connected", connected);
	say("refused", refused);
}

static void past_the_limit_of_connections_others_are_refused(void **state) {
	char expected[64];

	(void)state;
	need_descriptors();
	islander_start(&islander, tool_too_many);
	islander.answer = ISLANDER_HOLD;
	islander_until(&islander, "refused");
	snprintf(expected, sizeof expected, "connected: %d\nrefused: 50\n", LIMIT_CONNECTIONS);
	islander_expect(&islander, expected);
}

static void *thread_dials_full(void *argument) {
	const struct timeval limit = {.tv_sec = 1};
	const uint16_t *at = argument;
	int fd = make("127.0.0.1", 0);

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	say("full", dial(fd, "127.0.0.1", *at));
	return NULL;
}

static void tool_full(void) {
	struct place place = place_of("127.0.0.1", 0);
	int own = make("127.0.0.1", 0), fd = make(standin4, 0);
	pthread_t thread;

	if (bind(own, (struct sockaddr *)&place.address, place.size) < 0) say("bind", -1);
	listen(own, 0);
	getsockname(own, (struct sockaddr *)&place.address, &place.size);
	uint16_t at = ntohs(((struct sockaddr_in *)&place.address)->sin_port);
	for (int i = 0; i < 4; i++) dial(make("127.0.0.1", SOCK_NONBLOCK), "127.0.0.1", at);
	pthread_create(&thread, NULL, thread_dials_full, &at);
	hear(); /* that one is held */
	say("connect", dial(fd, standin4, port));
	talk(fd);
	pthread_join(thread, NULL);
}

static bool one_is_held(const struct islander *each) {
	return socket_calls_count(each->calls) == 1;
}

static void a_full_backlog_inside_holds_its_caller_alone(void **state) {
	(void)state;
	islander_start(&islander, tool_full);
	islander_until_true(&islander, one_is_held);
	islander_tell(&islander, "");
	islander_expect(&islander, "connect: 0\necho: ping\nfull: EINPROGRESS\n");
}

/* Datagrams */

static void tool_datagrams(void) {
	static char much[70000];
	struct place place = place_of("127.0.0.1", 0), from = {.size = sizeof from.address};
	int own = socket(AF_INET, SOCK_DGRAM, 0), fd = socket(AF_INET, SOCK_DGRAM, 0);
	char bytes[16] = "";

	if (bind(own, (struct sockaddr *)&place.address, place.size) < 0) say("bind", -1);
	getsockname(own, (struct sockaddr *)&place.address, &place.size);
	say("sendto", sendto(fd, "hello", 5, 0, (struct sockaddr *)&place.address, place.size));
	say("recvfrom", recvfrom(own, bytes, sizeof bytes, 0, (struct sockaddr *)&from.address, &from.size));
	printf("%s\n", bytes);
	say("nothing", sendto(fd, NULL, 0, 0, (struct sockaddr *)&place.address, place.size));
	say("recv", recv(own, bytes, sizeof bytes, 0));
	say("too much", sendto(fd, much, sizeof much, 0, (struct sockaddr *)&place.address, place.size));
	say("no memory", sendto(fd, (void *)8, 5, 0, (struct sockaddr *)&place.address, place.size));
	say("connect", connect(fd, (struct sockaddr *)&place.address, place.size));
	say("send", send(fd, "again", 5, 0));
}

static void datagrams_to_its_own_are_carried_out(void **state) {
	(void)state;
	islander_start(&islander, tool_datagrams);
	islander_expect(&islander, "sendto: 5\nrecvfrom: 5\nhello\nnothing: 0\nrecv: 0\ntoo much: EMSGSIZE\n"
				   "no memory: EFAULT\nconnect: 0\nsend: 5\n");
	assert_int_equal(islander.asked, 0);
}

static void tool_sorts(void) {
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct place place = place_of(standin4, port), own = {.size = sizeof own.address};

	say("connect", connect(fd, (struct sockaddr *)&place.address, place.size));
	say("getsockname", getsockname(fd, (struct sockaddr *)&own.address, &own.size));
}

static void a_connected_datagram_socket_that_says_nothing_asks_nothing(void **state) {
	(void)state;
	islander_start(&islander, tool_sorts);
	islander_expect(&islander, "connect: 0\ngetsockname: 0\n");
	assert_int_equal(islander.asked, 0);
}

/* Netlink */

static long change_network(int fd, bool addressed) {
	const struct {
		struct nlmsghdr head;
		struct ifaddrmsg address;
		struct rtattr attribute;
		struct in_addr value;
	} request = {.head = {.nlmsg_len = sizeof request,
			      .nlmsg_type = RTM_NEWADDR,
			      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
		     .address = {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1},
		     .attribute = {.rta_type = IFA_LOCAL, .rta_len = RTA_LENGTH(sizeof(struct in_addr))},
		     .value = {.s_addr = htonl(0x0a000001)}};
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[256];
	} reply = {0};

	if (sendto(fd, &request, sizeof request, 0, addressed ? (const struct sockaddr *)&kernel : NULL,
		   addressed ? sizeof kernel : 0) < 0)
		return -1;
	if (recv(fd, &reply, sizeof reply, 0) < 0) return -1;
	errno = -reply.error.error;
	return reply.error.error == 0 ? 0 : -1;
}

static void tool_changes_its_network(void) {
	const struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	struct sockaddr_nl other = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int with = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	say("with rights", change_network(with, false)); /* the test can tell */
	syscall(SYS_capset, &head, none);
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	say("to nobody", change_network(fd, false));
	say("to the kernel", change_network(fd, true));
	say("to a group", sendto(fd, "x", 1, 0, (struct sockaddr *)&other, sizeof other));
	say("connected to it", connect(fd, (struct sockaddr *)&other, sizeof other));
	struct ifaddrs *list = NULL;
	say("getifaddrs", getifaddrs(&list)); /* which sends to the kernel's address */
	say("lo is there", list && strcmp(list->ifa_name, "lo") == 0);
}

static void attack_net_07_what_it_may_not_do_is_not_done_for_it(void **state) {
	(void)state;
	islander_start(&islander, tool_changes_its_network);
	islander_expect(&islander, "with rights: 0\nto nobody: EPERM\nto the kernel: EPERM\nto a group: EPERM\n"
				   "connected to it: EPERM\ngetifaddrs: 0\nlo is there: 1\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blocking_connect_is_relayed),
		cmocka_unit_test(a_denied_connect_is_refused_and_may_be_tried_again),
		cmocka_unit_test(a_connect_that_fails_outside_fails_so_inside),
		cmocka_unit_test(a_blocking_connect_waits_for_the_answer),
		cmocka_unit_test(stand_ins_of_both_families_and_mapped_ones_lead_there),
		cmocka_unit_test(an_address_in_figures_is_judged_as_one),
		cmocka_unit_test(a_stand_in_of_nobody_leads_nowhere),
		cmocka_unit_test(one_that_does_not_block_is_connected_at_once),
		cmocka_unit_test(a_refusal_resets_one_that_is_connected),
		cmocka_unit_test(that_one_failed_outside_is_known_though_its_tool_sees_a_reset),
		cmocka_unit_test(connecting_again_says_what_it_says_outside),
		cmocka_unit_test(who_left_without_a_word_is_not_asked_about),
		cmocka_unit_test(who_closed_one_half_still_waits_for_the_answer),
		cmocka_unit_test(who_said_something_and_died_is_not_asked_about),
		cmocka_unit_test(an_epoll_registered_before_sees_it),
		cmocka_unit_test(a_duplicate_is_the_same_socket),
		cmocka_unit_test(one_that_was_bound_keeps_its_port),
		cmocka_unit_test(af_unspec_dissolves_a_connection),
		cmocka_unit_test(the_sockets_own_time_out_ends_the_call_and_not_the_connection),
		cmocka_unit_test(any_thread_may_connect),
		cmocka_unit_test(wrong_arguments_fail_as_the_kernel_says),
		cmocka_unit_test(a_server_of_its_own_at_that_port_is_not_in_the_way),
		cmocka_unit_test(localhost_is_the_hosts_where_that_is_allowed),
		cmocka_unit_test(a_listener_of_ours_has_ended_when_a_connect_returns),
		cmocka_unit_test(localhost_that_is_denied_is_refused),
		cmocka_unit_test(where_nobody_listens_nobody_is_asked),
		cmocka_unit_test(attack_net_10_the_sandboxes_own_loopback_comes_first),
		cmocka_unit_test(attack_k_09_a_caught_signal_interrupts_a_held_connect),
		cmocka_unit_test(the_machines_sleep_interrupts_all),
		cmocka_unit_test(attack_k_06_death_of_the_thread_cancels),
		cmocka_unit_test(the_end_of_a_grant_cuts_its_connection),
		cmocka_unit_test(attack_net_09_an_address_that_changes_is_read_once),
		cmocka_unit_test(attack_net_09_a_descriptor_that_changes_is_not_connected),
		cmocka_unit_test(attack_net_09_a_socket_of_the_host_is_not_connected),
		cmocka_unit_test(thousands_that_are_held_do_not_disturb_another),
		cmocka_unit_test(past_the_limit_of_connections_others_are_refused),
		cmocka_unit_test(a_full_backlog_inside_holds_its_caller_alone),
		cmocka_unit_test(attack_net_07_what_it_may_not_do_is_not_done_for_it),
		cmocka_unit_test(datagrams_to_its_own_are_carried_out),
		cmocka_unit_test(a_connected_datagram_socket_that_says_nothing_asks_nothing),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
