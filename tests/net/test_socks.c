/* The SOCKS door: the parser as a pure function, and the whole over real sockets. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "fixture.h"
#include "net/parse/socks_head.h"
#include "support/cmocka.h"
#include "wire.h"

static void requests_are_parsed_whole_or_not_at_all(void **state) {
	static const struct {
		const char *bytes;
		size_t size;
		const char *host;
		uint16_t port;
	} cases[] = {
		{"\5\1\0\1\x08\x08\x04\x04\x01\xbb", 10, "8.8.4.4", 443},
		{"\5\1\0\3\x0b"
		 "Example.COM\0\x50",
		 18, "example.com", 80},
		{"\5\1\0\3\x09"
		 "127.0.0.1\0\x50",
		 16, "localhost", 80},
		{"\5\1\0\4\x26\6\x47\0\0\0\0\0\0\0\0\0\0\0\x11\x11\0\x35", 22, "2606:4700::1111", 53},
		{"\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1\0\x35", 22, "10.0.0.1", 53},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct host host;
		uint16_t port = 0;
		enum socks_code code = SOCKS_FAILED;
		const uint8_t *bytes = (const uint8_t *)cases[i].bytes;

		for (size_t size = 0; size < cases[i].size; size++)
			assert_int_equal(socks_request_parse(bytes, size, &host, &port, &code), 0);
		assert_int_equal(socks_request_parse(bytes, cases[i].size, &host, &port, &code), cases[i].size);
		assert_int_equal(code, SOCKS_SUCCEEDED);
		assert_string_equal(host.name, cases[i].host);
		assert_int_equal(port, cases[i].port);
	}
}

static void bad_requests_get_their_code(void **state) {
	static const struct {
		const char *bytes;
		size_t size;
		enum socks_code code;
	} cases[] = {
		{"\5\2\0\1\1\1\1\1\0\x50", 10, SOCKS_COMMAND_UNKNOWN}, /* BIND */
		{"\5\3\0\1\1\1\1\1\0\x50", 10, SOCKS_COMMAND_UNKNOWN}, /* UDP ASSOCIATE */
		{"\5\x7f\0\1\1\1\1\1\0\x50", 10, SOCKS_COMMAND_UNKNOWN},
		{"\5\1\0\2\1\1\1\1\0\x50", 10, SOCKS_ADDRESS_UNKNOWN},
		{"\5\1\0\1\1\1\1\1\0\0", 10, SOCKS_FAILED}, /* port 0 */
		{"\5\1\0\3\0\0\x50", 7, SOCKS_FAILED},
		{"\5\1\0\3\x08"
		 "good\0bad\0\x50",
		 15, SOCKS_FAILED},
		{"\5\1\0\3\x0a"
		 "2130706433\0\x50",
		 17, SOCKS_FAILED},
		{"\5\1\0\3\x06"
		 "u@good\0\x50",
		 13, SOCKS_FAILED},
		{"\5\1\0\3\x06"
		 "a\r\nb:1\0\x50",
		 13, SOCKS_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct host host;
		uint16_t port;
		enum socks_code code = SOCKS_SUCCEEDED;

		assert_int_equal(
			socks_request_parse((const uint8_t *)cases[i].bytes, cases[i].size, &host, &port, &code),
			cases[i].size);
		assert_int_equal(code, cases[i].code);
	}
	assert_int_equal(socks_request_parse((const uint8_t *)"\4", 1, NULL, NULL, NULL), -EBADMSG);
	assert_int_equal(socks_request_parse((const uint8_t *)"\5\1\1\1\1\1\1\1\0\x50", 10, NULL, NULL, NULL),
			 -EBADMSG);
}

static void serve_echo(int fd, void *argument) {
	char bytes[4096];
	ssize_t n;

	(void)argument;
	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) wire_send(fd, bytes, (size_t)n);
}

static void send_request(int fd, const char *name, uint16_t port) {
	uint8_t bytes[300] = {5, 1, 0, 3, (uint8_t)strlen(name)};
	size_t size = 5;

	for (const char *c = name; *c; c++) bytes[size++] = (uint8_t)*c;
	bytes[size++] = (uint8_t)(port >> 8);
	bytes[size++] = (uint8_t)(port & 0xff);
	wire_send(fd, bytes, size);
}

/* Greets, asks for name:port and returns the reply's code. */
static int ask(int fd, const char *name, uint16_t port) {
	wire_send(fd, "\5\2\0\2", 4);
	CLEANUP_FREE char *method = wire_read_bytes(fd, 2);
	assert_memory_equal(method, "\5\0", 2);
	send_request(fd, name, port);
	CLEANUP_FREE char *reply = wire_read_bytes(fd, 10);
	assert_int_equal(reply[0], 5);
	return reply[1];
}

static void a_connection_by_name_carries_bytes(void **state) {
	struct server *origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();
	int fd = wire_dial(fixture_port(fixture));

	(void)state;
	fixture_set_host(fixture, "svc.test", "127.0.0.1");
	assert_int_equal(ask(fd, "SVC.test.", server_port(origin)), SOCKS_SUCCEEDED);
	wire_say(fd, "hello");
	CLEANUP_FREE char *echo = wire_read_bytes(fd, 5);
	assert_string_equal(echo, "hello");
	assert_int_equal(strncmp(fixture_counts(fixture).target, "svc.test:", 9), 0);
	fd_close(fd);
	fixture_wait(fixture, reports_reach, 1);
	assert_string_equal(fixture_counts(fixture).door, "socks");
	fixture_free(fixture);
	server_free(origin);
}

static void all_messages_may_come_at_once_or_byte_by_byte(void **state) {
	struct server *origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();
	uint8_t bytes[] = "\5\1\0\5\1\0\3\11localhost\0\0early";
	size_t size = sizeof bytes - 1;

	(void)state;
	bytes[size - 7] = (uint8_t)(server_port(origin) >> 8);
	bytes[size - 6] = (uint8_t)(server_port(origin) & 0xff);
	for (int slow = 0; slow < 2; slow++) {
		int fd = wire_dial(fixture_port(fixture));

		for (size_t i = 0; slow && i < size; i++) {
			wire_send(fd, bytes + i, 1);
			usleep(2000);
		}
		if (!slow) wire_send(fd, bytes, size);
		CLEANUP_FREE char *replies = wire_read_bytes(fd, 2 + 10 + 5);
		assert_memory_equal(replies, "\5\0\5\0\0\1", 6);
		assert_memory_equal(replies + 12, "early", 5);
		fd_close(fd);
	}
	fixture_free(fixture);
	server_free(origin);
}

static void replies_tell_the_reason(void **state) {
	static const struct {
		const char *name;
		enum fixture_answer answer;
		enum socks_code code;
	} cases[] = {
		{"localhost", FIXTURE_DENY, SOCKS_NOT_ALLOWED},
		{"localhost", FIXTURE_ALLOW, SOCKS_REFUSED},
		{"nowhere.example", FIXTURE_ALLOW, SOCKS_HOST_UNREACHABLE},
		{"169.254.169.254", FIXTURE_ALLOW, SOCKS_NOT_ALLOWED},
		{"0x7f.1", FIXTURE_ALLOW, SOCKS_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct fixture *fixture = fixture_new();
		int fd = wire_dial(fixture_port(fixture));

		fixture_set_judge(fixture, cases[i].answer, 0, false);
		assert_int_equal(ask(fd, cases[i].name, wire_closed_port()), cases[i].code);
		assert_int_equal(wire_read_end(fd), 0);
		fd_close(fd);
		fixture_free(fixture);
	}
}

static void other_versions_and_methods_are_refused(void **state) {
	static const struct {
		const char *bytes;
		size_t size;
		const char *reply;
		size_t reply_size;
	} cases[] = {
		{"\4\1\0\x50\x7f\0\0\1user\0", 13, "\0\x5b\0\0\0\0\0\0", 8}, /* SOCKS4 */
		{"\5\1\2", 3, "\5\xff", 2},                                  /* user and password alone */
		{"\5\0", 2, "", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct fixture *fixture = fixture_new();
		int fd = wire_dial(fixture_port(fixture));
		size_t size;

		wire_send(fd, cases[i].bytes, cases[i].size);
		CLEANUP_FREE char *reply = wire_read_all(fd, &size);
		assert_int_equal(size, cases[i].reply_size);
		assert_memory_equal(reply, cases[i].reply, size);
		assert_int_equal(fixture_counts(fixture).checks, 0);
		fd_close(fd);
		fixture_wait(fixture, clients_reach, 0);
		fixture_free(fixture);
	}
}

static void a_held_one_waits_is_cancelled_and_cut(void **state) {
	struct server *origin = server_new(serve_echo, NULL);
	struct fixture *fixture = fixture_new();
	int gone = wire_dial(fixture_port(fixture)), stays = wire_dial(fixture_port(fixture));

	(void)state;
	fixture_set_judge(fixture, FIXTURE_HOLD, 7, false);
	wire_send(gone, "\5\1\0", 3);
	send_request(gone, "localhost", server_port(origin));
	fixture_wait(fixture, checks_reach, 1);
	fd_close(gone);
	fixture_wait(fixture, cancels_reach, 1);
	wire_send(stays, "\5\1\0", 3);
	send_request(stays, "localhost", server_port(origin));
	fixture_wait(fixture, checks_reach, 2);
	fixture_answer_held(fixture, FIXTURE_ALLOW);
	CLEANUP_FREE char *replies = wire_read_bytes(stays, 12);
	assert_memory_equal(replies, "\5\0\5\0", 4);
	assert_int_equal(fixture_cut(fixture, 7), 1);
	assert_int_equal(wire_read_end(stays), ECONNRESET);
	fd_close(stays);
	fixture_free(fixture);
	server_free(origin);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_parsed_whole_or_not_at_all),
		cmocka_unit_test(bad_requests_get_their_code),
		cmocka_unit_test(a_connection_by_name_carries_bytes),
		cmocka_unit_test(all_messages_may_come_at_once_or_byte_by_byte),
		cmocka_unit_test(replies_tell_the_reason),
		cmocka_unit_test(other_versions_and_methods_are_refused),
		cmocka_unit_test(a_held_one_waits_is_cancelled_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
