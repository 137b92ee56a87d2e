/* runner/net: what tools and origins say, and requests through a gate and a proxy. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../net/fixture.h"
#include "base/fd.h"
#include "base/string.h"
#include "net/dns/records.h"
#include "net/dns/standins.h"
#include "net/parse/address.h"
#include "net/parse/http_request.h"
#include "net/parse/http_response.h"
#include "net/parse/socks_head.h"
#include "unit.h"

static void use_requests(void) {
	static const char *const heads[] = {
		"GET http://svc.test:81/a?b HTTP/1.1\r\nHost: svc.test:81\r\nConnection: x\r\nX: 1\r\nAccept: "
		"*\r\n\r\n",
		"POST http://svc.test/ HTTP/1.1\r\nHost: svc.test\r\nContent-Length: 3\r\n\r\n",
		"CONNECT svc.test:443 HTTP/1.1\r\nHost: svc.test:443\r\n\r\n",
		"GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
		"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nTransfer-Encoding: "
		"chunked\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET http://a.test/ HTTP/1.1\r\nHost : a\r\n\r\n",
	};
	for (size_t i = 0; i < ARRAY_LENGTH(heads); i++) {
		static struct http_head head;
		struct http_request request;
		struct error error = ERROR_NONE;
		CLEANUP_STRING struct string out = {0};
		size_t scanned = 0;
		long size = http_head_scan(heads[i], strlen(heads[i]), &scanned, &error);
		if (unit_failed((int)size, &error)) continue;
		if (unit_failed(http_request_head_parse(heads[i], (size_t)size, &head, &error), &error)) continue;
		if (unit_failed(http_request_read(&head, &request, &error), &error)) continue;
		if (!request.tunnel) http_request_write(&head, &request, &out);
		unit_tell("tunnel %d %s", request.tunnel, out.data ? out.data : "");
	}
}

static void use_responses(void) {
	static const char *const heads[] = {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n",
					    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n",
					    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n"};
	static const char chunks[] = "5;x=y\r\nhello\r\n0\r\nTrailer: t\r\n\r\n";
	const struct http_request request = {0};
	for (size_t i = 0; i < ARRAY_LENGTH(heads); i++) {
		static struct http_head head;
		struct http_response response;
		struct error error = ERROR_NONE;
		CLEANUP_STRING struct string out = {0};
		if (unit_failed(http_response_head_parse(heads[i], strlen(heads[i]), &head, &error), &error)) continue;
		if (unit_failed(http_response_read(&head, &request, &response, &error), &error)) continue;
		http_response_write(&head, &response, response.framing, true, &out);
		unit_tell("%s", out.data);
	}
	struct http_body body = http_body_begin(HTTP_FRAMING_CHUNKED, 0);
	struct error error = ERROR_NONE;
	CLEANUP_STRING struct string payload = {0};
	for (size_t used = 0; used < sizeof chunks - 1 && !http_body_is_done(&body);) {
		struct slice part = {0};
		long n = http_body_step(&body, chunks + used, sizeof chunks - 1 - used, &part, &error);
		if (unit_failed((int)n, &error)) return;
		slice_append(&payload, part);
		used += (size_t)n;
	}
	unit_tell("%s, done %d", payload.data, http_body_is_done(&body));
}

static void use_socks(void) {
	static const uint8_t greeting[] = {5, 1, 0}, named[] = {5, 1, 0, 3, 4, 'a', '.', 'b', 'c', 1, 187},
			     numbered[] = {5, 1, 0, 1, 10, 0, 0, 1, 0, 80}, wrong[] = {5, 2, 0, 1, 10, 0, 0, 1, 0, 80};
	const struct {
		const uint8_t *bytes;
		size_t size;
	} requests[] = {{named, sizeof named}, {numbered, sizeof numbered}, {wrong, sizeof wrong}};
	bool open = false;
	unit_tell("%d %d", socks_greeting_parse(greeting, sizeof greeting, &open), open);
	for (size_t i = 0; i < ARRAY_LENGTH(requests); i++) {
		struct host host = {0};
		uint16_t port = 0;
		enum socks_code code = SOCKS_FAILED;
		int r = socks_request_parse(requests[i].bytes, requests[i].size, &host, &port, &code);
		CLEANUP_FREE char *text =
			r > 0 && code == SOCKS_SUCCEEDED ? host_port_format(&host, port) : string_copy("");
		unit_tell("%d %d %s", r, code, text);
	}
}

static void use_addresses(void) {
	static const char *const texts[] = {"10.0.0.1", "1.0.0.1", "127.0.0.1", "9.0.0.7"};
	struct addresses addresses = {0};
	struct address removed;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		uint8_t bytes[4];
		if (inet_pton(AF_INET, texts[i], bytes) == 1) addresses_add_ipv4(&addresses, bytes);
	}
	addresses_add_ipv6(&addresses, (const uint8_t[16]){0x2a, 1, [15] = 1});
	addresses_interleave(&addresses);
	unit_tell("%zu are private", addresses_remove_private(&addresses, &removed));
	for (size_t i = 0; i < addresses.count; i++) {
		char text[ADDRESS_TEXT_SIZE];
		address_format(&addresses.items[i], text);
		CLEANUP_FREE char *copy = string_copy(text);
		unit_tell("%s", copy);
	}
}

static void use_names(void) {
	static const char *const names[] = {"a.test", "b.test", "A.Test.", "127.0.0.1", "c.test"};
	static const uint8_t answer[] = "\0\1\x81\x80\0\1\0\2\0\0\0\0\1x\0\0\20\0\1"
					"\xc0\x0c\0\20\0\1\0\0\0\2\0\6\5hello"
					"\xc0\x0c\0\20\0\1\0\0\0\2\0\4\3you";
	struct standins *standins = standins_new();
	struct dns_records records = {.count = 0};
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct host host;
		struct sockaddr_storage address;
		struct error error = ERROR_NONE;
		uint32_t index = 0;
		if (unit_failed(host_parse(names[i], strlen(names[i]), &host, &error), &error)) continue;
		const int r = standins_find_or_add(standins, &host, &index);
		standin_address(index, AF_INET6, &address);
		const struct host *back = standins_host(standins, (const struct sockaddr *)&address);
		unit_tell("%s: %d %u %s", host.name, r, index, back ? back->name : "nobody");
	}
	standins_free(standins);
	const enum dns_code code = records_parse(&records, answer, sizeof answer - 1, DNS_TXT);
	for (size_t i = 0; i < records.count; i++)
		unit_tell("%d %.*s", code, (int)records.items[i].size - 1, records.items[i].data + 1);
	records_finish(&records);
}

/* An origin in a process that isn't struck; it ends with its parent. */
static uint16_t origin_start(void) {
	static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	CLEANUP_FD int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 64) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &size) < 0)
		_exit(1);
	pid_t parent = getpid(), child = fork();
	if (child < 0) _exit(1);
	if (child > 0) return ntohs(address.sin_port);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		char request[4096];
		CLEANUP_FD int fd = accept(listener, NULL, NULL);
		if (fd >= 0 && recv(fd, request, sizeof request, 0) > 0 &&
		    send(fd, reply, sizeof reply - 1, MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

/* The whole of what comes back, as far as it goes. */
static void converse(uint16_t port, const char *request, char *answer, size_t room) {
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval patience = {.tv_sec = 10};
	CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t size = 0;
	ssize_t n = -1;
	*answer = '\0';
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
		return;
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0) return;
	while (size < room - 1 && (n = recv(fd, answer + size, room - 1 - size, 0)) > 0) size += (size_t)n;
	answer[size] = '\0';
	if (n < 0 && errno == EAGAIN) unit_tell("silence");
}

static void ask(uint16_t port, const char *what, const char *request) {
	char answer[8192];
	converse(port, request, answer, sizeof answer);
	const char *end = strstr(answer, "\r\n"), *body = strstr(answer, "\r\n\r\n");
	if (!end || !body)
		unit_tell_error("%s: the connection is closed", what);
	else if (!string_starts(answer, "HTTP/1.1 200"))
		unit_tell_error("%s: %.*s", what, (int)(end - answer), answer);
	else
		unit_tell("%s: %s", what, string_ends(body, "hello") ? "hello" : body);
}

static void use_gate(void) {
	uint16_t origin = origin_start();
	struct fixture *fixture = fixture_new();
	uint16_t port = fixture_port(fixture);
	char plain[200], tunnel[300];
	snprintf(plain, sizeof plain,
		 "GET http://svc.test:%d/ HTTP/1.1\r\nHost: svc.test:%d\r\nConnection: close\r\n\r\n", origin, origin);
	snprintf(tunnel, sizeof tunnel,
		 "CONNECT svc.test:%d HTTP/1.1\r\nHost: svc.test:%d\r\n\r\nGET / HTTP/1.0\r\n\r\n", origin, origin);
	fixture_set_name(fixture, "svc.test", "127.0.0.1");
	fixture_set_judge(fixture, FIXTURE_ALLOW, 7, true);
	unit_strike();
	ask(port, "allowed", plain);
	ask(port, "a tunnel", tunnel);
	fixture_set_judge(fixture, FIXTURE_DENY, 0, true);
	ask(port, "denied", plain);
	ask(port, "denied tunnel", tunnel);
	fixture_set_judge(fixture, FIXTURE_ALLOW, 8, false);
	ask(port, "a private address", plain);
}

static const struct unit units[] = {
	{.what = "requests", .use = use_requests}, {.what = "responses", .use = use_responses},
	{.what = "SOCKS", .use = use_socks},       {.what = "addresses", .use = use_addresses},
	{.what = "names", .use = use_names},       {.what = "the gate and the proxy", .use = use_gate, .late = true},
};

const struct unit_room units_net =
	UNIT_ROOM("runner/net: HTTP, SOCKS, bodies, addresses, names; requests through gate and proxy", units);
