/* The HTTP door over real sockets: forwarding, keep-alive, tunnels, origins that misbehave. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "dialog.h"
#include "fixture.h"
#include "net/doors/http_reply.h"
#include "script.h"
#include "support/cmocka.h"
#include "wire.h"

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
static void a_kept_connection_is_judged_and_dialled_once(void **state) {
	const struct script script = {.reply = OK_HELLO};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	for (int i = 0; i < 5; i++) {
		say_get(fd, server_port(origin), "/x");
		expect_response(fd, "\r\n\r\nhello");
	}
	assert_int_equal(server_accepted(origin), 1);
	assert_int_equal(fixture_counts(fixture).checks, 1);
	fd_close(fd);
	fixture_wait(fixture, reports_reach, 1);
	assert_string_equal(fixture_counts(fixture).door, "http");
	assert_int_equal(fixture_counts(fixture).received, 5 * strlen(OK_HELLO));
	fixture_wait(fixture, clients_reach, 0);
	CLEANUP_FREE char *text = origin_log_text(log);
	contains(text, "GET /x HTTP/1.1\r\nHost: localhost:");
	fixture_free(fixture);
	script_free(origin, log);
}

static void requests_may_come_all_at_once(void **state) {
	const struct script script = {.reply = OK_HELLO};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	for (int i = 0; i < 50; i++) say_get(fd, server_port(origin), "/");
	for (int i = 0; i < 50; i++) expect_response(fd, "hello");
	assert_int_equal(server_accepted(origin), 1);
	fd_close(fd);
	fixture_free(fixture);
	script_free(origin, log);
}

static void another_host_is_judged_anew(void **state) {
	const struct script script = {.reply = OK_HELLO};
	struct origin_log *log, *other_log;
	struct server *origin = script_new(&script, &log), *other = script_new(&script, &other_log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	say_get(fd, server_port(origin), "/");
	expect_response(fd, "hello");
	fixture_set_judge(fixture, FIXTURE_DENY, 0, false);
	say_get(fd, server_port(other), "/");
	expect_response(fd, "403 Forbidden");
	say_get(fd, server_port(origin), "/");
	expect_response(fd, "403 Forbidden"); /* the kept one was given up for the other */
	assert_int_equal(fixture_counts(fixture).checks, 3);
	assert_int_equal(server_accepted(other), 0);
	fd_close(fd);
	fixture_free(fixture);
	script_free(origin, log);
	script_free(other, other_log);
}

static void bodies_go_both_ways_in_any_framing(void **state) {
	static const struct {
		const char *request, *seen, *reply, *answer;
	} cases[] = {
		{"Content-Length: 3\r\n\r\nabc", "Content-Length: 3\r\n\r\nabc", OK_HELLO, "\r\n\r\nhello"},
		{"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\n",
		 "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a\r\nhello\r\n0\r\nT: 1\r\n\r\n",
		 "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
		{"\r\n", "", "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n"},
		{"\r\n", "", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "Content-Length: 9\r\n"},
		{"\r\n", "", "HTTP/1.1 200 OK\r\n\r\nuntil the end", "Connection: close\r\n\r\nuntil the end"},
		{"\r\n", "", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
		 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"},
		{"\r\n", "", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK_HELLO,
		 "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct script script = {.reply = cases[i].reply, .per_connection = 1};
		struct origin_log *log;
		struct server *origin = script_new(&script, &log);
		struct fixture *fixture = fixture_new();
		int fd = wire_dial(fixture_port(fixture));

		wire_say(fd, "POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n%s",
			 server_port(origin), server_port(origin), cases[i].request);
		CLEANUP_FREE char *answer = wire_read_all(fd, NULL);
		contains(answer, cases[i].answer);
		CLEANUP_FREE char *text = origin_log_text(log);
		contains(text, cases[i].seen);
		fd_close(fd);
		fixture_free(fixture);
		script_free(origin, log);
	}
}

static void a_head_request_has_no_body(void **state) {
	const struct script script = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	for (int i = 0; i < 2; i++) {
		wire_say(fd, "HEAD http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\n\r\n", server_port(origin));
		CLEANUP_FREE char *head = wire_read_head(fd);
		contains(head, "Content-Length: 5");
	}
	fd_close(fd);
	fixture_free(fixture);
	script_free(origin, log);
}

static void an_http_1_0_client_gets_no_chunks(void **state) {
	const struct script script = {
		.reply = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
			 "\r\n\r\n5\r\nhello\r\n0\r\n\r\n"};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	wire_say(fd, "GET http://localhost:%d/ HTTP/1.0\r\n\r\n", server_port(origin));
	CLEANUP_FREE char *answer = wire_read_all(fd, NULL);
	assert_string_equal(answer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
	fd_close(fd);
	fixture_free(fixture);
	script_free(origin, log);
}

static void serve_expectation(int fd, void *argument) {
	CLEANUP_FREE char *head = wire_read_head(fd);

	(void)argument;
	assert_non_null(strstr(head, "Expect: 100-continue"));
	wire_say(fd, "HTTP/1.1 100 Continue\r\n\r\n");
	CLEANUP_FREE char *body = wire_read_bytes(fd, 5);
	wire_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n%s", body);
	usleep(100 * 1000);
}

static void a_body_can_wait_for_100_continue(void **state) {
	struct server *origin = server_new(serve_expectation, NULL);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	wire_say(fd,
		 "PUT http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
		 "5\r\n\r\n",
		 server_port(origin));
	CLEANUP_FREE char *interim = wire_read_head(fd);
	assert_string_equal(interim, "HTTP/1.1 100 Continue\r\n\r\n");
	wire_say(fd, "abcde");
	expect_response(fd, "\r\n\r\nabcde");
	fd_close(fd);
	fixture_free(fixture);
	server_free(origin);
}

static void an_early_answer_reaches_a_client_that_still_sends(void **state) {
	const struct script script = {
		.reply = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno",
		.per_connection = 1,
		.ignore_body = true};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));
	CLEANUP_FREE char *zeros = mem_alloc(1024 * 1024, 1);

	(void)state;
	wire_say(fd, "PUT http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000000\r\n\r\n",
		 server_port(origin));
	wire_send(fd, zeros, 1024 * 1024);
	CLEANUP_FREE char *answer = wire_read_all(fd, NULL);
	contains(answer, "413 Too Large");
	contains(answer, "Connection: close");
	fd_close(fd);
	fixture_wait(fixture, clients_reach, 0);
	fixture_free(fixture);
	script_free(origin, log);
}

static void a_websocket_passes_through(void **state) {
	const struct script script = {.reply = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "
					       "websocket\r\n\r\n\x81\x05hello"};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	wire_say(fd,
		 "GET ws://localhost:%d/chat HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: "
		 "websocket\r\n\r\n",
		 server_port(origin));
	CLEANUP_FREE char *head = wire_read_head(fd);
	contains(head, "101 Switching Protocols");
	contains(head, "Upgrade: websocket");
	CLEANUP_FREE char *frame = wire_read_bytes(fd, 7);
	assert_memory_equal(frame, "\x81\x05hello", 7);
	wire_say(fd, "raw\r\n\r\n");
	CLEANUP_FREE char *again = wire_read_head(fd); /* the script answers raw bytes, too */
	contains(again, "101 Switching Protocols");
	fd_close(fd);
	fixture_free(fixture);
	script_free(origin, log);
}

/* Tunnels */

static void a_tunnel_carries_bytes_and_half_closes(void **state) {
	struct server *origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();
	int fd = open_tunnel(fixture, server_port(origin));

	(void)state;
	for (int i = 0; i < 100; i++) {
		wire_say(fd, "ping%03d", i);
		CLEANUP_FREE char *echo = wire_read_bytes(fd, 7);
		assert_memory_equal(echo, "ping", 4);
	}
	shutdown(fd, SHUT_WR);
	CLEANUP_FREE char *rest = wire_read_all(fd, NULL);
	assert_string_equal(rest, "end");
	fd_close(fd);
	fixture_wait(fixture, reports_reach, 1);
	assert_string_equal(fixture_counts(fixture).door, "connect");
	assert_string_equal(fixture_counts(fixture).error, "");
	assert_int_equal(fixture_counts(fixture).sent, 700);
	fixture_wait(fixture, clients_reach, 0);
	fixture_free(fixture);
	server_free(origin);
}

static void bytes_sent_before_the_tunnel_stands_are_not_lost(void **state) {
	struct server *origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	fixture_set_judge(fixture, FIXTURE_HOLD, 0, false);
	wire_say(fd, "CONNECT localhost:%d HTTP/1.1\r\n\r\nearly", server_port(origin));
	fixture_wait(fixture, checks_reach, 1);
	wire_say(fd, " and later");
	fixture_answer_held(fixture, FIXTURE_ALLOW);
	CLEANUP_FREE char *head = wire_read_head(fd);
	contains(head, "HTTP/1.1 200 ");
	CLEANUP_FREE char *echo = wire_read_bytes(fd, strlen("early and later"));
	assert_string_equal(echo, "early and later");
	fd_close(fd);
	fixture_free(fixture);
	server_free(origin);
}

static void serve_reset(int fd, void *argument) {
	const struct linger at_once = {.l_onoff = 1};

	(void)argument;
	free(wire_read_bytes(fd, 1));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void a_reset_in_a_tunnel_is_a_reset(void **state) {
	struct server *origin = server_new(serve_reset, NULL);
	struct fixture *fixture = fixture_new();
	int fd = open_tunnel(fixture, server_port(origin));

	(void)state;
	wire_say(fd, "x");
	assert_int_equal(wire_read_end(fd), ECONNRESET);
	fd_close(fd);
	fixture_wait(fixture, reports_reach, 1);
	assert_string_equal(fixture_counts(fixture).error, strerror(ECONNRESET));
	fixture_free(fixture);
	server_free(origin);
}

/* Origins that misbehave */

static void a_closed_kept_connection_is_dialled_again(void **state) {
	const struct script script = {.reply = OK_HELLO, .per_connection = 1};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	for (int i = 0; i < 10; i++) { /* without pause: the close and the next request cross */
		say_get(fd, server_port(origin), "/");
		expect_response(fd, "hello");
	}
	assert_int_equal(server_accepted(origin), 10);
	fd_close(fd);
	fixture_free(fixture);
	script_free(origin, log);
}

static void attack_net_04_bad_origins_give_502(void **state) {
	static const struct script scripts[] = {
		{.reply = "no HTTP at all\r\n\r\n", .per_connection = 1},
		{.reply = "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", .per_connection = 1},
		{.reply = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		 .per_connection = 1},
		{.reply = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
		 .per_connection = 1},
		{.reply = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", .per_connection = 1},
		{.reply = "HTTP/1.1 200 OK\r\nConte", .per_connection = 1},
		{.reply = "", .per_connection = 1},
		{.reply = "", .per_connection = 1, .reset = true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) {
		struct origin_log *log;
		struct server *origin = script_new(&scripts[i], &log);
		struct fixture *fixture = fixture_new();
		int fd = wire_dial(fixture_port(fixture));

		say_get(fd, server_port(origin), "/");
		CLEANUP_FREE char *response = wire_read_response(fd);
		if (!strstr(response, "HTTP/1.1 502 Bad Gateway")) fail_msg("%zu: %s", i, response);
		lacks(response, "hello");
		fd_close(fd);
		fixture_free(fixture);
		script_free(origin, log);
	}
}

static void an_answer_that_is_cut_off_does_not_look_whole(void **state) {
	static const struct script scripts[] = {
		{.reply = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", .per_connection = 1},
		{.reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", .per_connection = 1},
		{.reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nxyz\r\n",
		 .per_connection = 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) {
		struct origin_log *log;
		struct server *origin = script_new(&scripts[i], &log);
		struct fixture *fixture = fixture_new();
		int fd = wire_dial(fixture_port(fixture));

		say_get(fd, server_port(origin), "/");
		free(wire_read_head(fd));
		CLEANUP_FREE char *rest = wire_read_all(fd, NULL);
		lacks(rest, "\r\n0\r\n");
		fd_close(fd);
		fixture_free(fixture);
		script_free(origin, log);
	}
}

static void attack_net_04_bytes_that_nobody_asked_for_are_no_answer(void **state) {
	const struct script script = {.reply = OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	for (int i = 0; i < 3; i++) {
		say_get(fd, server_port(origin), "/");
		expect_response(fd, "hello");
	}
	assert_int_equal(server_accepted(origin), 3);
	fd_close(fd);
	fixture_free(fixture);
	script_free(origin, log);
}

static void the_unix_socket_tells_who_asks(void **state) {
	struct fixture *fixture = fixture_new();
	int fd = fixture_dial_unix(fixture);
	char expected[100];

	(void)state;
	fixture_set_judge(fixture, FIXTURE_DENY, 0, false);
	wire_say(fd, "CONNECT a.example:443 HTTP/1.1\r\n\r\n");
	expect_response(fd, "403");
	snprintf(expected, sizeof expected, "test_net_proxy (%d)", getpid());
	assert_string_equal(fixture_counts(fixture).process, expected);
	fd_close(fd);
	fixture_free(fixture);
}
int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kept_connection_is_judged_and_dialled_once),
		cmocka_unit_test(requests_may_come_all_at_once),
		cmocka_unit_test(another_host_is_judged_anew),
		cmocka_unit_test(bodies_go_both_ways_in_any_framing),
		cmocka_unit_test(a_head_request_has_no_body),
		cmocka_unit_test(an_http_1_0_client_gets_no_chunks),
		cmocka_unit_test(a_body_can_wait_for_100_continue),
		cmocka_unit_test(an_early_answer_reaches_a_client_that_still_sends),
		cmocka_unit_test(a_websocket_passes_through),
		cmocka_unit_test(a_tunnel_carries_bytes_and_half_closes),
		cmocka_unit_test(bytes_sent_before_the_tunnel_stands_are_not_lost),
		cmocka_unit_test(a_reset_in_a_tunnel_is_a_reset),
		cmocka_unit_test(a_closed_kept_connection_is_dialled_again),
		cmocka_unit_test(attack_net_04_bad_origins_give_502),
		cmocka_unit_test(an_answer_that_is_cut_off_does_not_look_whole),
		cmocka_unit_test(attack_net_04_bytes_that_nobody_asked_for_are_no_answer),
		cmocka_unit_test(the_unix_socket_tells_who_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
