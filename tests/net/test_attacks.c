/* Attacks on the proxy, with real bytes: rows N2 to N4 and N12 of the threat model. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "fixture.h"
#include "script.h"
#include "support/cmocka.h"
#include "support/memory_use.h"
#include "support/patience.h"
#include "wire.h"

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static void expect_status(int fd, const char *status) {
	CLEANUP_FREE char *response = wire_read_response(fd);

	if (strncmp(response, "HTTP/1.1 ", 9) != 0 || strncmp(response + 9, status, 3) != 0)
		fail_msg("%s was expected, this came: %s", status, response);
}

/* What the judge is asked for when a client names the host so; "" when it is not asked. */
static void judged_as(const char *format, const char *spelling, char ret_target[300]) {
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));
	CLEANUP_STRING struct string request = {0};

	fixture_set_judge(fixture, FIXTURE_DENY, 0, false);
	for (const char *c = format; *c; c++) {
		if (*c == '@')
			string_append(&request, spelling);
		else
			string_append_char(&request, *c);
	}
	wire_send(fd, request.data, request.size);
	shutdown(fd, SHUT_WR);
	CLEANUP_FREE char *response = wire_read_all(fd, NULL);
	assert_true(strncmp(response, "HTTP/1.1 40", 11) == 0);
	struct fixture_counts counts = fixture_counts(fixture);
	snprintf(ret_target, 300, "%s", counts.target);
	assert_int_equal(counts.checks, *ret_target != '\0');
	assert_int_equal(counts.lookups, 0);
	fd_close(fd);
	fixture_free(fixture);
}

static const char *const FORMS[] = {
	"GET http://@/ HTTP/1.1\r\nHost: @\r\n\r\n",
	"CONNECT @:80 HTTP/1.1\r\nHost: @:80\r\n\r\n",
};

static void attack_net_02_a_name_is_judged_whole(void **state) {
	static const char *const names[] = {"trusted.com.evil.com", "eviltrusted.com"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		for (size_t form = 0; form < ARRAY_LENGTH(FORMS); form++) {
			char target[300], expected[300];

			judged_as(FORMS[form], names[i], target);
			snprintf(expected, sizeof expected, "%s:80", names[i]);
			assert_string_equal(target, expected);
		}
}

static void attack_net_03_spellings_are_judged_as_one_host(void **state) {
	static const struct {
		const char *spelling, *target;
	} cases[] = {
		{"EXAMPLE.com", "example.com:80"},
		{"example.com.", "example.com:80"},
		{"XN--BCHER-KVA.example", "xn--bcher-kva.example:80"},
		{"127.0.0.1", "localhost:80"},
		{"[::1]", "[::1]:80"},
		{"[0:0::0001]", "[::1]:80"},
		{"[::ffff:127.0.0.1]", "localhost:80"},
		{"[::ffff:8.8.8.8]", "8.8.8.8:80"},
		{"a.localhost", "localhost:80"},
		{"[2001:DB8:0:0::1]", "[2001:db8::1]:80"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		for (size_t form = 0; form < ARRAY_LENGTH(FORMS); form++) {
			char target[300];

			judged_as(FORMS[form], cases[i].spelling, target);
			assert_string_equal(target, cases[i].target);
		}
}

static void attack_net_03_what_cant_be_normalised_gets_400(void **state) {
	static const char *const spellings[] = {
		"good.example%00.evil.example",
		"%67ood.example",
		"0x7f.1",
		"0177.0.0.1",
		"2130706433",
		"127.1",
		"[fe80::1%25lo]",
		"good..example",
		"\xc3\xbc.example",
		"good_example/\\evil",
		"::1",
		"[::1",
		"-evil.example",
		"*.example.com",
		"evil.example\tx",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(spellings); i++) {
		char target[300];

		judged_as("CONNECT @:80 HTTP/1.1\r\n\r\n", spellings[i], target);
		assert_string_equal(target, "");
	}
}

static void attack_net_04_ambiguous_requests_reach_nobody(void **state) {
#define HOST "localhost:@"
	static const char *const requests[] = {
		"GET http://" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\nHost: evil.example\r\n\r\n",
		"GET http://" HOST "/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"GET http://evil.example/ HTTP/1.1\r\nHost: " HOST "\r\n\r\n",
		"GET http://" HOST "/ HTTP/1.1\r\nHost: localhost:1\r\n\r\n",
		"GET http://user@" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\n\r\n",
		"CONNECT " HOST " HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
		"POST http://" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\nContent-Length: 6\r\nTransfer-Encoding: "
		"chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"POST http://" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\nTransfer-Encoding: chunked\r\nTransfer-encoding: "
		"identity\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
		"POST http://" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"POST http://" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"POST http://" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
		"POST http://" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\nContent-Length: 0\r\nContent-Length: 26\r\n\r\n"
		"GET /smuggled HTTP/1.1\r\n\r\n",
		"GET http://" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\nX: 1\r\n folded\r\n\r\n",
		"GET http://" HOST "/ HTTP/1.1\nHost: " HOST "\n\n",
		"GET http://" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\nX: \rGET /smuggled\r\n\r\n",
		"GET http://" HOST "/ HTTP/1.1\r\nHost: " HOST "\r\nConnection: host\r\n\r\n",
		"GET http://" HOST "/\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(requests); i++) {
		const struct script script = {.reply = OK_HELLO};
		struct origin_log *log;
		struct server *origin = script_new(&script, &log);
		struct fixture *fixture = fixture_new();
		int fd = wire_dial(fixture_port(fixture));

		for (const char *c = requests[i], *end; *c; c = *end ? end + 1 : end) {
			end = strchrnul(c, '@');
			bool is_port = *end && end > c && end[-1] == ':';

			wire_send(fd, c, (size_t)(end - c));
			if (*end) wire_say(fd, is_port ? "%d" : "@", server_port(origin));
		}
		expect_status(fd, "400");
		assert_int_equal(wire_read_end(fd), 0); /* nothing behind it is read as a request */
		assert_int_equal(fixture_counts(fixture).checks, 0);
		assert_int_equal(server_accepted(origin), 0);
		fd_close(fd);
		fixture_free(fixture);
		script_free(origin, log);
	}
}

static void attack_net_04_bad_chunks_end_the_request(void **state) {
	static const char *const bodies[] = {"ffffffffffffffff\r\nx", "5\r\nhelloGET / HTTP/1.1\r\n\r\n", "-1\r\n",
					     "1\nx", "0x5\r\nhello\r\n0\r\n\r\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bodies); i++) {
		const struct script script = {.reply = OK_HELLO};
		struct origin_log *log;
		struct server *origin = script_new(&script, &log);
		struct fixture *fixture = fixture_new();
		int fd = wire_dial(fixture_port(fixture));

		wire_say(
			fd,
			"POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%s",
			server_port(origin), bodies[i]);
		expect_status(fd, "400");
		fd_close(fd);
		fixture_free(fixture);
		CLEANUP_FREE char *text = origin_log_text(log);
		assert_null(strstr(text, "GET /"));
		script_free(origin, log);
	}
}

static void attack_net_12_a_big_header_gets_431(void **state) {
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));
	size_t size = 1024 * 1024;
	CLEANUP_FREE char *big = mem_alloc(size, 1);

	(void)state;
	memset(big, 'x', size);
	wire_say(fd, "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: ");
	wire_send(fd, big, size);
	expect_status(fd, "431");
	fd_close(fd);
	fixture_wait(fixture, clients_reach, 0);
	fixture_free(fixture);
}

static void attack_net_12_slow_loris_meets_the_deadline(void **state) {
	const struct script script = {.reply = OK_HELLO};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	int fd, other;

	(void)state;
	fixture_set_limits(fixture, (struct proxy_limits){.connections = 100,
							  .handshake_ms = 1000,
							  .idle_ms = PATIENCE_MS,
							  .leaving_ms = 100,
							  .closing_ms = 100});
	fd = wire_dial(fixture_port(fixture));
	other = wire_dial(fixture_port(fixture));
	wire_say(other, "GET http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\n\r\n", server_port(origin));
	wire_say(fd, "GET http://a/ HTTP/1.1\r\n");
	for (int i = 0; i < 24; i++) { /* a byte now and then doesn't buy time */
		wire_say(fd, "x");
		usleep(50 * 1000);
	}
	assert_int_equal(wire_read_end(fd) == 0 || wire_read_end(fd) == ECONNRESET, 1);
	expect_status(other, "200");
	usleep(1200 * 1000); /* idle between requests is another matter */
	wire_say(other, "GET http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\n\r\n", server_port(origin));
	expect_status(other, "200");
	fd_close(fd);
	fd_close(other);
	fixture_free(fixture);
	script_free(origin, log);
}

static void attack_net_12_ten_thousand_half_open_ones_keep_nobody_out(void **state) {
	enum { HALF_OPEN = 10 * 1000, AT_ONCE = 1000 };
	static int fds[AT_ONCE];
	const struct script script = {.reply = OK_HELLO};
	struct origin_log *log;
	struct server *origin = script_new(&script, &log);
	struct fixture *fixture = fixture_new();
	struct rlimit files;
	int busy;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	fixture_set_limits(fixture, (struct proxy_limits){.connections = 200,
							  .handshake_ms = 30000,
							  .idle_ms = 30000,
							  .leaving_ms = 100,
							  .closing_ms = 100});
	busy = wire_dial(fixture_port(fixture));
	fixture_set_judge(fixture, FIXTURE_HOLD, 0, false);
	wire_say(busy, "GET http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\n\r\n", server_port(origin));
	fixture_wait(fixture, checks_reach, 1);
	fixture_set_judge(fixture, FIXTURE_ALLOW, 0, false);
	for (int i = 0; i < HALF_OPEN; i++) {
		if (i >= AT_ONCE) fd_close(fds[i % AT_ONCE]);
		fds[i % AT_ONCE] = wire_dial(fixture_port(fixture));
		wire_say(fds[i % AT_ONCE], "GET http");
		if (i % AT_ONCE) continue;
		int fd = wire_dial(fixture_port(fixture));
		wire_say(fd, "GET http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\n\r\n", server_port(origin));
		expect_status(fd, "200");
		fd_close(fd);
	}
	assert_true(fixture_counts(fixture).clients <= 200);
	fixture_answer_held(fixture, FIXTURE_ALLOW); /* the one under way was not thrown out */
	expect_status(busy, "200");
	for (int i = 0; i < AT_ONCE; i++) fd_close(fds[i]);
	fd_close(busy);
	fixture_wait(fixture, clients_reach, 0);
	fixture_free(fixture);
	script_free(origin, log);
}

static void serve_nothing(int fd, void *argument) {
	int *stop = argument;
	char byte;

	(void)fd;
	(void)!read(*stop, &byte, 1); /* until the test closes it */
}

static void attack_net_12_an_endless_body_stays_with_its_sender(void **state) {
	int stop[2];
	assert_int_equal(pipe(stop), 0);
	struct server *origin = server_new(serve_nothing, &stop[0]);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));
	CLEANUP_FREE char *chunk = mem_alloc(65536, 1);
	const long before = memory_use_kib();
	size_t sent = 0;
	ssize_t n;

	(void)state;
	wire_say(fd, "POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
		 server_port(origin));
	wire_say(fd, "7ffffffffff\r\n");
	for (int idle = 0; idle < 20;) {
		if ((n = send(fd, chunk, 65536, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0) {
			sent += (size_t)n;
			idle = 0;
			continue;
		}
		idle++;
		usleep(10 * 1000);
	}
	assert_true(sent < 64 * 1024 * 1024); /* the sockets' buffers, and then no more */
	assert_true(memory_use_stayed(before, memory_use_kib(), 4 * 1024));
	fd_close(fd);
	fd_close(stop[1]); /* the origin gives up, and nothing is left of either */
	fixture_wait(fixture, clients_reach, 0);
	fixture_free(fixture);
	server_free(origin);
	fd_close(stop[0]);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_net_02_a_name_is_judged_whole),
		cmocka_unit_test(attack_net_03_spellings_are_judged_as_one_host),
		cmocka_unit_test(attack_net_03_what_cant_be_normalised_gets_400),
		cmocka_unit_test(attack_net_04_ambiguous_requests_reach_nobody),
		cmocka_unit_test(attack_net_04_bad_chunks_end_the_request),
		cmocka_unit_test(attack_net_12_a_big_header_gets_431),
		cmocka_unit_test(attack_net_12_slow_loris_meets_the_deadline),
		cmocka_unit_test(attack_net_12_ten_thousand_half_open_ones_keep_nobody_out),
		cmocka_unit_test(attack_net_12_an_endless_body_stays_with_its_sender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
