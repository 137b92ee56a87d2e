/* The HTTP door over real sockets: what is denied, fails, is held for an answer, is judged again and cut. */
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
#include "support/patience.h"
#include "wire.h"

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
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

static void count_denied(void *argument, const struct denied_target *item) {
	*(unsigned *)argument += item->count;
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

/* It is there for the next connection, and stays so. */
static void a_review_puts_nothing_on_an_unused_grant_for_one_use(void **state) {
	struct server *origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();

	(void)state;
	fixture_set_judge(fixture, FIXTURE_ALLOW_ONCE, 7, true);
	int once = open_tunnel(fixture, server_port(origin));
	fixture_set_judge(fixture, FIXTURE_ALLOW, 9, true);
	int granted = open_tunnel(fixture, server_port(origin));
	fixture_set_judge(fixture, FIXTURE_ALLOW_ONCE, 8, true);
	fixture_review(fixture);
	fixture_wait(fixture, again_reaches, 1);
	assert_int_equal(wire_read_end(granted), ECONNRESET);
	assert_int_equal(fixture_cut(fixture, 8), 0);
	assert_true(echoes(once));
	assert_int_equal(fixture_cut(fixture, 7), 1);
	assert_int_equal(wire_read_end(once), ECONNRESET);
	fd_close(once);
	fd_close(granted);
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

/* Then its request has gone through: the connection is a live one. */
static bool has_heard(struct origin_log *log) {
	CLEANUP_FREE char *text = origin_log_text(log);
	return *text != '\0';
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
	wait_until(has_heard(silent_log));
	assert_int_equal(fixture_cut(fixture, 7), 2);
	assert_int_equal(wire_read_end(fd), ECONNRESET);
	expect_response(waiting, "the grant for this connection has ended");
	fd_close(fd);
	fd_close(waiting);
	fixture_free(fixture);
	script_free(origin, log);
	script_free(mute, silent_log);
}

int main(void) {
	const struct CMUnitTest tests[] = {
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
		cmocka_unit_test(a_review_puts_nothing_on_an_unused_grant_for_one_use),
		cmocka_unit_test(a_review_binds_to_the_grant_that_holds_now),
		cmocka_unit_test(cutting_a_grant_ends_its_tunnels_at_once),
		cmocka_unit_test(cutting_a_grant_ends_kept_connections_and_asks_again),
		cmocka_unit_test(cutting_a_grant_ends_an_answer_half_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
