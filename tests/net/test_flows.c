/* Connected UDP of a sandbox: a network of its own on one side, servers of the host's on the other. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "fixture.h"
#include "island.h"
#include "net/sockets/flows_private.h"
#include "support/patience.h"
#include "wire.h"

enum { DATAGRAM_MAX4 = 65507 /* 65535 without the headers of UDP and IPv4 */ };

struct sea { /* an island with flows, and the fixture's gate */
	struct island island;
	struct island_store store;
	struct fixture *fixture;
	struct diag *diag;
	bool blind; /* without it */
	struct flows *flows;
};

static void do_begin(struct fixture *fixture, void *argument) {
	struct sea *sea = argument;
	const struct spares_options spares = {
		.base = fixture_base(fixture), .fetch = island_fetch, .context = &sea->store};

	sea->store = (struct island_store){.island = &sea->island, .spares = spares_new(&spares)};
	int netlink = island_socket(&sea->island, AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	if (sea->blind)
		close(netlink);
	else
		assert_int_equal(diag_new(netlink, -1, &sea->diag, NULL), 0);
	const struct flows_options options = {.base = fixture_base(fixture),
					      .gate = fixture_gate(fixture),
					      .spares = sea->store.spares,
					      .diag = sea->diag};
	sea->flows = flows_new(&options);
}

static void do_end(struct fixture *fixture, void *argument) {
	struct sea *sea = argument;

	(void)fixture;
	flows_free(sea->flows);
	diag_free(sea->diag);
	spares_free(sea->store.spares);
}

static void sea_make_with(struct sea *sea, bool blind) {
	*sea = (struct sea){.blind = blind};
	island_make(&sea->island);
	sea->fixture = fixture_new();
	fixture_call(sea->fixture, do_begin, sea);
	fixture_set_judge(sea->fixture, FIXTURE_ALLOW, 7, true);
	fixture_set_name(sea->fixture, "served.example", "127.0.0.1");
}

static void sea_make(struct sea *sea) {
	sea_make_with(sea, false);
}

static void sea_remove(struct sea *sea) {
	fixture_call(sea->fixture, do_end, sea);
	fixture_free(sea->fixture);
	island_remove(&sea->island);
}

struct listening {
	struct sea *sea;
	const char *name;
	struct address address;
	in_port_t port;
	int result;
};

static void do_listen(struct fixture *fixture, void *argument) {
	static const struct gate_caller caller = {.process = "dig (7)"};
	struct listening *listening = argument;
	struct host host;

	(void)fixture;
	assert_int_equal(host_parse(listening->name, strlen(listening->name), &host, NULL), 0);
	listening->result = flows_listen(listening->sea->flows, &listening->address, &host, &caller, &listening->port);
}

static void set_address(struct sockaddr_storage *address, const char *text, uint16_t port) {
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)address;

	*address = (struct sockaddr_storage){.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET};
	ipv4->sin_port = htons(port);
	if (address->ss_family == AF_INET)
		assert_int_equal(inet_pton(AF_INET, text, &ipv4->sin_addr), 1);
	else
		assert_int_equal(inet_pton(AF_INET6, text, &ipv6->sin6_addr), 1);
}

static void listen_to(struct listening *listening, const char *text, uint16_t port) {
	struct sockaddr_storage address;

	set_address(&address, text, port);
	assert_true(address_read((struct sockaddr *)&address, sizeof address, &listening->address));
}

/* As who holds the tool's connect(2) does it: until there is a spare socket. */
static void sea_listen(struct listening *listening) {
	listening->result = -EAGAIN;
	for (int64_t end = now_ms() + PATIENCE_MS; listening->result == -EAGAIN && now_ms() < end; usleep(1000))
		fixture_call(listening->sea->fixture, do_listen, listening);
	assert_int_equal(listening->result, 0);
}

static int sea_connect_socket(struct sea *sea, int fd, const char *address, uint16_t port) {
	struct listening listening = {.sea = sea, .name = "served.example"};
	const struct timeval limit = {.tv_sec = PATIENCE_MS / 1000};

	listen_to(&listening, address, port);
	sea_listen(&listening);
	*address_port(&listening.address.any) = listening.port;
	assert_int_equal(connect(fd, &listening.address.any, listening.address.size), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	return fd;
}

/* A tool's socket, connected to the stand-in of served.example. */
static int sea_connect(struct sea *sea, const char *address, uint16_t port) {
	int fd = island_socket(&sea->island, strchr(address, ':') ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);

	return sea_connect_socket(sea, fd, address, port);
}

struct count_request {
	struct sea *sea;
	struct flows_counts counts;
};

static void do_count(struct fixture *fixture, void *argument) {
	struct count_request *request = argument;

	(void)fixture;
	request->counts = flows_count(request->sea->flows);
}

static struct flows_counts sea_count(struct sea *sea) {
	struct count_request request = {.sea = sea};

	fixture_call(sea->fixture, do_count, &request);
	return request.counts;
}

static void do_set_idle(struct fixture *fixture, void *argument) {
	(void)fixture;
	flows_set_idle(((struct sea *)argument)->flows, 20);
}

/* A server of the host's: says each datagram back, as it came. */
struct echo {
	int fd;
	uint16_t port;
	pthread_t thread;
	_Atomic unsigned heard;
};

static int host_socket(uint16_t *ret_port) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	const struct timeval limit = {.tv_sec = PATIENCE_MS / 1000};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static void *echo_main(void *argument) {
	struct echo *echo = argument;
	uint8_t *buffer = mem_array(uint8_t, 1 << 16);
	struct sockaddr_in from;

	for (;;) {
		socklen_t size = sizeof from;
		ssize_t n = recvfrom(echo->fd, buffer, 1 << 16, 0, (struct sockaddr *)&from, &size);

		if (n == 4 && memcmp(buffer, "stop", 4) == 0) break;
		if (n < 0) break;
		echo->heard++;
		(void)sendto(echo->fd, buffer, (size_t)n, 0, (struct sockaddr *)&from, size);
	}
	free(buffer);
	return NULL;
}

static void echo_start(struct echo *echo) {
	*echo = (struct echo){0};
	echo->fd = host_socket(&echo->port);
	assert_int_equal(wire_thread(&echo->thread, echo_main, echo), 0);
}

static void echo_stop(struct echo *echo) {
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(echo->port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	sendto(fd, "stop", 4, 0, (struct sockaddr *)&address, sizeof address);
	pthread_join(echo->thread, NULL);
	close(fd);
	close(echo->fd);
}

static uint8_t byte_at(unsigned seed, size_t place) {
	return (uint8_t)(seed * 31 + place % 251 + place / 4099);
}

/* Sends one and compares what comes back with it, size and each byte. */
static void exchange(int fd, unsigned seed, size_t size) {
	uint8_t *sent = mem_array(uint8_t, size + 1), *back = mem_array(uint8_t, 1 << 16);

	for (size_t i = 0; i < size; i++) sent[i] = byte_at(seed, i);
	assert_int_equal(send(fd, sent, size, 0), size);
	ssize_t n = recv(fd, back, 1 << 16, 0);
	if (n != (ssize_t)size) fail_msg("%zu bytes came back as %zd: %s", size, n, n < 0 ? strerror(errno) : "");
	assert_memory_equal(sent, back, size);
	free(sent);
	free(back);
}

/* Once the listener is gone the kernel answers what the tool sends; a send that follows says so at the latest. */
static void assert_refused(struct sea *sea, int fd) {
	char byte;

	wait_until(sea_count(sea).listeners == 0);
	assert_int_equal(send(fd, "more", 4, 0), 4);
	ssize_t n = recv(fd, &byte, 1, 0);
	if (n >= 0 || errno != ECONNREFUSED) fail_msg("%zd, %s", n, n < 0 ? strerror(errno) : "data");
}

static void a_question_gets_its_answer(void **state) {
	static const char *const addresses[] = {"198.18.0.7", "fd53:6278::7", "203.0.113.9", "2001:db8::9"};
	struct sea sea;
	struct echo echo;

	(void)state;
	sea_make(&sea);
	echo_start(&echo);
	for (size_t i = 0; i < ARRAY_LENGTH(addresses); i++) {
		int fd = sea_connect(&sea, addresses[i], echo.port);
		struct sockaddr_storage peer;
		struct sockaddr_storage wanted;
		socklen_t size = sizeof peer;

		exchange(fd, 1, 29);
		set_address(&wanted, addresses[i], echo.port);
		assert_int_equal(getpeername(fd, (struct sockaddr *)&peer, &size), 0);
		assert_memory_equal(&peer, &wanted, size);
		close(fd);
	}
	struct fixture_counts counts = fixture_counts(sea.fixture);
	char target[100];
	snprintf(target, sizeof target, "served.example:%u", echo.port);
	assert_string_equal(counts.target, target);
	assert_string_equal(counts.process, "dig (7)");
	sea_remove(&sea);
	echo_stop(&echo);
}

static void datagrams_of_every_size_come_whole(void **state) {
	static const size_t sizes[] = {0, 1, 512, 1200, 1472, 1500, 4096, 9000, 65000, DATAGRAM_MAX4};
	struct sea sea;
	struct echo echo;

	(void)state;
	sea_make(&sea);
	echo_start(&echo);
	int fd = sea_connect(&sea, "198.18.0.2", echo.port);
	for (unsigned i = 0; i < ARRAY_LENGTH(sizes); i++) exchange(fd, i, sizes[i]);
	close(fd);
	/* a first one of full size waits for the answer, too */
	fd = sea_connect(&sea, "198.18.0.2", echo.port);
	exchange(fd, 77, DATAGRAM_MAX4);
	close(fd);
	sea_remove(&sea);
	echo_stop(&echo);
}

static void two_tools_hear_their_own_answers(void **state) {
	enum { TOOLS = 2, ROUNDS = 200 };
	struct sea sea;
	struct echo echo;
	int fds[TOOLS];

	(void)state;
	sea_make(&sea);
	echo_start(&echo);
	for (int i = 0; i < TOOLS; i++) fds[i] = sea_connect(&sea, "198.18.0.2", echo.port);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint8_t bytes[1200], back[1201];

		for (unsigned i = 0; i < TOOLS; i++) {
			memset(bytes, (int)(i * 100 + round), sizeof bytes);
			assert_int_equal(send(fds[i], bytes, 1 + (round * 7) % 1200, 0), 1 + (round * 7) % 1200);
		}
		for (unsigned i = 0; i < TOOLS; i++) {
			memset(bytes, (int)(i * 100 + round), sizeof bytes);
			assert_int_equal(recv(fds[i], back, sizeof back, 0), 1 + (round * 7) % 1200);
			assert_memory_equal(back, bytes, 1 + (round * 7) % 1200);
		}
	}
	assert_int_equal(sea_count(&sea).listeners, 1);
	assert_int_equal(sea_count(&sea).flows, TOOLS);
	for (int i = 0; i < TOOLS; i++) close(fds[i]);
	sea_remove(&sea);
	echo_stop(&echo);
}

static void nothing_is_asked_before_a_datagram_comes(void **state) {
	struct sea sea;

	(void)state;
	sea_make(&sea);
	for (unsigned port = 1; port <= LIMIT_FLOW_LISTENERS + 10; port++)
		close(sea_connect(&sea, port % 2 ? "198.18.0.2" : "fd53:6278::2", (uint16_t)port));
	assert_int_equal(sea_count(&sea).listeners, LIMIT_FLOW_LISTENERS);
	assert_int_equal(sea_count(&sea).flows, 0);
	assert_int_equal(fixture_counts(sea.fixture).checks, 0);
	sea_remove(&sea);
}

static void attack_net_05_datagrams_wait_for_the_answer(void **state) {
	struct sea sea;
	uint16_t port;
	char bytes[100];

	(void)state;
	sea_make(&sea);
	int server = host_socket(&port);
	fixture_set_judge(sea.fixture, FIXTURE_HOLD, 0, true);
	int fd = sea_connect(&sea, "198.18.0.2", port);
	for (int i = 0; i < LIMIT_FLOW_WAITING + 4; i++) {
		snprintf(bytes, sizeof bytes, "datagram %02d", i);
		assert_int_equal(send(fd, bytes, 11, 0), 11);
	}
	fixture_wait(sea.fixture, checks_reach, 1);
	usleep(50 * 1000);
	assert_int_equal(recv(server, bytes, sizeof bytes, MSG_DONTWAIT), -1);
	assert_int_equal(fixture_counts(sea.fixture).lookups, 0);
	fixture_answer_held(sea.fixture, FIXTURE_ALLOW);
	for (int i = 0; i < LIMIT_FLOW_WAITING; i++) { /* in their order, and no more than are kept */
		char wanted[20];

		snprintf(wanted, sizeof wanted, "datagram %02d", i);
		assert_int_equal(recv(server, bytes, sizeof bytes, 0), 11);
		assert_memory_equal(bytes, wanted, 11);
	}
	assert_int_equal(send(fd, "next", 4, 0), 4);
	assert_int_equal(recv(server, bytes, sizeof bytes, 0), 4);
	assert_memory_equal(bytes, "next", 4);
	assert_int_equal(fixture_counts(sea.fixture).checks, 1);
	close(fd);
	close(server);
	sea_remove(&sea);
}

static void attack_net_05_a_refusal_is_told_and_not_asked_again(void **state) {
	static const char *const addresses[] = {"198.18.0.2", "fd53:6278::2"};
	struct sea sea;
	uint16_t port;
	char byte;

	(void)state;
	sea_make(&sea);
	int server = host_socket(&port);
	fixture_set_judge(sea.fixture, FIXTURE_DENY, 0, true);
	for (unsigned i = 0; i < ARRAY_LENGTH(addresses); i++) {
		int fd = sea_connect(&sea, addresses[i], port);

		assert_int_equal(send(fd, "secret", 6, 0), 6);
		assert_refused(&sea, fd);
		assert_refused(&sea, fd);
		assert_int_equal(fixture_counts(sea.fixture).checks, i + 1);
		close(fd);
	}
	assert_int_equal(fixture_counts(sea.fixture).lookups, 0);
	assert_int_equal(recv(server, &byte, 1, MSG_DONTWAIT), -1);
	close(server);
	sea_remove(&sea);
}

static void a_refusal_leaves_others_alone(void **state) {
	struct sea sea;
	struct echo echo;

	(void)state;
	sea_make(&sea);
	echo_start(&echo);
	fixture_set_judge(sea.fixture, FIXTURE_ALLOW_ONCE, 0, true);
	int one = sea_connect(&sea, "198.18.0.2", echo.port);
	exchange(one, 1, 100);
	fixture_set_judge(sea.fixture, FIXTURE_DENY, 0, true);
	int other = sea_connect(&sea, "198.18.0.2", echo.port);
	assert_int_equal(send(other, "secret", 6, 0), 6);
	fixture_wait(sea.fixture, checks_reach, 2);
	exchange(one, 2, 100);
	for (int i = 0; i < 100; i++) assert_int_equal(send(other, "secret", 6, 0), 6);
	exchange(one, 3, 100);
	assert_int_equal(echo.heard, 3);
	/* the second's question, and those of the seconds that this may have taken */
	assert_in_range(fixture_counts(sea.fixture).checks, 2, 50);
	close(one);
	close(other);
	sea_remove(&sea);
	echo_stop(&echo);
}

static void attack_net_06_a_private_address_needs_the_rule(void **state) {
	struct sea sea;
	uint16_t port;
	char byte;

	(void)state;
	sea_make(&sea);
	int server = host_socket(&port);
	fixture_set_judge(sea.fixture, FIXTURE_ALLOW, 0, false);
	int fd = sea_connect(&sea, "198.18.0.2", port);
	assert_int_equal(send(fd, "secret", 6, 0), 6);
	assert_refused(&sea, fd);
	assert_int_equal(recv(server, &byte, 1, MSG_DONTWAIT), -1);
	close(fd);
	close(server);
	sea_remove(&sea);
}

static void a_closed_port_of_the_host_is_told(void **state) {
	struct sea sea;
	struct echo echo;
	uint16_t port;

	(void)state;
	sea_make(&sea);
	close(host_socket(&port));
	int fd = sea_connect(&sea, "198.18.0.2", port);
	assert_int_equal(send(fd, "anybody", 7, 0), 7);
	assert_refused(&sea, fd);
	assert_int_equal(fixture_counts(sea.fixture).reports, 1);
	assert_string_equal(fixture_counts(sea.fixture).error, strerror(ECONNREFUSED));
	/* the same socket, connected anew */
	echo_start(&echo);
	sea_connect_socket(&sea, fd, "198.18.0.2", echo.port);
	exchange(fd, 3, 100);
	close(fd);
	sea_remove(&sea);
	echo_stop(&echo);
}

static void a_revoked_grant_ends_it(void **state) {
	struct sea sea;
	struct echo echo;

	(void)state;
	sea_make(&sea);
	echo_start(&echo);
	int fd = sea_connect(&sea, "198.18.0.2", echo.port);
	exchange(fd, 1, 100);
	exchange(fd, 2, 50);
	assert_int_equal(fixture_cut(sea.fixture, 8), 0);
	fixture_set_judge(sea.fixture, FIXTURE_FORBID, 0, true);
	assert_int_equal(fixture_cut(sea.fixture, 7), 1);
	struct fixture_counts counts = fixture_counts(sea.fixture); /* it is over when the cut has returned */
	assert_int_equal(counts.reports, 1);
	assert_string_equal(counts.door, "udp");
	assert_string_equal(counts.error, "the grant has ended");
	assert_int_equal(counts.sent, 150);
	assert_int_equal(counts.received, 150);
	assert_int_equal(sea_count(&sea).flows, 0);
	assert_refused(&sea, fd);
	assert_int_equal(echo.heard, 2);
	close(fd);
	sea_remove(&sea);
	echo_stop(&echo);
}

static void a_review_ends_what_is_not_allowed_now(void **state) {
	struct sea sea;
	struct echo echo;

	(void)state;
	sea_make(&sea);
	echo_start(&echo);
	int fd = sea_connect(&sea, "198.18.0.2", echo.port);
	exchange(fd, 1, 100);
	fixture_review(sea.fixture);
	fixture_wait(sea.fixture, again_reaches, 1);
	exchange(fd, 2, 100);
	fixture_set_judge(sea.fixture, FIXTURE_FORBID, 0, true);
	fixture_review(sea.fixture);
	fixture_wait(sea.fixture, reports_reach, 1);
	assert_refused(&sea, fd);
	close(fd);
	sea_remove(&sea);
	echo_stop(&echo);
}

static void flows_end(bool blind) {
	struct sea sea;
	struct echo echo;

	sea_make_with(&sea, blind);
	echo_start(&echo);
	int fd = sea_connect(&sea, "198.18.0.2", echo.port);
	close(sea_connect(&sea, "fd53:6278::2", echo.port));
	exchange(fd, 1, 100);
	assert_int_equal(sea_count(&sea).flows, 1);
	fixture_call(sea.fixture, do_set_idle, &sea);
	fixture_wait(sea.fixture, reports_reach, 1);
	assert_string_equal(fixture_counts(sea.fixture).error, "");
	if (!blind) close(fd);
	wait_until(sea_count(&sea).listeners == 0);
	if (blind) close(fd);
	sea_remove(&sea);
	echo_stop(&echo);
}

static void idle_ones_end(void **state) {
	(void)state;
	flows_end(false);
}

static void idle_ones_end_where_nobody_can_say_who_is_connected(void **state) {
	(void)state;
	flows_end(true);
}

static void a_silent_socket_keeps_its_listener(void **state) {
	struct sea sea;
	struct echo echo;

	(void)state;
	sea_make(&sea);
	echo_start(&echo);
	int silent = sea_connect(&sea, "198.18.0.2", echo.port), silent6 = sea_connect(&sea, "fd53:6278::3", echo.port);
	int mapped = island_socket(&sea.island, AF_INET6, SOCK_DGRAM, 0);
	struct listening listening = {.sea = &sea, .name = "served.example"};
	struct sockaddr_storage address;

	listen_to(&listening, "198.18.0.4", echo.port);
	sea_listen(&listening);
	set_address(&address, "::ffff:198.18.0.4", echo.port);
	assert_int_equal(connect(mapped, (struct sockaddr *)&address, sizeof(struct sockaddr_in6)), 0);
	close(sea_connect(&sea, "198.18.0.5", echo.port)); /* as getaddrinfo does it */
	assert_int_equal(sea_count(&sea).listeners, 4);
	fixture_call(sea.fixture, do_set_idle, &sea);
	wait_until(sea_count(&sea).listeners == 3);
	usleep(100 * 1000); /* and several sweeps later */
	assert_int_equal(sea_count(&sea).listeners, 3);
	exchange(silent, 1, 100);
	exchange(silent6, 2, 100);
	exchange(mapped, 3, 100);
	close(silent);
	close(silent6);
	close(mapped);
	wait_until(sea_count(&sea).listeners == 0);
	sea_remove(&sea);
	echo_stop(&echo);
}

static void a_port_that_the_tool_holds_is_gone_round(void **state) {
	struct sea sea;
	struct echo echo;
	struct sockaddr_in any = {.sin_family = AF_INET};

	(void)state;
	sea_make(&sea);
	echo_start(&echo);
	int own = island_socket(&sea.island, AF_INET, SOCK_DGRAM, 0);
	any.sin_port = htons(echo.port);
	assert_int_equal(bind(own, (struct sockaddr *)&any, sizeof any), 0);
	int fd = sea_connect(&sea, "198.18.0.2", echo.port);
	exchange(fd, 5, 100);
	assert_int_equal(recv(own, &any, 1, MSG_DONTWAIT), -1);
	close(fd);
	close(own);
	sea_remove(&sea);
	echo_stop(&echo);
}

static void attack_net_12_a_flood_of_sources_is_bounded(void **state) {
	enum { SOURCES = LIMIT_FLOWS + 100 };
	struct sea sea;
	struct echo echo;
	int last = -1;

	(void)state;
	sea_make(&sea);
	echo_start(&echo);
	/* while nobody answers */
	fixture_set_judge(sea.fixture, FIXTURE_HOLD, 0, true);
	for (int i = 0; i < SOURCES; i++) {
		int fd = sea_connect(&sea, "198.18.0.2", echo.port);

		assert_int_equal(send(fd, "flood", 5, 0), 5);
		close(fd);
	}
	fixture_wait(sea.fixture, checks_reach, LIMIT_FLOWS_ASKING);
	assert_int_equal(fixture_counts(sea.fixture).checks, LIMIT_FLOWS_ASKING);
	assert_int_equal(echo.heard, 0);
	for (int i = 0; i < LIMIT_FLOWS_ASKING; i++) fixture_answer_held(sea.fixture, FIXTURE_DENY);
	/* and when all is allowed: who came last has its place (at another address: what was refused is for a second)
	 */
	fixture_set_judge(sea.fixture, FIXTURE_ALLOW, 7, true);
	for (int i = 0; i < SOURCES; i++) {
		fd_close(last);
		last = sea_connect(&sea, "198.18.0.3", echo.port);
		exchange(last, (unsigned)i, 10);
		assert_in_range(sea_count(&sea).flows, 1, LIMIT_FLOWS);
	}
	assert_int_equal(sea_count(&sea).flows, LIMIT_FLOWS);
	exchange(last, 1, 1000);
	close(last);
	sea_remove(&sea);
	echo_stop(&echo);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_gets_its_answer),
		cmocka_unit_test(datagrams_of_every_size_come_whole),
		cmocka_unit_test(two_tools_hear_their_own_answers),
		cmocka_unit_test(nothing_is_asked_before_a_datagram_comes),
		cmocka_unit_test(attack_net_05_datagrams_wait_for_the_answer),
		cmocka_unit_test(attack_net_05_a_refusal_is_told_and_not_asked_again),
		cmocka_unit_test(attack_net_06_a_private_address_needs_the_rule),
		cmocka_unit_test(a_closed_port_of_the_host_is_told),
		cmocka_unit_test(a_refusal_leaves_others_alone),
		cmocka_unit_test(a_revoked_grant_ends_it),
		cmocka_unit_test(a_review_ends_what_is_not_allowed_now),
		cmocka_unit_test(idle_ones_end),
		cmocka_unit_test(idle_ones_end_where_nobody_can_say_who_is_connected),
		cmocka_unit_test(a_silent_socket_keeps_its_listener),
		cmocka_unit_test(a_port_that_the_tool_holds_is_gone_round),
		cmocka_unit_test(attack_net_12_a_flood_of_sources_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
