/* Published ports, with this machine's loopback in the place of a sandbox's: what leads to it is made of spare sockets
 * that the test makes here. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/memory.h"
#include "net/parse/host_port.h"
#include "net/publish/publish.h"
#include "schema/limits.h"
#include "support/cmocka.h"
#include "support/patience.h"

enum { BACKLOG = 1024, MANY = 200, MOST = 220, BYTES = 1 << 20, OWN_PORT = 3128 };

enum saying { SAY_DENY, SAY_ALLOW, SAY_ONCE, SAY_LATER, SAY_GONE /* to what is judged again */ };

struct held_check {
	void (*done)(void *argument, const struct verdict *verdict);
	void *argument;
	bool again;
};

struct world {
	struct event_base *base;
	struct spares *spares;
	struct publisher *publisher;
	enum saying saying, saying_again;
	int64_t grant, named;
	struct held_check held[LIMIT_LISTENING * 4];
	size_t held_count;
	unsigned checks, checks_again, cancels, changes, reports;
	uint64_t sent, received;
	int64_t reported_grant;
	char port[16], error[100];
	uint16_t listening[8];
	size_t listening_count;
	bool checked_found;
	unsigned settled;
	struct publication publication; /* the last that settled or was found */
	char failed[300];
	unsigned found;
};

/* A sandbox's side */

struct bring {
	struct world *world;
	enum spare kind;
	unsigned count;
};

static void on_bring(evutil_socket_t fd, short what, void *argument) {
	struct bring *bring = argument;
	int fds[SPARES_FETCH_MAX];
	(void)fd, (void)what;
	for (unsigned i = 0; i < bring->count; i++) {
		const struct spare_shape *shape = &spare_shapes[bring->kind];
		fds[i] = socket(shape->domain, shape->type | SOCK_NONBLOCK | SOCK_CLOEXEC, shape->protocol);
		assert_true(fds[i] >= 0);
	}
	spares_add(bring->world->spares, bring->kind, fds, bring->count);
	free(bring);
}

static void fetch(void *context, enum spare kind, unsigned count) {
	static const struct timeval now = {0};
	struct world *world = context;
	struct bring *bring = mem_new(struct bring);
	*bring = (struct bring){world, kind, count};
	event_base_once(world->base, -1, EV_TIMEOUT, on_bring, bring, &now);
}

static size_t ports_inside(void *context, uint16_t *ret_ports, size_t size) {
	const struct world *world = context;
	assert_true(world->listening_count <= size);
	memcpy(ret_ports, world->listening, world->listening_count * sizeof *ret_ports);
	return world->listening_count;
}

/* The broker's side */

static struct verdict verdict_of(const struct world *world, enum saying saying) {
	if (saying == SAY_ONCE) return (struct verdict){.effect = EFFECT_ALLOW, .module = "ask", .once = true};
	if (saying == SAY_ALLOW)
		return (struct verdict){.effect = EFFECT_ALLOW, .module = "grants", .grant = world->grant};
	return (struct verdict){.effect = EFFECT_DENY, .module = "ask", .why = (char *)"nobody said yes"};
}

static uint64_t hold_or_say(struct world *world, bool again, enum saying saying,
			    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	if (saying == SAY_LATER) {
		assert_true(world->held_count < ARRAY_LENGTH(world->held));
		world->held[world->held_count++] = (struct held_check){done, argument, again};
		return world->held_count;
	}
	const struct verdict verdict = verdict_of(world, saying);
	done(argument, saying == SAY_GONE ? NULL : &verdict);
	return 0;
}

static uint64_t check(void *context, const char *port, bool found,
		      void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct world *world = context;
	world->checks++;
	world->checked_found = found;
	snprintf(world->port, sizeof world->port, "%s", port);
	return hold_or_say(world, false, world->saying, done, argument);
}

static uint64_t check_again(void *context, const char *port,
			    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct world *world = context;
	world->checks_again++;
	snprintf(world->port, sizeof world->port, "%s", port);
	return hold_or_say(world, true, world->saying_again, done, argument);
}

static void cancel(void *context, uint64_t ticket) {
	struct world *world = context;
	world->held[ticket - 1].done = NULL;
	world->cancels++;
}

static void answer_held(struct world *world, enum saying saying) {
	for (size_t i = 0; i < world->held_count; i++) {
		const struct held_check held = world->held[i];
		const struct verdict verdict = verdict_of(world, saying);
		if (held.done) held.done(held.argument, &verdict);
	}
	world->held_count = 0;
}

static void on_changed(void *context) {
	struct world *world = context;
	world->changes++;
}

static void note(struct world *world, const struct publication *publication, const char *failed) {
	world->publication = *publication;
	snprintf(world->failed, sizeof world->failed, "%s", failed ? failed : "");
}

static void on_found(void *context, const struct publication *publication, const char *failed) {
	struct world *world = context;
	world->found++;
	note(world, publication, failed);
}

static void on_settled(void *argument, const struct publication *publication, const char *failed) {
	struct world *world = argument;
	world->settled++;
	note(world, publication, failed);
}

static void report(void *context, const char *port, int64_t grant, uint64_t sent, uint64_t received,
		   int64_t duration_ms, const char *error) {
	struct world *world = context;
	world->reports++;
	world->sent += sent;
	world->received += received;
	world->reported_grant = grant;
	snprintf(world->port, sizeof world->port, "%s", port);
	snprintf(world->error, sizeof world->error, "%s", error ? error : "");
	assert_true(duration_ms >= 0);
}

/* The loop */

static void turn(struct world *world) {
	event_base_loop(world->base, EVLOOP_NONBLOCK);
}

#define until(condition)                                                                                               \
	do {                                                                                                           \
		for (int64_t end_ms = now_ms() + PATIENCE_MS; !(condition);) {                                         \
			if (now_ms() > end_ms) fail_msg("never: %s", #condition);                                      \
			turn(world);                                                                                   \
		}                                                                                                      \
	} while (0)

/* Sockets of the test */

static int server_on(int family, uint16_t *ret_port) {
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t size = family == AF_INET ? sizeof v4 : sizeof v6;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, address, size), 0);
	assert_int_equal(listen(fd, BACKLOG), 0);
	assert_int_equal(getsockname(fd, address, &size), 0);
	*ret_port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
	return fd;
}

static int dial(int family, uint16_t port) {
	const struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0); /* the kernel's queue takes it: no loop is needed */
	int r = family == AF_INET ? connect(fd, (const struct sockaddr *)&v4, sizeof v4)
				  : connect(fd, (const struct sockaddr *)&v6, sizeof v6);
	if (r == 0) {
		assert_int_equal(fd_nonblocking(fd, true, NULL), 0);
		return fd;
	}
	r = -errno;
	fd_close(fd);
	return r;
}

static int accept_inside(struct world *world, int server) {
	int fd = -1;
	until((fd = accept4(server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
	return fd;
}

static void expect_bytes(struct world *world, int fd, const char *text) {
	char bytes[100] = "";
	size_t done = 0;
	while (done < strlen(text)) {
		ssize_t got = -1;
		until((got = recv(fd, bytes + done, sizeof bytes - 1 - done, 0)) >= 0);
		assert_true(got > 0);
		done += (size_t)got;
	}
	assert_string_equal(bytes, text);
}

/* 0: it ended in order; an errno else. */
static int how_it_ends(struct world *world, int fd) {
	char byte;
	ssize_t got = -1;
	until((got = recv(fd, &byte, 1, 0)) >= 0 || errno != EAGAIN);
	return got < 0 ? errno : 0;
}

static int setup(void **state) {
	static const uint16_t own[] = {OWN_PORT};
	struct world *world = mem_new(struct world);
	world->grant = 7;
	world->saying = world->saying_again = SAY_ALLOW;
	world->base = loop_new();
	const struct spares_options spares = {.base = world->base, .fetch = fetch, .context = world};
	world->spares = spares_new(&spares);
	const struct publisher_options options = {.base = world->base,
						  .spares = world->spares,
						  .own = own,
						  .own_count = ARRAY_LENGTH(own),
						  .connections = MOST,
						  .context = world,
						  .check = check,
						  .check_again = check_again,
						  .cancel = cancel,
						  .ports = ports_inside,
						  .changed = on_changed,
						  .found = on_found,
						  .report = report};
	world->publisher = publisher_new(&options);
	*state = world;
	return 0;
}

static int teardown(void **state) {
	struct world *world = *state;
	publisher_free(world->publisher);
	for (int i = 0; i < 10; i++) turn(world); /* what was to be brought */
	spares_free(world->spares);
	event_base_free(world->base);
	free(world);
	return 0;
}

/* By name, on any port of the host, which it returns. */
static uint16_t publish(struct world *world, uint16_t port) {
	const struct publisher_wish wish = {.publication = {.port = port}, .grant = world->named};
	unsigned before = world->settled;
	publisher_add(world->publisher, &wish, on_settled, world);
	until(world->settled == before + 1);
	if (*world->failed) fail_msg("%s", world->failed);
	assert_int_equal(world->publication.port, port);
	assert_true(world->publication.host_port > 0);
	return world->publication.host_port;
}

static void expect_list(const struct world *world, const char *expected) {
	CLEANUP_STRINGS struct strings list = {0};
	CLEANUP_STRING struct string all = {0};
	publisher_list(world->publisher, &list);
	string_append(&all, "");
	for (size_t i = 0; i < list.count; i++) string_appendf(&all, "%s ", list.items[i]);
	assert_string_equal(all.data, expected);
}

/* Tests */

static void a_connection_is_relayed_and_reported(void **state) {
	struct world *world = *state;
	static const int families[] = {AF_INET, AF_INET6};
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	const uint16_t host_port = publish(world, port);
	CLEANUP_FREE char *list = string_format("%u:%u ", port, host_port);
	expect_list(world, list);
	assert_int_equal(world->checks, 1);
	for (size_t i = 0; i < ARRAY_LENGTH(families); i++) {
		CLEANUP_FD int client = dial(families[i], host_port);
		assert_true(client >= 0);
		CLEANUP_FD int inside = accept_inside(world, server);
		assert_int_equal(send(client, "hello", 5, 0), 5);
		expect_bytes(world, inside, "hello");
		assert_int_equal(send(inside, "and good bye", 12, 0), 12);
		expect_bytes(world, client, "and good bye");
		/* half-closed: the other way goes on */
		shutdown(client, SHUT_WR);
		assert_int_equal(how_it_ends(world, inside), 0);
		assert_int_equal(send(inside, "!", 1, 0), 1);
		expect_bytes(world, client, "!");
		shutdown(inside, SHUT_WR);
		assert_int_equal(how_it_ends(world, client), 0);
		until(world->reports == i + 1);
	}
	assert_int_equal(world->sent, 26); /* by the server */
	assert_int_equal(world->received, 10);
	assert_int_equal(world->reported_grant, 7);
	assert_string_equal(world->error, "");
	CLEANUP_FREE char *port_text = string_format("%u", port);
	assert_string_equal(world->port, port_text);
}

static void a_server_on_ipv6_alone_is_found(void **state) {
	struct world *world = *state;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET6, &port);
	CLEANUP_FD int client = dial(AF_INET, publish(world, port));
	CLEANUP_FD int inside = accept_inside(world, server);
	assert_int_equal(send(client, "six", 3, 0), 3);
	expect_bytes(world, inside, "six");
}

/* A reset, and nothing in the history: nothing was connected. */
static void without_a_server_it_is_a_reset(void **state) {
	struct world *world = *state;
	uint16_t port;
	fd_close(server_on(AF_INET, &port));
	const uint16_t host_port = publish(world, port);
	CLEANUP_FD int client = dial(AF_INET, host_port);
	assert_int_equal(how_it_ends(world, client), ECONNRESET);
	assert_int_equal(world->reports, 0);
	/* it may come later */
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const int on = 1;
	CLEANUP_FD int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(server, BACKLOG), 0);
	CLEANUP_FD int again = dial(AF_INET, host_port);
	CLEANUP_FD int inside = accept_inside(world, server);
	assert_int_equal(send(again, "now", 3, 0), 3);
	expect_bytes(world, inside, "now");
}

static void a_denied_one_listens_nowhere(void **state) {
	struct world *world = *state;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	struct host_port host;
	assert_int_equal(host_port_listen(0, &host, NULL), 0);
	const uint16_t host_port = host.port;
	const struct publisher_wish wish = {.publication = {.port = port, .host_port = host_port}, .host = &host};
	world->saying = SAY_LATER;
	publisher_add(world->publisher, &wish, on_settled, world);
	/* taken already; who comes waits for the verdict, and reaches nobody */
	CLEANUP_FD int client = dial(AF_INET, host_port);
	assert_true(client >= 0);
	for (int i = 0; i < 20; i++) turn(world);
	assert_int_equal(accept(server, NULL, NULL), -1);
	assert_int_equal(world->settled, 0);
	answer_held(world, SAY_DENY);
	assert_int_equal(world->settled, 1);
	assert_string_equal(world->failed, "nobody said yes");
	assert_int_equal(how_it_ends(world, client), ECONNRESET);
	assert_int_equal(dial(AF_INET, host_port), -ECONNREFUSED);
	assert_int_equal(dial(AF_INET6, host_port), -ECONNREFUSED);
	assert_int_equal(accept(server, NULL, NULL), -1);
	expect_list(world, "");
}

static void a_taken_port_is_said(void **state) {
	struct world *world = *state;
	uint16_t taken, port;
	const int other = server_on(AF_INET, &taken), server = server_on(AF_INET, &port);
	const struct publisher_wish wanted = {.publication = {.port = port, .host_port = taken}};
	publisher_add(world->publisher, &wanted, on_settled, world);
	until(world->settled == 1);
	assert_non_null(strstr(world->failed, "is taken"));
	/* one of the families is enough */
	uint16_t taken6;
	const int other6 = server_on(AF_INET6, &taken6);
	const struct publisher_wish wanted6 = {.publication = {.port = port, .host_port = taken6}};
	publisher_add(world->publisher, &wanted6, on_settled, world);
	until(world->settled == 2);
	assert_non_null(strstr(world->failed, "is taken"));
	assert_int_equal(dial(AF_INET, taken6), -ECONNREFUSED);
	expect_list(world, "");
	fd_close(other);
	fd_close(other6);
	fd_close(server);
}

static void sbx_own_ports_are_not_published(void **state) {
	struct world *world = *state;
	const struct publisher_wish wanted = {.publication = {.port = OWN_PORT}};
	publisher_add(world->publisher, &wanted, on_settled, world);
	assert_int_equal(world->settled, 1);
	assert_non_null(strstr(world->failed, "sbx's own"));
	assert_int_equal(world->checks, 0);
}

static void an_ended_grant_ends_port_and_connections(void **state) {
	struct world *world = *state;
	static const int64_t other = 8, ours = 7;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	const uint16_t host_port = publish(world, port);
	CLEANUP_FD int client = dial(AF_INET, host_port);
	CLEANUP_FD int inside = accept_inside(world, server);
	assert_int_equal(send(client, "x", 1, 0), 1);
	expect_bytes(world, inside, "x");
	publisher_cut(world->publisher, &other, 1);
	assert_int_equal(world->reports, 0);
	/* at once, whatever a judge says later */
	publisher_cut(world->publisher, &ours, 1);
	assert_int_equal(world->reports, 1);
	assert_string_equal(world->error, "its grant has ended");
	assert_int_equal(dial(AF_INET, host_port), -ECONNREFUSED);
	assert_int_equal(how_it_ends(world, client), ECONNRESET);
	assert_int_equal(how_it_ends(world, inside), ECONNRESET);
	expect_list(world, "");
	world->saying_again = SAY_GONE;
	publisher_review(world->publisher);
	assert_int_equal(dial(AF_INET, host_port), -ECONNREFUSED);
	/* something else allows it: the same port again */
	world->saying_again = SAY_ALLOW;
	world->grant = 9;
	publisher_review(world->publisher);
	CLEANUP_FD int again = dial(AF_INET, host_port);
	CLEANUP_FD int second = accept_inside(world, server);
	assert_true(again >= 0 && second >= 0);
	static const int64_t newer = 9;
	publisher_cut(world->publisher, &newer, 1);
	world->saying_again = SAY_DENY;
	publisher_review(world->publisher);
	expect_list(world, "");
	/* it isn't found again by itself, as long as nothing that listens is published so */
	world->saying_again = SAY_ALLOW;
	publisher_review(world->publisher);
	expect_list(world, "");
	/* by name it is */
	assert_true(publish(world, port) > 0);
}

/* `sbx publish`: the grant that it was made with is what ends it. */
static void it_ends_with_the_grant_that_it_was_named_with(void **state) {
	struct world *world = *state;
	static const int64_t named = 21, other = 7;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	assert_true(server >= 0);
	const uint16_t first = publish(world, port);
	world->named = named;
	const uint16_t second = publish(world, port);
	publisher_cut(world->publisher, &named, 1);
	publisher_review(world->publisher); /* the other grant allows it still */
	assert_int_equal(dial(AF_INET, second), -ECONNREFUSED);
	CLEANUP_FD int client = dial(AF_INET, first);
	assert_true(client >= 0);
	publisher_cut(world->publisher, &other, 1);
	assert_int_equal(dial(AF_INET, first), -ECONNREFUSED);
}

static void new_rules_are_asked_and_a_missing_broker_changes_nothing(void **state) {
	struct world *world = *state;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	const uint16_t host_port = publish(world, port);
	CLEANUP_FD int client = dial(AF_INET, host_port);
	CLEANUP_FD int inside = accept_inside(world, server);
	world->saying_again = SAY_GONE;
	publisher_review(world->publisher);
	assert_int_equal(send(client, "y", 1, 0), 1);
	expect_bytes(world, inside, "y");
	world->saying_again = SAY_LATER;
	publisher_review(world->publisher);
	publisher_review(world->publisher); /* the first question is not the newest any more */
	assert_int_equal(world->cancels, 1);
	answer_held(world, SAY_DENY);
	assert_string_equal(world->error, "not allowed any more");
	assert_int_equal(how_it_ends(world, client), ECONNRESET);
	assert_int_equal(dial(AF_INET, host_port), -ECONNREFUSED);
}

static void an_answer_for_once_lasts_until_something_denies_it(void **state) {
	struct world *world = *state;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	assert_true(server >= 0);
	world->saying = SAY_ONCE;
	const uint16_t host_port = publish(world, port);
	world->saying_again = SAY_DENY; /* by `ask`: it would be asked */
	publisher_review(world->publisher);
	CLEANUP_FD int client = dial(AF_INET, host_port);
	assert_true(client >= 0);
}

static void what_listens_is_found_when_rules_say_so(void **state) {
	struct world *world = *state;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	world->listening[0] = port;
	world->listening[1] = OWN_PORT;
	world->listening_count = 2;
	publisher_stir(world->publisher);
	for (int i = 0; i < 20; i++) turn(world);
	assert_int_equal(world->checks, 0); /* nobody wants to know */
	publisher_follow(world->publisher, true);
	until(world->found == 1);
	assert_int_equal(world->checks, 1); /* not about sbx's own */
	assert_true(world->checked_found);
	/* the port itself is taken here, by the server: the next free one */
	assert_string_equal(world->failed, "");
	assert_int_equal(world->publication.port, port);
	assert_true(world->publication.host_port > port || world->publication.host_port > 1024);
	CLEANUP_FD int client = dial(AF_INET, world->publication.host_port);
	CLEANUP_FD int inside = accept_inside(world, server);
	assert_int_equal(send(inside, "found", 5, 0), 5);
	expect_bytes(world, client, "found");
	/* and not a second time */
	publisher_stir(world->publisher);
	for (int i = 0; i < 20; i++) turn(world);
	assert_int_equal(world->checks, 1);
}

static void what_was_denied_is_not_asked_about_again(void **state) {
	struct world *world = *state;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	world->listening[0] = port;
	world->listening_count = 1;
	world->saying = SAY_DENY;
	publisher_follow(world->publisher, true);
	until(world->checks == 1);
	for (int i = 0; i < 5; i++) {
		publisher_stir(world->publisher);
		turn(world);
	}
	assert_int_equal(world->checks, 1);
	assert_int_equal(world->found, 0); /* nothing is said */
	expect_list(world, "");
	/* a grant opens it without a question */
	world->saying_again = SAY_ALLOW;
	publisher_review(world->publisher);
	assert_int_equal(world->checks, 1);
	assert_int_equal(world->found, 1);
	CLEANUP_FD int client = dial(AF_INET, world->publication.host_port);
	assert_true(client >= 0);
	CLEANUP_FD int inside = accept_inside(world, server);
	assert_true(inside >= 0);
}

static void many_come_at_once_and_bytes_are_whole(void **state) {
	struct world *world = *state;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	const uint16_t host_port = publish(world, port);
	int clients[MANY], inside[MANY];
	for (int i = 0; i < MANY; i++) assert_true((clients[i] = dial(i % 2 ? AF_INET6 : AF_INET, host_port)) >= 0);
	for (int i = 0; i < MANY; i++) inside[i] = accept_inside(world, server);
	/* each byte comes out at some other end, none twice */
	for (int i = 0; i < MANY; i++) assert_int_equal(send(clients[i], &(unsigned char){(unsigned char)i}, 1, 0), 1);
	bool seen[256] = {false};
	for (int i = 0; i < MANY; i++) {
		unsigned char byte;
		until(recv(inside[i], &byte, 1, 0) == 1);
		assert_false(seen[byte]);
		seen[byte] = true;
	}
	/* a long one */
	CLEANUP_FREE char *bytes = mem_alloc(1, BYTES), *back = mem_alloc(1, BYTES);
	for (size_t i = 0; i < BYTES; i++) bytes[i] = (char)(i * 31 + i / 977);
	size_t sent = 0, got = 0;
	int to = clients[0], from = -1;
	assert_int_equal(send(to, "?", 1, 0), 1);
	for (int i = 0; from < 0;) {
		char byte;
		turn(world);
		if (recv(inside[i], &byte, 1, 0) == 1) from = inside[i];
		i = (i + 1) % MANY;
	}
	while (got < BYTES) {
		ssize_t n = sent < BYTES ? send(to, bytes + sent, BYTES - sent, MSG_NOSIGNAL) : -1;
		if (n > 0) sent += (size_t)n;
		turn(world);
		n = recv(from, back + got, BYTES - got, 0);
		assert_true(n != 0);
		if (n > 0) got += (size_t)n;
	}
	assert_memory_equal(bytes, back, BYTES);
	for (int i = 0; i < MANY; i++) {
		fd_close(clients[i]);
		fd_close(inside[i]);
	}
	until(world->reports == MANY);
}

/* N12: who connects and says nothing takes up no more than its share, and what comes when it has gone is served. */
static void attack_net_12_idle_connections_are_bounded(void **state) {
	struct world *world = *state;
	enum { TOO_MANY = MOST + 20 };
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	const uint16_t host_port = publish(world, port);
	int *clients = mem_array(int, TOO_MANY), *inside = mem_array(int, TOO_MANY);
	int reached = 0;
	for (int i = 0; i < TOO_MANY; i++) assert_true((clients[i] = dial(AF_INET, host_port)) >= 0);
	while (reached < MOST) inside[reached++] = accept_inside(world, server);
	for (int i = 0; i < 50; i++) turn(world);
	assert_int_equal(accept(server, NULL, NULL), -1);
	fd_close(clients[0]);
	fd_close(inside[0]);
	inside[0] = accept_inside(world, server);
	assert_true(inside[0] >= 0);
	for (int i = 1; i < TOO_MANY; i++) fd_close(clients[i]);
	for (int i = 0; i < reached; i++) fd_close(inside[i]);
	free(clients);
	free(inside);
}

/* What the cut connections leave free is for the other ports. */
static void a_cut_makes_room_for_others(void **state) {
	struct world *world = *state;
	static const int64_t first = 7;
	uint16_t port, other;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	CLEANUP_FD int second = server_on(AF_INET, &other);
	const uint16_t host_port = publish(world, port);
	world->grant = 8;
	const uint16_t other_host_port = publish(world, other);
	int clients[MOST], inside[MOST];
	for (int i = 0; i < MOST; i++) assert_true((clients[i] = dial(AF_INET, host_port)) >= 0);
	for (int i = 0; i < MOST; i++) inside[i] = accept_inside(world, server);
	CLEANUP_FD int waiting = dial(AF_INET, other_host_port);
	for (int i = 0; i < 50; i++) turn(world);
	assert_int_equal(accept(second, NULL, NULL), -1);
	publisher_cut(world->publisher, &first, 1);
	CLEANUP_FD int served = accept_inside(world, second);
	assert_int_equal(send(waiting, "at last", 7, 0), 7);
	expect_bytes(world, served, "at last");
	for (int i = 0; i < MOST; i++) {
		fd_close(clients[i]);
		fd_close(inside[i]);
	}
}

static void ports_that_are_asked_about_are_bounded(void **state) {
	struct world *world = *state;
	world->saying = SAY_LATER;
	publisher_follow(world->publisher, true);
	for (unsigned i = 0; i < LIMIT_LISTENING * 2; i++) {
		const unsigned checks = world->checks;
		world->listening[0] = (uint16_t)(20000 + i);
		world->listening_count = 1;
		publisher_stir(world->publisher);
		for (int k = 0; k < 5; k++) turn(world);
		assert_int_equal(world->checks, i < LIMIT_LISTENING ? checks + 1 : checks);
	}
	/* by name there is room all the same */
	world->saying = SAY_ALLOW;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	assert_true(server >= 0);
	assert_true(publish(world, port) > 0);
}

static void what_ends_with_the_sandbox_is_reported(void **state) {
	struct world *world = *state;
	uint16_t port;
	CLEANUP_FD int server = server_on(AF_INET, &port);
	CLEANUP_FD int client = dial(AF_INET, publish(world, port));
	CLEANUP_FD int inside = accept_inside(world, server);
	assert_true(client >= 0 && inside >= 0);
	const unsigned changes = world->changes;
	publisher_free(world->publisher);
	world->publisher = NULL;
	assert_int_equal(world->reports, 1);
	assert_int_equal(world->changes, changes);
	assert_string_equal(world->error, "the sandbox has ended");
}

/* All ends of many connections are in this process. */
static int raise_descriptors(void **state) {
	struct rlimit files;
	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files);
}

int main(void) {
#define PUBLISH_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		PUBLISH_TEST(a_connection_is_relayed_and_reported),
		PUBLISH_TEST(a_server_on_ipv6_alone_is_found),
		PUBLISH_TEST(without_a_server_it_is_a_reset),
		PUBLISH_TEST(a_denied_one_listens_nowhere),
		PUBLISH_TEST(a_taken_port_is_said),
		PUBLISH_TEST(sbx_own_ports_are_not_published),
		PUBLISH_TEST(an_ended_grant_ends_port_and_connections),
		PUBLISH_TEST(it_ends_with_the_grant_that_it_was_named_with),
		PUBLISH_TEST(new_rules_are_asked_and_a_missing_broker_changes_nothing),
		PUBLISH_TEST(an_answer_for_once_lasts_until_something_denies_it),
		PUBLISH_TEST(what_listens_is_found_when_rules_say_so),
		PUBLISH_TEST(what_was_denied_is_not_asked_about_again),
		PUBLISH_TEST(many_come_at_once_and_bytes_are_whole),
		PUBLISH_TEST(attack_net_12_idle_connections_are_bounded),
		PUBLISH_TEST(a_cut_makes_room_for_others),
		PUBLISH_TEST(ports_that_are_asked_about_are_bounded),
		PUBLISH_TEST(what_ends_with_the_sandbox_is_reported),
	};
	return cmocka_run_group_tests(tests, raise_descriptors, NULL);
}
