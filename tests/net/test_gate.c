/* The gate without a door: verdicts, names, addresses, connections and their end. */
#include <arpa/inet.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "fixture.h"
#include "net/parse/address.h"
#include "support/patience.h"
#include "wire.h"

static void serve_until_end(int fd, void *argument) {
	(void)argument;
	free(wire_read_all(fd, NULL));
}

struct opened {
	const char *target;
	bool datagrams;
	struct gate_call *call;
	sem_t done;
	enum gate_outcome outcome;
	int code;
	int fd;
	char module[24];
	char message[300];
};

static void on_done(void *argument, const struct gate_result *result) {
	struct opened *opened = argument;

	opened->outcome = result->outcome;
	opened->code = result->code;
	opened->fd = result->fd;
	snprintf(opened->module, sizeof opened->module, "%s", result->verdict->module);
	snprintf(opened->message, sizeof opened->message, "%s", result->message);
	assert_string_equal(result->target, opened->target);
	sem_post(&opened->done);
}

static void do_open(struct fixture *fixture, void *argument) {
	struct opened *opened = argument;
	struct host host;
	const struct gate_caller caller = {.process = "test (1)"};
	uint16_t port;
	int value;

	assert_int_equal(host_port_parse(opened->target, strlen(opened->target), &host, &port, NULL), 0);
	opened->call = (opened->datagrams ? gate_open_datagrams : gate_open)(fixture_gate(fixture), &host, port,
									     &caller, on_done, opened);
	sem_getvalue(&opened->done, &value);
	assert_int_equal(value, 0); /* never from inside gate_open */
}

static void open_start(struct fixture *fixture, struct opened *opened, const char *target) {
	*opened = (struct opened){.target = target, .fd = -1};
	sem_init(&opened->done, 0, 0);
	fixture_call(fixture, do_open, opened);
}

/* *opened has the socket then. */
static void open_wait_connected(struct opened *opened) {
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_MS / 1000;
	if (sem_timedwait(&opened->done, &until) < 0) fail_msg("%s: no answer", opened->target);
}

static void open_wait(struct opened *opened) {
	open_wait_connected(opened);
	fd_close(opened->fd);
}

static struct opened open_and_wait(struct fixture *fixture, const char *target) {
	struct opened opened;

	open_start(fixture, &opened, target);
	open_wait(&opened);
	return opened;
}

static int64_t took_to_open(struct fixture *fixture, const char *target) {
	int64_t began = now_ms();

	assert_int_equal(open_and_wait(fixture, target).outcome, GATE_CONNECTED);
	return now_ms() - began;
}

static void datagrams_go_to_the_first_address_with_a_route(void **state) {
	struct fixture *fixture = fixture_new();
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct opened opened = {.fd = -1, .datagrams = true};
	char target[100], got[8];

	(void)state;
	assert_int_equal(bind(server, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);
	snprintf(target, sizeof target, "udp.example:%d", ntohs(address.sin_port));
	opened.target = target;
	sem_init(&opened.done, 0, 0);
	fixture_set_name(fixture, "udp.example", "127.0.0.1");
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, true);
	fixture_call(fixture, do_open, &opened);
	open_wait_connected(&opened);
	assert_int_equal(opened.outcome, GATE_CONNECTED);
	assert_int_equal(send(opened.fd, "hello", 5, 0), 5);
	assert_int_equal(recv(server, got, sizeof got, 0), 5);
	fd_close(opened.fd);
	fd_close(server);
	fixture_free(fixture);
}

static void attack_net_06_datagrams_to_special_addresses_need_the_rule_too(void **state) {
	struct fixture *fixture = fixture_new();
	struct opened opened = {.target = "udp.example:53", .fd = -1, .datagrams = true};

	(void)state;
	sem_init(&opened.done, 0, 0);
	fixture_set_name(fixture, "udp.example", "169.254.169.254");
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, false);
	fixture_call(fixture, do_open, &opened);
	open_wait(&opened);
	assert_int_equal(opened.outcome, GATE_DENIED);
	assert_string_equal(opened.module, "private");
	fixture_free(fixture);
}

static void attack_net_06_a_name_leads_to_no_address_that_is_denied(void **state) {
	static const char *const routes[] = {"resolver", "hosts"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture *fixture = fixture_new();
		struct opened opened;

		fixture_set_judge(fixture, FIXTURE_ALLOW, 7, true);
		fixture_deny_address(fixture, "127.0.0.9:9");
		if (string_equal(routes[i], "hosts"))
			fixture_set_host(fixture, "db.example", "127.0.0.9");
		else
			fixture_set_name(fixture, "db.example", "127.0.0.9");
		opened = open_and_wait(fixture, "db.example:9");
		assert_int_equal(opened.outcome, GATE_DENIED);
		assert_string_equal(opened.module, "rules");
		assert_string_equal(opened.message, "db.example leads to 127.0.0.9:9: the test denies it");
		assert_int_equal(fixture_counts(fixture).refusals, 1);
		fixture_free(fixture);
	}
}

static void of_several_addresses_one_that_is_not_denied_is_taken(void **state) {
	struct fixture *fixture = fixture_new();
	struct server *server = server_new(serve_until_end, NULL);
	const unsigned port = server_port(server);
	CLEANUP_FREE char *target = string_format("db.example:%u", port), *denied = string_format("127.0.0.9:%u", port);

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, true);
	fixture_set_name(fixture, "db.example", "127.0.0.9,127.0.0.1");
	fixture_deny_address(fixture, denied);
	assert_int_equal(open_and_wait(fixture, target).outcome, GATE_CONNECTED);
	assert_int_equal(fixture_counts(fixture).addresses, 2);
	server_free(server);
	fixture_free(fixture);
}

static void attack_net_01_an_unset_verdict_denies(void **state) {
	const struct verdict verdict = {0};

	(void)state;
	assert_int_equal(verdict.effect, EFFECT_DENY);
}

static void attack_net_05_a_denied_name_is_never_looked_up(void **state) {
	struct fixture *fixture = fixture_new();
	struct server *server = server_new(serve_until_end, NULL);
	char target[100];

	(void)state;
	fixture_set_name(fixture, "secret-data.evil.example", "127.0.0.1");
	fixture_set_judge(fixture, FIXTURE_DENY, 0, true);
	snprintf(target, sizeof target, "secret-data.evil.example:%d", server_port(server));
	for (int i = 0; i < 20; i++) assert_int_equal(open_and_wait(fixture, target).outcome, GATE_DENIED);
	assert_int_equal(fixture_counts(fixture).checks, 20);
	assert_int_equal(fixture_counts(fixture).lookups, 0);
	assert_int_equal(server_accepted(server), 0);
	fixture_free(fixture);
	server_free(server);
}

static void attack_net_05_an_undecided_name_is_looked_up_after_the_allow(void **state) {
	struct fixture *fixture = fixture_new();
	struct server *server = server_new(serve_until_end, NULL);
	struct opened opened;
	char target[100];

	(void)state;
	fixture_set_name(fixture, "held.example", "127.0.0.1");
	fixture_set_judge(fixture, FIXTURE_HOLD, 0, true);
	snprintf(target, sizeof target, "held.example:%d", server_port(server));
	open_start(fixture, &opened, target);
	usleep(100 * 1000);
	assert_int_equal(fixture_counts(fixture).lookups, 0);
	assert_int_equal(server_accepted(server), 0);
	fixture_answer_held(fixture, FIXTURE_ALLOW);
	open_wait(&opened);
	assert_int_equal(opened.outcome, GATE_CONNECTED);
	assert_int_equal(fixture_counts(fixture).lookups, 1);
	fixture_free(fixture);
	server_free(server);
}

static void attack_net_06_a_name_must_not_lead_to_special_addresses(void **state) {
	static const char *const addresses[] = {"127.0.0.1",
						"127.1.2.3",
						"169.254.169.254",
						"10.0.0.1",
						"172.16.0.1",
						"192.168.1.1",
						"100.64.0.1",
						"0.0.0.0",
						"198.18.0.1",
						"::1",
						"::",
						"fe80::1",
						"fd00:ec2::254",
						"::ffff:127.0.0.1",
						"::ffff:10.0.0.1",
						"64:ff9b::127.0.0.1",
						"64:ff9b::a00:1",
						"2002:7f00:1::",
						"10.0.0.1,127.0.0.1"};
	struct server *server = server_new(serve_until_end, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		struct fixture *fixture = fixture_new();
		struct opened opened;
		char target[100];

		fixture_set_name(fixture, "rebind.example", addresses[i]);
		snprintf(target, sizeof target, "rebind.example:%d", server_port(server));
		opened = open_and_wait(fixture, target);
		if (opened.outcome != GATE_DENIED) fail_msg("%s was dialled", addresses[i]);
		assert_string_equal(opened.module, "private");
		assert_non_null(strstr(opened.message, "private: true"));
		fixture_free(fixture);
	}
	assert_int_equal(server_accepted(server), 0);
	server_free(server);
}

static void attack_net_06_public_addresses_remain_beside_private_ones(void **state) {
	static const uint8_t public[4] = {8, 8, 8, 8}, private[4] = {10, 0, 0, 1};
	struct addresses addresses = {0};
	struct address removed;
	char text[ADDRESS_TEXT_SIZE];

	(void)state;
	addresses_add_ipv4(&addresses, private);
	addresses_add_ipv4(&addresses, public);
	assert_int_equal(addresses_remove_private(&addresses, &removed), 1);
	assert_int_equal(addresses.count, 1);
	address_format(&addresses.items[0], text);
	assert_string_equal(text, "8.8.8.8");
	address_format(&removed, text);
	assert_string_equal(text, "10.0.0.1");
}

static void attack_net_06_an_address_in_figures_needs_the_rule_too(void **state) {
	struct fixture *fixture = fixture_new();

	(void)state;
	assert_int_equal(open_and_wait(fixture, "169.254.169.254:80").outcome, GATE_DENIED);
	assert_int_equal(open_and_wait(fixture, "[fd00::1]:80").outcome, GATE_DENIED);
	assert_int_equal(open_and_wait(fixture, "127.0.0.2:1").outcome, GATE_DENIED);
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, true);
	struct opened opened = open_and_wait(fixture, "127.0.0.2:1");
	assert_int_equal(opened.outcome, GATE_FAILED);
	assert_int_equal(opened.code, ECONNREFUSED);
	fixture_free(fixture);
}

static void private_addresses_open_by_rule_hosts_and_localhost(void **state) {
	struct fixture *fixture = fixture_new();
	struct server *server = server_new(serve_until_end, NULL);
	char target[100];

	(void)state;
	fixture_set_name(fixture, "intern.example", "127.0.0.1");
	snprintf(target, sizeof target, "intern.example:%d", server_port(server));
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, true);
	assert_int_equal(open_and_wait(fixture, target).outcome, GATE_CONNECTED);
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, false);
	assert_int_equal(open_and_wait(fixture, target).outcome, GATE_DENIED);
	fixture_set_host(fixture, "Given.Example.", "127.0.0.1");
	snprintf(target, sizeof target, "given.example:%d", server_port(server));
	assert_int_equal(open_and_wait(fixture, target).outcome, GATE_CONNECTED);
	snprintf(target, sizeof target, "localhost:%d", server_port(server));
	assert_int_equal(open_and_wait(fixture, target).outcome, GATE_CONNECTED);
	assert_int_equal(fixture_counts(fixture).lookups, 2); /* hosts: and localhost ask nobody */
	fixture_free(fixture);
	server_free(server);
}

static void attack_net_06_a_star_does_not_open_localhost(void **state) {
	struct fixture *fixture = fixture_new();
	struct server *server = server_new(serve_until_end, NULL);
	char target[100];

	(void)state;
	snprintf(target, sizeof target, "localhost:%d", server_port(server));
	fixture_set_judge(fixture, FIXTURE_ALLOW_STAR, 0, false);
	struct opened opened = open_and_wait(fixture, target);
	assert_int_equal(opened.outcome, GATE_DENIED);
	assert_string_equal(opened.module, "private");
	fixture_free(fixture);
	server_free(server);
}

static void the_true_error_is_told(void **state) {
	struct fixture *fixture = fixture_new();
	struct opened opened;
	char target[100];

	(void)state;
	snprintf(target, sizeof target, "localhost:%d", wire_closed_port());
	opened = open_and_wait(fixture, target);
	assert_int_equal(opened.outcome, GATE_FAILED);
	assert_int_equal(opened.code, ECONNREFUSED);
	opened = open_and_wait(fixture, "nowhere.example:80");
	assert_int_equal(opened.outcome, GATE_FAILED);
	assert_int_equal(opened.code, EHOSTUNREACH);
	assert_non_null(strstr(opened.message, "can't be resolved"));
	fixture_free(fixture);
}

/* A listener whose queue is full answers no further SYN: connecting to it hangs. */
static int black_hole(const char *address_text, uint16_t port, int fillers[2]) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address_text, &address.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(fd, 0), 0);
	for (int i = 0; i < 2; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(fillers[i], (struct sockaddr *)&address, sizeof address);
	}
	return fd;
}

static void an_address_that_hangs_is_overtaken_after_250_ms(void **state) {
	struct fixture *fixture = fixture_new();
	struct server *server = server_new(serve_until_end, NULL);
	int fillers[2];
	int hole = black_hole("127.0.0.2", server_port(server), fillers);
	char target[100];

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, true);
	fixture_set_name(fixture, "two.example", "127.0.0.2,127.0.0.1");
	fixture_set_name(fixture, "refused.example", "127.0.0.3,127.0.0.4,127.0.0.5,127.0.0.1");
	snprintf(target, sizeof target, "two.example:%d", server_port(server));
	assert_true(took_to_open(fixture, target) > 200);
	assert_once_below(2000, took_to_open(fixture, target));
	/* those that refuse are passed over at once */
	snprintf(target, sizeof target, "refused.example:%d", server_port(server));
	assert_once_below(200, took_to_open(fixture, target));
	fixture_free(fixture);
	server_free(server);
	close(hole);
	close(fillers[0]);
	close(fillers[1]);
}

static void families_alternate_from_the_first_ones(void **state) {
	static const uint8_t four[3][4] = {{1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
	static const uint8_t six[2][16] = {{0x26, [15] = 1}, {0x26, [15] = 2}};
	static const char *const expected[] = {"2600::1", "1.1.1.1", "2600::2", "2.2.2.2", "3.3.3.3"};
	struct addresses addresses = {0};
	char text[ADDRESS_TEXT_SIZE];

	(void)state;
	for (int i = 0; i < 2; i++) addresses_add_ipv6(&addresses, six[i]);
	for (int i = 0; i < 3; i++) addresses_add_ipv4(&addresses, four[i]);
	addresses_interleave(&addresses);
	for (size_t i = 0; i < 5; i++) {
		address_format(&addresses.items[i], text);
		assert_string_equal(text, expected[i]);
	}
	for (int i = 0; i < 100; i++) addresses_add_ipv4(&addresses, four[0]);
	assert_int_equal(addresses.count, LIMIT_ADDRESSES);
}

/* In one turn of the loop: a name that can't be resolved is answered very soon. */
static void do_open_and_cancel(struct fixture *fixture, void *argument) {
	struct opened *opened = argument;
	do_open(fixture, opened);
	gate_cancel(opened->call);
}

static void do_cancel(struct fixture *fixture, void *argument) {
	(void)fixture;
	gate_cancel(argument);
}

static void a_cancelled_call_is_never_answered(void **state) {
	struct fixture *fixture = fixture_new();
	struct opened opened;

	(void)state;
	fixture_set_judge(fixture, FIXTURE_HOLD, 0, false);
	open_start(fixture, &opened, "held.example:80");
	fixture_call(fixture, do_cancel, opened.call);
	assert_int_equal(fixture_counts(fixture).cancels, 1);
	fixture_answer_held(fixture, FIXTURE_ALLOW);
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, false);
	opened = (struct opened){.target = "lookup.example:80", .fd = -1}; /* judged at once: nothing to cancel there */
	sem_init(&opened.done, 0, 0);
	fixture_call(fixture, do_open_and_cancel, &opened);
	usleep(50 * 1000);
	assert_int_equal(sem_trywait(&opened.done), -1);
	assert_int_equal(fixture_counts(fixture).cancels, 1);
	fixture_free(fixture);
}

static void a_grant_that_ends_stops_a_call_on_its_way(void **state) {
	struct fixture *fixture = fixture_new();
	struct server *server = server_new(serve_until_end, NULL);
	struct opened opened;
	int fillers[2];
	int hole = black_hole("127.0.0.2", server_port(server), fillers);
	char target[100];

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW, 7, true);
	fixture_set_name(fixture, "slow.example", "127.0.0.2");
	snprintf(target, sizeof target, "slow.example:%d", server_port(server));
	open_start(fixture, &opened, target);
	fixture_wait(fixture, lookups_reach, 1);
	assert_int_equal(fixture_cut(fixture, 8), 0);
	wait_until(fixture_cut(fixture, 7) == 1);
	open_wait(&opened);
	assert_int_equal(opened.outcome, GATE_DENIED);
	assert_non_null(strstr(opened.message, "ended"));
	fixture_free(fixture);
	server_free(server);
	close(hole);
	close(fillers[0]);
	close(fillers[1]);
}

static void a_review_stops_a_call_on_its_way(void **state) {
	struct fixture *fixture = fixture_new();
	struct server *server = server_new(serve_until_end, NULL);
	struct opened opened;
	int fillers[2];
	int hole = black_hole("127.0.0.2", server_port(server), fillers);
	char target[100];

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, true);
	fixture_set_name(fixture, "slow.example", "127.0.0.2");
	snprintf(target, sizeof target, "slow.example:%d", server_port(server));
	open_start(fixture, &opened, target);
	wait_until((fixture_review(fixture), fixture_counts(fixture).again >= 1)); /* from when it is connecting on */
	assert_int_equal(sem_trywait(&opened.done), -1);
	fixture_set_judge(fixture, FIXTURE_DENY, 0, false);
	fixture_review(fixture);
	open_wait(&opened);
	assert_int_equal(opened.outcome, GATE_DENIED);
	assert_string_equal(opened.module, "ask");
	assert_int_equal(fixture_counts(fixture).checks, 1);
	fixture_free(fixture);
	server_free(server);
	close(hole);
	close(fillers[0]);
	close(fillers[1]);
}

/* As a connection that lives does. */
static void a_call_on_its_way_rests_on_what_allowed_it_last(void **state) {
	struct fixture *fixture = fixture_new();
	struct server *server = server_new(serve_until_end, NULL);
	struct opened opened;
	int fillers[2];
	int hole = black_hole("127.0.0.2", server_port(server), fillers);
	char target[100];

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW, 7, true);
	fixture_set_name(fixture, "slow.example", "127.0.0.2");
	snprintf(target, sizeof target, "slow.example:%d", server_port(server));
	open_start(fixture, &opened, target);
	fixture_wait(fixture, lookups_reach, 1);
	fixture_set_judge(fixture, FIXTURE_ALLOW, 9, true);
	wait_until((fixture_review(fixture), fixture_counts(fixture).again >= 1));
	wait_until(fixture_cut(fixture, 9) == 1);
	open_wait(&opened);
	assert_int_equal(opened.outcome, GATE_DENIED);
	fixture_free(fixture);
	server_free(server);
	close(hole);
	close(fillers[0]);
	close(fillers[1]);
}

static void on_denied(void *argument, const struct denied_target *item) {
	char *text = argument;
	size_t size = strlen(text);

	snprintf(text + size, 300 - size, "%s %u %s; ", item->target, item->count, item->verdict.module);
}

static void do_each_denied(struct fixture *fixture, void *argument) {
	gate_each_denied(fixture_gate(fixture), on_denied, argument);
}

static void denied_targets_are_listed_once_in_order(void **state) {
	struct fixture *fixture = fixture_new();
	char text[300] = "";

	(void)state;
	fixture_set_judge(fixture, FIXTURE_DENY, 0, false);
	open_and_wait(fixture, "b.example:80");
	open_and_wait(fixture, "a.example:443");
	open_and_wait(fixture, "b.example:80");
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, false);
	open_and_wait(fixture, "10.0.0.1:80");
	fixture_call(fixture, do_each_denied, text);
	assert_string_equal(text, "b.example:80 2 ask; a.example:443 1 ask; 10.0.0.1:80 1 private; ");
	fixture_free(fixture);
}

/* More names at once than there are resolver threads. */
static void many_names_resolve_at_once(void **state) {
	enum { MANY = 60 };
	static struct opened opened[MANY];
	static char targets[MANY][40];
	struct fixture *fixture = fixture_new();

	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(targets[i], sizeof targets[i], "nowhere%d.example:80", i);
		open_start(fixture, &opened[i], targets[i]);
	}
	for (int i = 0; i < MANY; i++) {
		open_wait(&opened[i]);
		assert_int_equal(opened[i].code, EHOSTUNREACH);
	}
	assert_int_equal(fixture_counts(fixture).lookups, MANY);
	fixture_free(fixture);
}

static void do_cancel_opened(struct fixture *fixture, void *argument) {
	(void)fixture;
	gate_cancel(((struct opened *)argument)->call);
}

/* However many connect to a name that is being looked up, whoever of them leaves meanwhile. */
static void a_name_is_looked_up_once_for_all_who_wait_for_it(void **state) {
	enum { MANY = 40 };
	static struct opened opened[MANY];
	struct fixture *fixture = fixture_new();
	struct server *server = server_new(serve_until_end, NULL);
	char target[100];

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, true);
	fixture_set_name(fixture, "slow.example", "127.0.0.1");
	fixture_hold_names(fixture, true);
	snprintf(target, sizeof target, "slow.example:%d", server_port(server));
	for (int i = 0; i < MANY; i++) open_start(fixture, &opened[i], target);
	fixture_wait(fixture, lookups_reach, 1);
	for (int i = 0; i < MANY; i += 4) fixture_call(fixture, do_cancel_opened, &opened[i]);
	fixture_hold_names(fixture, false);
	for (int i = 0; i < MANY; i++) {
		if (i % 4 == 0) continue;
		open_wait(&opened[i]);
		assert_int_equal(opened[i].outcome, GATE_CONNECTED);
	}
	assert_int_equal(fixture_counts(fixture).lookups, 1);
	open_and_wait(fixture, target); /* later it may be another: it is asked again */
	assert_int_equal(fixture_counts(fixture).lookups, 2);
	/* All who wait may leave. */
	fixture_hold_names(fixture, true);
	open_start(fixture, &opened[0], target);
	open_start(fixture, &opened[1], target);
	fixture_wait(fixture, lookups_reach, 3);
	fixture_call(fixture, do_cancel_opened, &opened[0]);
	fixture_call(fixture, do_cancel_opened, &opened[1]);
	fixture_free(fixture);
	server_free(server);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams_go_to_the_first_address_with_a_route),
		cmocka_unit_test(attack_net_06_datagrams_to_special_addresses_need_the_rule_too),
		cmocka_unit_test(attack_net_06_a_name_leads_to_no_address_that_is_denied),
		cmocka_unit_test(of_several_addresses_one_that_is_not_denied_is_taken),
		cmocka_unit_test(attack_net_01_an_unset_verdict_denies),
		cmocka_unit_test(attack_net_05_a_denied_name_is_never_looked_up),
		cmocka_unit_test(attack_net_05_an_undecided_name_is_looked_up_after_the_allow),
		cmocka_unit_test(attack_net_06_a_name_must_not_lead_to_special_addresses),
		cmocka_unit_test(attack_net_06_public_addresses_remain_beside_private_ones),
		cmocka_unit_test(attack_net_06_an_address_in_figures_needs_the_rule_too),
		cmocka_unit_test(private_addresses_open_by_rule_hosts_and_localhost),
		cmocka_unit_test(attack_net_06_a_star_does_not_open_localhost),
		cmocka_unit_test(the_true_error_is_told),
		cmocka_unit_test(an_address_that_hangs_is_overtaken_after_250_ms),
		cmocka_unit_test(families_alternate_from_the_first_ones),
		cmocka_unit_test(a_cancelled_call_is_never_answered),
		cmocka_unit_test(a_grant_that_ends_stops_a_call_on_its_way),
		cmocka_unit_test(a_review_stops_a_call_on_its_way),
		cmocka_unit_test(a_call_on_its_way_rests_on_what_allowed_it_last),
		cmocka_unit_test(denied_targets_are_listed_once_in_order),
		cmocka_unit_test(many_names_resolve_at_once),
		cmocka_unit_test(a_name_is_looked_up_once_for_all_who_wait_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
