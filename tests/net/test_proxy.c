/* The HTTP door over real sockets: forwarding, keep-alive, tunnels, denials, holding, cutting. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "fixture.h"
#include "http_reply.h"
#include "script.h"
#include "support/cmocka.h"
#include "wire.h"

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static void contains(const char *text, const char *part) {
	if (!strstr(text, part)) fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void lacks(const char *text, const char *part) {
	if (strstr(text, part)) fail_msg("\"%s\" is in \"%s\"", part, text);
}

static void say_get(int fd, uint16_t port, const char *path) {
	wire_say(fd, "GET http://localhost:%d%s HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", port, path, port);
}

static void expect_response(int fd, const char *part) {
	CLEANUP_FREE char *response = wire_read_response(fd);

	contains(response, part);
}

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

static void serve_echo(int fd, void *argument) {
	char bytes[4096];
	ssize_t n;

	(void)argument;
	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) wire_send(fd, bytes, (size_t)n);
	wire_say(fd, "end");
}

static int open_tunnel(struct fixture *fixture, uint16_t port) {
	int fd = wire_dial(fixture_port(fixture));

	wire_say(fd, "CONNECT localhost:%d HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", port, port);
	CLEANUP_FREE char *head = wire_read_head(fd);
	contains(head, "HTTP/1.1 200 ");
	return fd;
}

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

/* Denied, failed, held, cut */

static void a_denial_says_why_and_how_to_allow(void **state) {
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	fixture_set_judge(fixture, FIXTURE_DENY, 0, false);
	for (int i = 0; i < 2; i++) { /* and the connection stays usable */
		wire_say(fd, "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n");
		CLEANUP_FREE char *response = wire_read_response(fd);
		contains(response, "HTTP/1.1 403 Forbidden\r\n");
		contains(response, "Content-Type: text/plain");
		contains(response, "evil.example:80 is not allowed: the test says so");
		contains(response, "sbx grant net:access evil.example:80 --profile test");
	}
	wire_say(fd, "CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\n");
	expect_response(fd, "sbx grant net:access '[2001:db8::1]:443' --profile test");
	wire_say(fd, "HEAD http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n");
	CLEANUP_FREE char *head = wire_read_head(fd);
	contains(head, "403");
	wire_say(fd, "POST http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 9\r\n\r\n");
	CLEANUP_FREE char *last = wire_read_all(fd, NULL); /* its body was not read, so it ends here */
	assert_ptr_equal(strstr(last, "HTTP/1.1 403"), last);
	contains(last, "Connection: close");
	assert_int_equal(fixture_counts(fixture).lookups, 0);
	fd_close(fd);
	fixture_free(fixture);
}

static void a_rules_denial_advises_no_grant(void **state) {
	char rule[] = "/etc/sbx/policy.d/a\x1b[31m.yaml:7", why[] = "why";
	struct verdict verdict = {.why = why, .rule = rule, .module = "rules"};
	struct gate_result result = {.outcome = GATE_DENIED, .verdict = &verdict, .target = "a:1", .message = why};
	struct http_reply denied = http_reply_result(&result, "test");

	(void)state;
	contains(denied.text, "the rule at /etc/sbx/policy.d/a\\x1b[31m.yaml:7");
	lacks(denied.text, "sbx grant");
	lacks(denied.text, "\x1b");
	http_reply_finish(&denied);
	memcpy(verdict.module, "protect", 8);
	denied = http_reply_result(&result, "test");
	assert_string_equal(denied.text, "sbx: a:1 is not allowed: why\n");
	http_reply_finish(&denied);
}

static void text_from_outside_is_escaped_in_replies(void **state) {
	char why[] = "a\r\nX: 1\x1b[2J\xe2\x80\xae"
		     "b";
	struct verdict verdict = {.module = "ask", .why = why};
	struct gate_result result = {.outcome = GATE_DENIED, .verdict = &verdict, .target = "a:1", .message = why};
	struct http_reply denied = http_reply_result(&result, "test");

	(void)state;
	contains(denied.text, "a\\r\\nX: 1\\x1b[2J\\u{202e}b");
	http_reply_finish(&denied);
	result.outcome = GATE_FAILED;
	result.code = ETIMEDOUT;
	struct http_reply late = http_reply_result(&result, "test");
	assert_int_equal(late.status, 504);
	lacks(late.text, "\x1b");
	http_reply_finish(&late);
}

static void failures_are_502_with_the_true_reason(void **state) {
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	say_get(fd, wire_closed_port(), "/");
	expect_response(fd, "Connection refused");
	wire_say(fd, "CONNECT nowhere.example:443 HTTP/1.1\r\n\r\n");
	CLEANUP_FREE char *response = wire_read_response(fd);
	contains(response, "HTTP/1.1 502 Bad Gateway");
	contains(response, "no connection to nowhere.example:443: the name can't be resolved");
	fd_close(fd);
	fixture_free(fixture);
}

static void a_held_request_goes_on_after_the_allow(void **state) {
	const struct script script = {.reply = OK_HELLO};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int held = wire_dial(fixture_port(fixture)), other = wire_dial(fixture_port(fixture));

	(void)state;
	fixture_set_judge(fixture, FIXTURE_HOLD, 0, false);
	wire_say(held, "POST http://localhost:%d/held HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbo",
		 server_port(origin));
	fixture_wait(fixture, checks_reach, 1);
	wire_say(held, "dy");
	usleep(100 * 1000);
	assert_int_equal(server_accepted(origin), 0);
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, false);
	say_get(other, server_port(origin), "/other"); /* one that waits holds up nobody */
	expect_response(other, "hello");
	fixture_answer_held(fixture, FIXTURE_ALLOW);
	expect_response(held, "hello");
	CLEANUP_FREE char *text = origin_log_text(log);
	contains(text, "Content-Length: 4\r\n\r\nbody");
	fd_close(held);
	fd_close(other);
	fixture_free(fixture);
	script_free(origin, log);
}

static void a_held_request_is_cancelled_when_its_client_dies(void **state) {
	static const char *const requests[] = {"GET http://held.example/ HTTP/1.1\r\nHost: held.example\r\n\r\n",
					       "CONNECT held.example:443 HTTP/1.1\r\n\r\nearly bytes"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(requests); i++) {
		struct fixture *fixture = fixture_new();
		int fd = i ? fixture_dial_unix(fixture) : wire_dial(fixture_port(fixture));

		fixture_set_judge(fixture, FIXTURE_HOLD, 0, false);
		wire_say(fd, "%s", requests[i]);
		fixture_wait(fixture, checks_reach, 1);
		assert_int_equal(fixture_counts(fixture).cancels, 0);
		fd_close(fd);
		fixture_wait(fixture, cancels_reach, 1);
		fixture_wait(fixture, clients_reach, 0);
		fixture_free(fixture);
	}
}

static void a_held_request_is_cancelled_when_its_client_resets(void **state) {
	const struct linger at_once = {.l_onoff = 1};
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	fixture_set_judge(fixture, FIXTURE_HOLD, 0, false);
	wire_say(fd, "CONNECT held.example:443 HTTP/1.1\r\n\r\nearly bytes");
	fixture_wait(fixture, checks_reach, 1);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	fd_close(fd);
	fixture_wait(fixture, cancels_reach, 1);
	fixture_wait(fixture, clients_reach, 0);
	fixture_free(fixture);
}

static void a_half_closed_client_gets_its_answer(void **state) {
	const struct script script = {.reply = OK_HELLO, .delay_ms = 700};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	say_get(fd, server_port(origin), "/");
	shutdown(fd, SHUT_WR);
	expect_response(fd, "hello");
	fd_close(fd);
	fixture_wait(fixture, clients_reach, 0);
	fixture_free(fixture);
	script_free(origin, log);
}

static bool echoes(int fd) {
	wire_say(fd, "still");
	CLEANUP_FREE char *echo = wire_read_bytes(fd, 5);
	return string_equal(echo, "still");
}

static void count_denied(void *argument, const char *target, unsigned count, const struct verdict *verdict) {
	(void)target, (void)verdict;
	*(unsigned *)argument += count;
}

static void do_count_denied(struct fixture *fixture, void *argument) {
	gate_each_denied(fixture_gate(fixture), count_denied, argument);
}

/* Waits for the answer, and for what comes of it: all on the loop's one thread. */
static void review(struct fixture *fixture, enum fixture_answer answer, unsigned again) {
	fixture_set_judge(fixture, answer, 0, false);
	fixture_review(fixture);
	fixture_wait(fixture, again_reaches, again);
}

static void a_review_cuts_what_is_not_allowed_any_more(void **state) {
	struct server *origin = server_new(serve_echo, NULL), *other_origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();
	int tunnels[3];
	unsigned denied = 0;

	(void)state;
	for (int i = 0; i < 3; i++) tunnels[i] = open_tunnel(fixture, server_port(i < 2 ? origin : other_origin));
	review(fixture, FIXTURE_ALLOW, 2); /* one question a target */
	review(fixture, FIXTURE_GONE, 3);  /* nobody to ask: no second question, and nothing is cut */
	for (int i = 0; i < 3; i++) assert_true(echoes(tunnels[i]));
	review(fixture, FIXTURE_DENY, 5);
	for (int i = 0; i < 3; i++) assert_int_equal(wire_read_end(tunnels[i]), ECONNRESET);
	fixture_wait(fixture, reports_reach, 3);
	assert_int_equal(fixture_counts(fixture).again, 5);
	assert_int_equal(fixture_counts(fixture).checks, 3);
	fixture_call(fixture, do_count_denied, &denied);
	assert_int_equal(denied, 0); /* the tool asked for nothing that was denied */
	for (int i = 0; i < 3; i++) fd_close(tunnels[i]);
	fixture_free(fixture);
	server_free(origin);
	server_free(other_origin);
}

static void a_review_cuts_a_kept_connection(void **state) {
	const struct script script = {.reply = OK_HELLO};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	for (int i = 0; i < 2; i++) {
		say_get(fd, server_port(origin), "/");
		expect_response(fd, "hello");
	}
	assert_int_equal(fixture_counts(fixture).checks, 1);
	review(fixture, FIXTURE_DENY, 1);
	fixture_wait(fixture, reports_reach, 1);
	say_get(fd, server_port(origin), "/");
	expect_response(fd, "403");
	assert_int_equal(fixture_counts(fixture).checks, 2);
	fd_close(fd);
	fixture_free(fixture);
	script_free(origin, log);
}

static void a_review_leaves_what_was_allowed_for_once(void **state) {
	struct server *origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();
	int once, granted;

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW_ONCE, 0, true);
	once = open_tunnel(fixture, server_port(origin));
	fixture_set_judge(fixture, FIXTURE_ALLOW, 7, true);
	granted = open_tunnel(fixture, server_port(origin));
	review(fixture, FIXTURE_DENY, 1);
	assert_int_equal(wire_read_end(granted), ECONNRESET);
	assert_true(echoes(once));
	review(fixture, FIXTURE_FORBID, 2);
	assert_int_equal(wire_read_end(once), ECONNRESET);
	fd_close(once);
	fd_close(granted);
	fixture_free(fixture);
	server_free(origin);
}

/* What is judged meanwhile may be judged by the old rules: the question is put again. */
static void a_review_that_begins_in_another_starts_anew(void **state) {
	struct server *origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();
	int tunnel = open_tunnel(fixture, server_port(origin));

	(void)state;
	review(fixture, FIXTURE_HOLD, 1);
	review(fixture, FIXTURE_DENY, 2);
	assert_int_equal(fixture_counts(fixture).cancels, 1);
	assert_int_equal(wire_read_end(tunnel), ECONNRESET);
	fd_close(tunnel);
	fixture_free(fixture);
	server_free(origin);
}

/* What holds after a review holds by what the judge said then. */
static void a_review_binds_to_the_grant_that_holds_now(void **state) {
	struct server *origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();
	int tunnel;

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW, 7, false);
	tunnel = open_tunnel(fixture, server_port(origin));
	fixture_set_judge(fixture, FIXTURE_ALLOW, 8, false);
	fixture_review(fixture);
	fixture_wait(fixture, again_reaches, 1);
	assert_int_equal(fixture_cut(fixture, 7), 0);
	assert_int_equal(fixture_cut(fixture, 8), 1);
	assert_int_equal(wire_read_end(tunnel), ECONNRESET);
	fd_close(tunnel);
	fixture_free(fixture);
	server_free(origin);
}

static void cutting_a_grant_ends_its_tunnels_at_once(void **state) {
	struct server *origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();
	int mine, other;

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW, 7, false);
	mine = open_tunnel(fixture, server_port(origin));
	fixture_set_judge(fixture, FIXTURE_ALLOW, 8, false);
	other = open_tunnel(fixture, server_port(origin));
	assert_int_equal(fixture_cut(fixture, 9), 0);
	assert_int_equal(fixture_cut(fixture, 7), 1);
	assert_int_equal(wire_read_end(mine), ECONNRESET);
	wire_say(other, "still");
	CLEANUP_FREE char *echo = wire_read_bytes(other, 5);
	assert_string_equal(echo, "still");
	assert_int_equal(fixture_counts(fixture).reports, 1);
	assert_string_equal(fixture_counts(fixture).error, "the grant has ended");
	assert_int_equal(fixture_cut(fixture, 7), 0);
	fd_close(mine);
	fd_close(other);
	fixture_free(fixture);
	server_free(origin);
}

static void cutting_a_grant_ends_kept_connections_and_asks_again(void **state) {
	const struct script script = {.reply = OK_HELLO};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW, 7, false);
	say_get(fd, server_port(origin), "/");
	expect_response(fd, "hello");
	assert_int_equal(fixture_cut(fixture, 7), 1);
	fixture_set_judge(fixture, FIXTURE_DENY, 0, false);
	say_get(fd, server_port(origin), "/");
	expect_response(fd, "403 Forbidden");
	assert_int_equal(fixture_counts(fixture).checks, 2);
	fd_close(fd);
	fixture_free(fixture);
	script_free(origin, log);
}

static void cutting_a_grant_ends_an_answer_half_way(void **state) {
	const struct script script = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"};
	const struct script silent = {.reply = ""};
	struct origin_log *log, *silent_log;
	struct server *origin = script_new(&script, &log), *mute = script_new(&silent, &silent_log);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture)), waiting = wire_dial(fixture_port(fixture));

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW, 7, false);
	say_get(fd, server_port(origin), "/");
	free(wire_read_head(fd));
	CLEANUP_FREE char *half = wire_read_bytes(fd, 4);
	assert_string_equal(half, "half");
	say_get(waiting, server_port(mute), "/");
	usleep(100 * 1000);
	assert_int_equal(fixture_cut(fixture, 7), 2);
	assert_int_equal(wire_read_end(fd), ECONNRESET);
	expect_response(waiting, "the grant for this connection has ended");
	fd_close(fd);
	fd_close(waiting);
	fixture_free(fixture);
	script_free(origin, log);
	script_free(mute, silent_log);
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
		cmocka_unit_test(a_denial_says_why_and_how_to_allow),
		cmocka_unit_test(a_rules_denial_advises_no_grant),
		cmocka_unit_test(text_from_outside_is_escaped_in_replies),
		cmocka_unit_test(failures_are_502_with_the_true_reason),
		cmocka_unit_test(a_held_request_goes_on_after_the_allow),
		cmocka_unit_test(a_held_request_is_cancelled_when_its_client_dies),
		cmocka_unit_test(a_held_request_is_cancelled_when_its_client_resets),
		cmocka_unit_test(a_half_closed_client_gets_its_answer),
		cmocka_unit_test(a_review_cuts_what_is_not_allowed_any_more),
		cmocka_unit_test(a_review_cuts_a_kept_connection),
		cmocka_unit_test(a_review_leaves_what_was_allowed_for_once),
		cmocka_unit_test(a_review_that_begins_in_another_starts_anew),
		cmocka_unit_test(a_review_binds_to_the_grant_that_holds_now),
		cmocka_unit_test(cutting_a_grant_ends_its_tunnels_at_once),
		cmocka_unit_test(cutting_a_grant_ends_kept_connections_and_asks_again),
		cmocka_unit_test(cutting_a_grant_ends_an_answer_half_way),
		cmocka_unit_test(a_closed_kept_connection_is_dialled_again),
		cmocka_unit_test(attack_net_04_bad_origins_give_502),
		cmocka_unit_test(an_answer_that_is_cut_off_does_not_look_whole),
		cmocka_unit_test(attack_net_04_bytes_that_nobody_asked_for_are_no_answer),
		cmocka_unit_test(the_unix_socket_tells_who_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
