/*
 * What connect(2) says of addresses that nobody outside can be reached at, or not with that socket: as any
 * network would, and nobody is asked for nothing. And how calls end that don't come to their end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "calls/socket_calls.h"
#include "islander.h"
#include "net/sockets/connects.h"
#include "net/sockets/native.h"
#include "support/patience.h"

#ifndef SO_NETNS_COOKIE /* Linux 5.14 */
#define SO_NETNS_COOKIE 71
#endif

enum { PORT = 80, OTHER_PORT = 81 };

static struct islander islander;
static char standin4[INET6_ADDRSTRLEN];

static int set_up(void **state) {
	(void)state;
	islander_make(&islander);
	snprintf(standin4, sizeof standin4, "%s", islander_name(&islander, "api.test", "127.0.0.1", AF_INET));
	return 0;
}

static int tear_down(void **state) {
	(void)state;
	islander_remove(&islander);
	return 0;
}

/* Of the tools */

static void dial_at(int fd, const char *text, uint32_t scope, uint16_t port) {
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = scope};

	if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
		say(text, connect(fd, (struct sockaddr *)&four, sizeof four));
	else if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
		say(text, connect(fd, (struct sockaddr *)&six, sizeof six));
}

static void dial(int fd, const char *text, uint32_t scope) {
	dial_at(fd, text, scope, PORT);
}

static int family_of(const char *text) {
	return strchr(text, ':') ? AF_INET6 : AF_INET;
}

/* The island has no address of its own, which a sandbox has, for the kernel to choose. */
static int make(int family, int type) {
	const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(family, type, 0);

	if (family == AF_INET && bind(fd, (const struct sockaddr *)&own, sizeof own) < 0) say("bind", -1);
	return fd;
}

static void set(int fd, int level, int option) {
	const int on = 1;
	setsockopt(fd, level, option, &on, sizeof on);
}

static void tool_nobodys(void) {
	static const char *const nobodys[] = {"224.0.0.1", "255.255.255.255", "ff02::1", "fe80::1"};

	for (size_t i = 0; i < sizeof nobodys / sizeof *nobodys; i++)
		dial(make(family_of(nobodys[i]), SOCK_STREAM), nobodys[i], 0);
	dial(make(AF_INET6, SOCK_STREAM), "fe80::1", 77); /* an interface of the host's */
}

static void addresses_of_many_and_of_a_link_are_refused_as_by_any_network(void **state) {
	(void)state;
	islander_start(&islander, tool_nobodys);
	islander.answer = ISLANDER_DENY;
	islander_expect(&islander, "224.0.0.1: ENETUNREACH\n255.255.255.255: ENETUNREACH\nff02::1: ENETUNREACH\n"
				   "fe80::1: EINVAL\nfe80::1: ENETUNREACH\n");
	assert_int_equal(islander.asked, 0);
}

static void tool_six_alone(void) {
	char mapped[64];
	int stream = make(AF_INET6, SOCK_STREAM), datagrams = make(AF_INET6, SOCK_DGRAM);

	snprintf(mapped, sizeof mapped, "::ffff:%s", standin4);
	set(stream, IPPROTO_IPV6, IPV6_V6ONLY);
	set(datagrams, IPPROTO_IPV6, IPV6_V6ONLY);
	dial(stream, mapped, 0);
	dial(datagrams, mapped, 0);
	dial(datagrams, standin4, 0);
}

static void a_socket_for_ipv6_alone_gets_to_no_mapped_address(void **state) {
	char expected[300];

	(void)state;
	islander_start(&islander, tool_six_alone);
	snprintf(expected, sizeof expected, "::ffff:%s: ENETUNREACH\n::ffff:%s: ENETUNREACH\n%s: EAFNOSUPPORT\n",
		 standin4, standin4, standin4);
	islander_expect(&islander, expected);
	assert_int_equal(islander.asked, 0);
}

static void tool_datagrams(void) {
	int fd = make(AF_INET, SOCK_DGRAM);

	dial(fd, "255.255.255.255", 0);
	set(fd, SOL_SOCKET, SO_BROADCAST);
	dial(fd, "255.255.255.255", 0);
	say("send", send(fd, "x", 1, 0));
	dial(make(AF_INET6, SOCK_DGRAM), "fe80::1", 0);
	fd = make(AF_INET, SOCK_DGRAM);
	dial(fd, "224.0.0.251", 0);
	say("send", send(fd, "x", 1, 0));
}

static void datagrams_to_many_go_nowhere_and_ask_nobody(void **state) {
	(void)state;
	islander_start(&islander, tool_datagrams);
	islander_expect(&islander, "255.255.255.255: EACCES\n255.255.255.255: 0\nsend: 1\nfe80::1: EINVAL\n"
				   "224.0.0.251: 0\nsend: 1\n");
	assert_int_equal(islander.asked, 0);
}

static void tool_datagrams_of_both(void) {
	int fd = make(AF_INET6, SOCK_DGRAM);

	dial_at(fd, standin4, 0, OTHER_PORT); /* ip6_datagram_connect() of net/ipv6/datagram.c takes both families */
	say("send", send(fd, "x", 1, 0));
	hear();
}

static bool is_asked(const struct islander *each) {
	return each->held_count == 1;
}

static void a_datagram_socket_for_ipv6_may_be_given_an_ipv4_address(void **state) {
	(void)state;
	islander_start(&islander, tool_datagrams_of_both);
	islander.answer = ISLANDER_HOLD;
	islander_until_true(&islander, is_asked);
	assert_string_equal(islander.target, "api.test:81");
	islander_judge(&islander, EFFECT_DENY);
	islander_tell(&islander, "");
	islander_end(&islander);
}

/* The calls' ends */

static int shared;

static void *thread_dials(void *argument) {
	(void)argument;
	dial(shared, standin4, 0);
	return NULL;
}

static void tool_shares(void) {
	pthread_t other;

	shared = make(AF_INET, SOCK_STREAM);
	pthread_create(&other, NULL, thread_dials, NULL);
	thread_dials(NULL);
	pthread_join(other, NULL);
}

static bool both_are_held(const struct islander *each) {
	return each->held_count == 2;
}

/* The first to meet connects the socket of both. */
static void two_that_connect_one_socket_are_interrupted_at_once(void **state) {
	char expected[200];

	(void)state;
	islander_start(&islander, tool_shares);
	islander.answer = ISLANDER_HOLD;
	islander_until_true(&islander, both_are_held);
	socket_calls_interrupt(islander.calls);
	snprintf(expected, sizeof expected, "%s: EISCONN\n", standin4);
	islander_until(&islander, expected);
	islander_end(&islander);
	snprintf(expected, sizeof expected, "%s: EINTR\n", standin4);
	assert_non_null(strstr(islander.said, expected));
}

/* Our end of a connection; each is one of this process. */
static int find_near(void) {
	const uint64_t wanted = spares_cookie(islander.store.spares);
	const int most = 1024;

	for (int fd = 0; fd < most; fd++) {
		struct sockaddr_in own = {.sin_port = 0};
		uint64_t cookie = 0;
		socklen_t size = sizeof cookie, own_size = sizeof own;
		if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) < 0 || cookie != wanted) continue;
		if (getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 && own.sin_port == htons(PORT)) return fd;
	}
	return -1;
}

static void tool_connects(void) {
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = make(AF_INET, SOCK_STREAM);

	inet_pton(AF_INET, standin4, &own.sin_addr);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	say("connect", connect(fd, (struct sockaddr *)&own, sizeof own));
	hear();
}

static void what_comes_from_outside_is_never_kept_back(void **state) {
	int delays_not = 0;
	socklen_t size = sizeof delays_not;

	(void)state;
	islander_start(&islander, tool_connects);
	islander.answer = ISLANDER_HOLD;
	islander_until(&islander, "connect: EINPROGRESS\n");
	const int near = find_near();
	assert_true(near >= 0);
	assert_int_equal(getsockopt(near, IPPROTO_TCP, TCP_NODELAY, &delays_not, &size), 0);
	assert_int_equal(delays_not, 1);
	islander_tell(&islander, "");
	islander_end(&islander);
}

/* Where a rule says `direct: true` it waits for a moment. */
static bool hand_over(void *context, struct socket_call *call, const struct gate_result *result) {
	(void)context, (void)call, (void)result;
	return false;
}

static void describe(void *context, pid_t thread, char **ret_process, struct strings *ret_parents) {
	(void)context, (void)thread, (void)ret_process, (void)ret_parents;
}

static void an_interrupted_one_that_does_not_block_is_in_progress(void **state) {
	struct native *const native = islander.native;
	struct connects *const connects = islander.connects;
	const struct native_options native_options = {.base = islander.base,
						      .gate = islander.gate,
						      .spares = islander.store.spares,
						      .describe = describe,
						      .hand_over = hand_over};
	islander.native = native_new(&native_options);
	const struct connects_options options = {
		.base = islander.base, .native = islander.native, .standins = islander.standins};
	islander.connects = connects_new(&options);

	(void)state;
	islander_start(&islander, tool_connects);
	islander.answer = ISLANDER_HOLD;
	islander_until_true(&islander, is_asked);
	socket_calls_interrupt(islander.calls);
	islander_until(&islander, "connect: ");
	islander_tell(&islander, "");
	islander_expect(&islander, "connect: EINPROGRESS\n");
	connects_free(islander.connects);
	native_free(islander.native);
	islander.connects = connects;
	islander.native = native;
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_of_many_and_of_a_link_are_refused_as_by_any_network),
		cmocka_unit_test(a_socket_for_ipv6_alone_gets_to_no_mapped_address),
		cmocka_unit_test(datagrams_to_many_go_nowhere_and_ask_nobody),
		cmocka_unit_test(a_datagram_socket_for_ipv6_may_be_given_an_ipv4_address),
		cmocka_unit_test(two_that_connect_one_socket_are_interrupted_at_once),
		cmocka_unit_test(what_comes_from_outside_is_never_kept_back),
		cmocka_unit_test(an_interrupted_one_that_does_not_block_is_in_progress),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
