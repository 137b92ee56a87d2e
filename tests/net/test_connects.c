/*
 * What connect(2) says of addresses that nobody outside can be reached at, or not with that socket: the same as it
 * says on a network of its own, and nobody is asked for nothing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "islander.h"
#include "support/patience.h"

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

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_of_many_and_of_a_link_are_refused_as_by_any_network),
		cmocka_unit_test(a_socket_for_ipv6_alone_gets_to_no_mapped_address),
		cmocka_unit_test(datagrams_to_many_go_nowhere_and_ask_nobody),
		cmocka_unit_test(a_datagram_socket_for_ipv6_may_be_given_an_ipv4_address),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
