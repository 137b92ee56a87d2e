/*
 * Who listens in a network and what its UDP sockets are connected to, as sock_diag(7) says it and, on a kernel without
 * its modules, the tables of /proc/PID/net.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/memory.h"
#include "island.h"
#include "net/sockets/diag.h"
#include "support/cmocka.h"

static struct island island;

static int set_up(void **state) {
	(void)state;
	island_make(&island);
	return 0;
}

static int tear_down(void **state) {
	(void)state;
	island_remove(&island);
	return 0;
}

static struct sockaddr_storage address(const char *text, uint16_t port) {
	struct sockaddr_storage storage = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&storage;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&storage;
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
	}
	return storage;
}

static int tables(void) {
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/net", (int)island.pid);
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int netlink(void) {
	return island_socket(&island, AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
}

static struct diag *make(int by_netlink, int by_tables) {
	struct diag *diag = NULL;
	struct error error = ERROR_NONE;
	if (diag_new(by_netlink, by_tables, &diag, &error) < 0) fail_msg("%s", error.message);
	return diag;
}

static int bound_to(int type, const char *text, uint16_t port, int v6only) {
	const struct sockaddr_storage where = address(text, port);
	int fd = island_socket(&island, where.ss_family, type, 0);
	if (where.ss_family == AF_INET6)
		assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof v6only), 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&where, sizeof where), 0);
	return fd;
}

static int listener(const char *text, uint16_t port, int v6only) {
	int fd = bound_to(SOCK_STREAM, text, port, v6only);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void connect_to(int fd, const char *text, uint16_t port) {
	const struct sockaddr_storage where = address(text, port);
	assert_int_equal(connect(fd, (const struct sockaddr *)&where, sizeof where), 0);
}

static bool listens(struct diag *diag, const char *text, uint16_t port) {
	const struct sockaddr_storage where = address(text, port);
	return diag_listens(diag, (const struct sockaddr *)&where);
}

static void expect_listeners(struct diag *diag, bool knows_v6only) {
	const struct {
		const char *address;
		uint16_t port;
		bool listens;
	} expected[] = {
		{"127.0.0.1", 7001, true},
		{"127.0.0.2", 7001, false},
		{"::1", 7001, false},
		{"::ffff:127.0.0.1", 7001, true},
		{"::ffff:127.0.0.2", 7001, false},
		{"127.9.9.9", 7002, true},
		{"198.18.0.1", 7002, true},
		{"::1", 7002, false},
		{"::ffff:127.0.0.1", 7002, true},
		{"::1", 7003, true},
		{"127.0.0.1", 7003, false},
		{"127.0.0.1", 7004, true},
		{"::1", 7004, true},
		{"::1", 7005, true},
		{"127.0.0.1", 7005, !knows_v6only},
		{"127.0.0.1", 7006, false}, /* bound alone */
		{"127.0.0.1", 7007, false}, /* a connection's own port */
		{"127.0.0.1", 0, false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
		if (listens(diag, expected[i].address, expected[i].port) != expected[i].listens)
			fail_msg("%s port %u: not %d", expected[i].address, expected[i].port, expected[i].listens);
	uint16_t ports[8];
	assert_int_equal(diag_ports(diag, ports, ARRAY_LENGTH(ports)), 5);
	for (uint16_t i = 0; i < 5; i++) assert_int_equal(ports[i], 7001 + i);
}

static void listeners_are_the_same_either_way(void **state) {
	(void)state;
	const int fds[] = {listener("127.0.0.1", 7001, 0),
			   listener("0.0.0.0", 7002, 0),
			   listener("::1", 7003, 0),
			   listener("::", 7004, 0),
			   listener("::", 7005, 1),
			   bound_to(SOCK_STREAM, "127.0.0.1", 7006, 0),
			   bound_to(SOCK_STREAM, "127.0.0.1", 7007, 0)};
	connect_to(fds[6], "127.0.0.1", 7001);
	struct diag *asked = make(netlink(), -1), *read = make(-1, tables());
	expect_listeners(asked, true);
	expect_listeners(read, false);
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) fd_close(fds[i]);
	assert_false(listens(asked, "127.0.0.1", 7001));
	assert_false(listens(read, "127.0.0.1", 7001));
	diag_free(asked);
	diag_free(read);
}

/* A listener of the machine that runs the test is none of the island's. */
static void tables_are_those_of_the_network(void **state) {
	(void)state;
	struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof where;
	CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&where, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&where, &size), 0);
	struct diag *inside = make(-1, tables());
	struct diag *outside = make(-1, open("/proc/self/net", O_PATH | O_DIRECTORY | O_CLOEXEC));
	assert_false(diag_listens(inside, (struct sockaddr *)&where));
	assert_true(diag_listens(outside, (struct sockaddr *)&where));
	diag_free(inside);
	diag_free(outside);
}

struct seen {
	size_t count, four, six;
};

static void note_peer(void *argument, const struct sockaddr_storage *peer) {
	struct seen *seen = argument;
	const struct sockaddr_storage four = address("127.0.0.1", 7101), six = address("::1", 7102);
	seen->count++;
	seen->four += memcmp(peer, &four, sizeof(struct sockaddr_in)) == 0;
	seen->six += memcmp(peer, &six, sizeof(struct sockaddr_in6)) == 0;
}

/* The second one's address is v4-mapped. */
static void what_datagrams_are_for_is_the_same_either_way(void **state) {
	(void)state;
	const int fds[] = {bound_to(SOCK_DGRAM, "127.0.0.1", 0, 0), bound_to(SOCK_DGRAM, "::", 0, 0),
			   bound_to(SOCK_DGRAM, "::1", 0, 0), bound_to(SOCK_DGRAM, "127.0.0.1", 0, 0)};
	connect_to(fds[0], "127.0.0.1", 7101);
	connect_to(fds[1], "::ffff:127.0.0.1", 7101);
	connect_to(fds[2], "::1", 7102);
	struct diag *diags[] = {make(netlink(), -1), make(-1, tables())};
	for (size_t i = 0; i < ARRAY_LENGTH(diags); i++) {
		struct seen seen = {0};
		assert_true(diag_each_peer(diags[i], note_peer, &seen));
		assert_int_equal(seen.count, 3);
		assert_int_equal(seen.four, 2);
		assert_int_equal(seen.six, 1);
		diag_free(diags[i]);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) fd_close(fds[i]);
}

static void without_either_way_there_is_a_sentence(void **state) {
	(void)state;
	struct diag *diag = NULL;
	struct error error = ERROR_NONE;
	assert_int_equal(diag_new(-1, -1, &diag, &error), -EOPNOTSUPP);
	assert_non_null(strstr(error.message, "asking the kernel who listens"));
	assert_null(diag);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listeners_are_the_same_either_way),
		cmocka_unit_test(tables_are_those_of_the_network),
		cmocka_unit_test(what_datagrams_are_for_is_the_same_either_way),
		cmocka_unit_test(without_either_way_there_is_a_sentence),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
