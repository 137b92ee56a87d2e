/* The HTTP parsers as pure functions: what is taken, and the many heads that are not (attack N4). */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "net/parse/http_request.h"
#include "net/parse/http_response.h"
#include "support/cmocka.h"

struct text {
	const char *data;
	size_t size;
};
#define TEXT(literal)                                                                                                  \
	{ literal, sizeof literal - 1 }

/* The whole way of a request's bytes: 0 or the parsers' error. */
static int take_request(struct text text, struct http_head *head, struct http_request *request, struct error *error) {
	size_t scanned = 0;
	long size = http_head_scan(text.data, text.size, &scanned, error);
	int r;

	if (size < 0) return (int)size;
	if (size == 0) return error_set(error, EAGAIN, "more is needed");
	if ((r = http_request_head_parse(text.data, (size_t)size, head, error)) < 0) return r;
	return http_request_read(head, request, error);
}

static void forwarded_requests_are_written_anew(void **state) {
	static const struct {
		struct text request;
		const char *forwarded;
	} cases[] = {
		{TEXT("GET http://example.com/a?b HTTP/1.1\r\nHost: example.com\r\n\r\n"),
		 "GET /a?b HTTP/1.1\r\nHost: example.com\r\n\r\n"},
		{TEXT("GET HTTP://Example.COM:8080 HTTP/1.1\r\nHost: example.com.:8080\r\nAccept:\t */* \r\n\r\n"),
		 "GET / HTTP/1.1\r\nHost: Example.COM:8080\r\nAccept: */*\r\n\r\n"},
		{TEXT("GET http://example.com?q HTTP/1.1\r\nHost: example.com:80\r\n\r\n"),
		 "GET /?q HTTP/1.1\r\nHost: example.com\r\n\r\n"},
		{TEXT("OPTIONS http://example.com HTTP/1.1\r\nHost: example.com\r\n\r\n"),
		 "OPTIONS * HTTP/1.1\r\nHost: example.com\r\n\r\n"},
		{TEXT("GET http://example.com:8080/ HTTP/1.1\r\nHost: example.com\r\n\r\n"),
		 "GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n"},
		{TEXT("GET http://[2001:DB8::1]:81/ HTTP/1.1\r\nHost: [2001:db8:0::1]:81\r\n\r\n"),
		 "GET / HTTP/1.1\r\nHost: [2001:DB8::1]:81\r\n\r\n"},
		{TEXT("GET http://a/ HTTP/1.0\r\n\r\n"), "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{TEXT("GET http://a/ HTTP/1.9\r\nHost: a\r\n\r\n"), "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{TEXT("GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Secret\r\nX-Secret: 1\r\nX-Open: "
		      "2\r\nKeep-Alive: 5\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nTE: "
		      "trailers\r\nTrailer: x\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n"),
		 "GET / HTTP/1.1\r\nHost: a\r\nX-Open: 2\r\n\r\n"},
		{TEXT("POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 007\r\nX: 1\r\n\r\n"),
		 "POST / HTTP/1.1\r\nHost: a\r\nX: 1\r\nContent-Length: 7\r\n\r\n"},
		{TEXT("POST http://a/ HTTP/1.1\r\nHost: a\r\ntransfer-encoding: CHUNKED\r\n\r\n"),
		 "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{TEXT("PUT http://a/ HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n"),
		 "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n"},
		{TEXT("GET ws://a/chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		      "Sec-WebSocket-Key: x\r\n\r\n"),
		 "GET /chat HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: x\r\nConnection: Upgrade\r\nUpgrade: "
		 "websocket\r\n\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct http_head head;
		struct http_request request = {0};
		struct error error = ERROR_NONE;
		CLEANUP_STRING struct string out = {0};

		if (take_request(cases[i].request, &head, &request, &error) < 0)
			fail_msg("%s: %s", cases[i].request.data, error.message);
		assert_false(request.tunnel);
		http_request_write(&head, &request, &out);
		assert_string_equal(out.data, cases[i].forwarded);
	}
}

static void tunnels_name_host_and_port(void **state) {
	static const struct text good[] = {
		TEXT("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"),
		TEXT("CONNECT EXAMPLE.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n"),
		TEXT("CONNECT example.com:443 HTTP/1.1\r\n\r\n"),
		TEXT("CONNECT example.com.:443 HTTP/1.0\r\nUser-Agent: x\r\nContent-Length: 0\r\n\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
		struct http_head head;
		struct http_request request = {0};
		struct error error = ERROR_NONE;

		if (take_request(good[i], &head, &request, &error) < 0) fail_msg("%s: %s", good[i].data, error.message);
		assert_true(request.tunnel);
		assert_string_equal(request.host.name, "example.com");
		assert_int_equal(request.port, 443);
	}
}

#define GET  "GET http://a/ HTTP/1.1\r\nHost: a\r\n"
#define POST "POST http://a/ HTTP/1.1\r\nHost: a\r\n"
static const struct text MALFORMED[] = {
	/* line ends, control characters, folding */
	TEXT("\r\n" GET "\r\n"),
	TEXT("\n"),
	TEXT("GET http://a/ HTTP/1.1\nHost: a\n\n"),
	TEXT("GET http://a/ HTTP/1.1\r\nHost: a\r\nX: 1\n\r\n"),
	TEXT("GET http://a/ HTTP/1.1\r\nHost: a\rX: 1\r\n\r\n"),
	TEXT("GET http://a/ HTTP/1.1\r\nHost: a\r\r\n\r\n"),
	TEXT(GET "X: a\0b\r\n\r\n"),
	TEXT(GET "X: a\x01"
		 "b\r\n\r\n"),
	TEXT(GET "X: a\x7f"
		 "b\r\n\r\n"),
	TEXT(GET "X: 1\r\n folded\r\n\r\n"),
	TEXT(GET "X: 1\r\n\tfolded\r\n\r\n"),
	TEXT("GET http://a/ HTTP/1.1\r\n Host: a\r\n\r\n"),
	/* header names */
	TEXT(GET "X : 1\r\n\r\n"),
	TEXT(GET "X\t: 1\r\n\r\n"),
	TEXT(GET ": 1\r\n\r\n"),
	TEXT(GET "X\r\n\r\n"),
	TEXT(GET "X Y: 1\r\n\r\n"),
	TEXT(GET "X\xc3\xa4: 1\r\n\r\n"),
	TEXT(GET "X(y): 1\r\n\r\n"),
	/* request line */
	TEXT("GET\r\n\r\n"),
	TEXT("GET http://a/\r\n\r\n"), /* HTTP/0.9 */
	TEXT("GET http://a/ HTTP/1.1 \r\nHost: a\r\n\r\n"),
	TEXT("GET  http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT(" GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET\thttp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a/ b HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a/\x0b HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a/\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("G@T http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a/ http/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a/ HTTP/1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a/ HTTP/1.11\r\nHost: a\r\n\r\n"),
	TEXT("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("\x16\x03\x01\x02\r\n\r\n"), /* TLS to the proxy's port */
	/* targets */
	TEXT("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n"),
	TEXT("GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http:/a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http:// HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a\\b/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a:/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a:0/ HTTP/1.1\r\nHost: a:0\r\n\r\n"),
	TEXT("GET http://a:99999/ HTTP/1.1\r\nHost: a:99999\r\n\r\n"),
	TEXT("GET http://user@a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://user:pass@a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://good:80@evil/ HTTP/1.1\r\nHost: good\r\n\r\n"),
	TEXT("GET http://a/#fragment HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a#@b/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://a%00.b/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://2130706433/ HTTP/1.1\r\nHost: 2130706433\r\n\r\n"),
	TEXT("GET http://[fe80::1%25lo]/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("GET http://::1/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("CONNECT http://a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("CONNECT a:443/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("CONNECT u@a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
	TEXT("CONNECT a:443:443 HTTP/1.1\r\n\r\n"),
	TEXT("CONNECT :443 HTTP/1.1\r\n\r\n"),
	TEXT("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nContent-Length: 5\r\n\r\nhello"),
	TEXT("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
	/* Host */
	TEXT("GET http://a/ HTTP/1.1\r\n\r\n"),
	TEXT("GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n"),
	TEXT("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n"),
	TEXT("GET http://a/ HTTP/1.0\r\nHost: b\r\n\r\n"),
	TEXT("GET http://a/ HTTP/1.1\r\nHost: a:81\r\n\r\n"),
	TEXT("GET http://a/ HTTP/1.1\r\nHost: a, b\r\n\r\n"),
	TEXT("GET http://a/ HTTP/1.1\r\nHost: u@a\r\n\r\n"),
	TEXT(GET "Host: a\r\n\r\n"),
	TEXT(GET "hOST: b\r\n\r\n"),
	TEXT("CONNECT a:443 HTTP/1.1\r\nHost: b:443\r\n\r\n"),
	TEXT("CONNECT a:443 HTTP/1.1\r\nHost: a:444\r\n\r\n"),
	TEXT("CONNECT a:443 HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
	/* framing */
	TEXT(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
	TEXT(POST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n"),
	TEXT(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"),
	TEXT(POST "Content-Length: 5\r\ncontent-length: 6\r\n\r\n"),
	TEXT(POST "Content-Length: 5, 5\r\n\r\n"),
	TEXT(POST "Content-Length: +5\r\n\r\n"),
	TEXT(POST "Content-Length: -1\r\n\r\n"),
	TEXT(POST "Content-Length: 0x5\r\n\r\n"),
	TEXT(POST "Content-Length: 5 5\r\n\r\n"),
	TEXT(POST "Content-Length:\r\n\r\n"),
	TEXT(POST "Content-Length: 18446744073709551617\r\n\r\n"),
	TEXT(POST "Transfer-Encoding: gzip, chunked\r\n\r\n"),
	TEXT(POST "Transfer-Encoding: chunked, chunked\r\n\r\n"),
	TEXT(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
	TEXT(POST "Transfer-Encoding: identity\r\n\r\n"),
	TEXT(POST "Transfer-Encoding: xchunked\r\n\r\n"),
	TEXT(POST "Transfer-Encoding: \"chunked\"\r\n\r\n"),
	TEXT(POST "Transfer-Encoding:\r\n\r\n"),
	TEXT("POST http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
	TEXT(POST "Connection: content-length\r\nContent-Length: 5\r\n\r\n"),
	TEXT(POST "Connection: close, Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n"),
	TEXT(GET "Connection: Host\r\n\r\n"),
};

static void attack_net_04_malformed_and_ambiguous_requests_are_refused(void **state) {
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(MALFORMED); i++) {
		struct http_head head;
		struct http_request request = {0};
		struct error error = ERROR_NONE;
		int r = take_request(MALFORMED[i], &head, &request, &error);

		if (r != -EBADMSG) fail_msg("%zu \"%s\": %d %s", i, MALFORMED[i].data, r, error.message);
		assert_true(error.message[0] != '\0');
	}
}

static void attack_net_04_other_versions_and_expectations_are_refused(void **state) {
	static const struct text versions[] = {
		TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		TEXT("GET http://a/ HTTP/0.9\r\n\r\n"),
		TEXT("GET http://a/ HTTP/3.0\r\nHost: a\r\n\r\n"),
	};
	struct http_head head;
	struct http_request request = {0};
	struct text expectation = TEXT(GET "Expect: the-unexpected\r\n\r\n");

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++)
		assert_int_equal(take_request(versions[i], &head, &request, NULL), -EPROTONOSUPPORT);
	assert_int_equal(take_request(expectation, &head, &request, NULL), -EOPNOTSUPP);
}

/* However the bytes arrive, the head ends at the same place and a fault shows at its byte. */
static void scanning_byte_by_byte_gives_the_same(void **state) {
	static const char text[] = GET "X: 1\r\n\r\nbody";
	struct text bad = TEXT(GET "X: 1\nY: 2\r\n\r\n");
	size_t scanned = 0, head = strlen(text) - strlen("body");

	(void)state;
	for (size_t size = 1; size < head; size++) assert_int_equal(http_head_scan(text, size, &scanned, NULL), 0);
	assert_int_equal(http_head_scan(text, head, &scanned, NULL), head);
	scanned = 0;
	for (size_t size = 1; size <= bad.size; size++) {
		long r = http_head_scan(bad.data, size, &scanned, NULL);

		assert_int_equal(r, size <= strlen(GET "X: 1") ? 0 : -EBADMSG);
		if (r < 0) break;
	}
}

static void attack_net_12_heads_are_bounded(void **state) {
	size_t size = 1024 * 1024, scanned = 0;
	CLEANUP_FREE char *big = mem_alloc(size, 1);
	CLEANUP_STRING struct string lines = {0};
	struct http_head head;
	struct http_request request = {0};

	(void)state;
	memset(big, 'x', size);
	memcpy(big, GET "X: ", sizeof GET "X: " - 1);
	assert_int_equal(http_head_scan(big, size, &scanned, NULL), -E2BIG);
	assert_true(scanned <= LIMIT_HEADER);
	string_append(&lines, GET);
	for (int i = 0; i < LIMIT_HEADERS; i++) string_append(&lines, "X: 1\r\n");
	string_append(&lines, "\r\n");
	assert_int_equal(take_request((struct text){lines.data, lines.size}, &head, &request, NULL), -E2BIG);
}

/* Bodies */

static int unframe(struct http_body body, struct text text, size_t step, struct string *out, size_t *ret_used) {
	size_t used = 0;

	while (used < text.size && !http_body_is_done(&body)) {
		size_t size = text.size - used < step ? text.size - used : step;
		struct slice payload;
		long n = http_body_step(&body, text.data + used, size, &payload, NULL);

		if (n < 0) return (int)n;
		assert_true(n > 0);
		string_append_bytes(out, payload.data, payload.size);
		used += (size_t)n;
	}
	*ret_used = used;
	return http_body_is_done(&body) ? 0 : -EAGAIN;
}

static void chunks_are_taken_apart_however_they_arrive(void **state) {
	static const struct text text =
		TEXT("5\r\nhello\r\n1;name=\"value\"\r\n \r\n00A\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\nnext");

	(void)state;
	for (size_t step = 1; step <= text.size; step++) {
		CLEANUP_STRING struct string out = {0};
		size_t used = 0;

		assert_int_equal(unframe(http_body_begin(HTTP_FRAMING_CHUNKED, 0), text, step, &out, &used), 0);
		assert_string_equal(out.data, "hello 0123456789");
		assert_int_equal(used, text.size - strlen("next"));
	}
}

static void a_body_with_a_length_ends_there(void **state) {
	static const struct text text = TEXT("helloGET ");
	CLEANUP_STRING struct string out = {0};
	size_t used = 0;
	struct http_body empty = http_body_begin(HTTP_FRAMING_LENGTH, 0);

	(void)state;
	assert_int_equal(unframe(http_body_begin(HTTP_FRAMING_LENGTH, 5), text, 3, &out, &used), 0);
	assert_string_equal(out.data, "hello");
	assert_int_equal(used, 5);
	assert_true(http_body_is_done(&empty));
}

static void attack_net_04_bad_chunks_are_refused(void **state) {
	static const struct text bad[] = {
		TEXT("x\r\n"),
		TEXT("\r\n"),
		TEXT(";a\r\n"),
		TEXT("-1\r\n"),
		TEXT("+1\r\na\r\n"),
		TEXT("0x1\r\na\r\n"),
		TEXT(" 1\r\na\r\n"),
		TEXT("1 \r\na\r\n"),
		TEXT("1\na\r\n"),
		TEXT("1\r\rb"),
		TEXT("1\r\nab\r\n"),
		TEXT("1\r\na\n0\r\n\r\n"),
		TEXT("1\r\na0\r\n\r\n"),
		TEXT("ffffffffffffffff\r\n"),
		TEXT("10000000000000000\r\n"),
		TEXT("0000000000000001\r\na\r\n"),
		TEXT("1;a\nb\r\na\r\n"),
		TEXT("1;a\0b\r\na\r\n"),
		TEXT("0\r\nX: \n\r\n"),
		TEXT("0\r\n\rX"),
	};
	CLEANUP_FREE char *extension = mem_alloc(4096, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		CLEANUP_STRING struct string out = {0};
		size_t used;
		int r = unframe(http_body_begin(HTTP_FRAMING_CHUNKED, 0), bad[i], 1, &out, &used);

		if (r != -EBADMSG) fail_msg("%zu \"%s\": %d", i, bad[i].data, r);
	}
	memset(extension, 'e', 4096);
	extension[0] = '1';
	extension[1] = ';';
	CLEANUP_STRING struct string out = {0};
	size_t used;
	assert_int_equal(
		unframe(http_body_begin(HTTP_FRAMING_CHUNKED, 0), (struct text){extension, 4096}, 4096, &out, &used),
		-EBADMSG);
}

/* Responses */

static int take_response(struct text text, const struct http_request *request, struct http_head *head,
			 struct http_response *response) {
	size_t scanned = 0;
	long size = http_head_scan(text.data, text.size, &scanned, NULL);
	int r;

	if (size <= 0) return size < 0 ? (int)size : -EAGAIN;
	if ((r = http_response_head_parse(text.data, (size_t)size, head, NULL)) < 0) return r;
	return http_response_read(head, request, response, NULL);
}

static void a_responses_body_ends_by_the_rules(void **state) {
	static const struct {
		struct text text;
		enum http_framing framing;
		bool head, keep_alive;
	} cases[] = {
		{TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), HTTP_FRAMING_LENGTH, false, true},
		{TEXT("HTTP/1.1 200\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"), HTTP_FRAMING_LENGTH, false,
		 false},
		{TEXT("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n"), HTTP_FRAMING_LENGTH, false, false},
		{TEXT("HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n"), HTTP_FRAMING_LENGTH,
		 false, true},
		{TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), HTTP_FRAMING_CHUNKED, false, true},
		{TEXT("HTTP/1.1 200 \r\n\r\n"), HTTP_FRAMING_CLOSE, false, false},
		{TEXT("HTTP/1.1 204 No Content\r\n\r\n"), HTTP_FRAMING_NONE, false, true},
		{TEXT("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), HTTP_FRAMING_NONE, false, true},
		{TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), HTTP_FRAMING_NONE, true, true},
		{TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), HTTP_FRAMING_NONE, true, true},
		{TEXT("HTTP/1.1 100 Continue\r\n\r\n"), HTTP_FRAMING_NONE, false, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct http_head head;
		struct http_request request = {.head = cases[i].head};
		struct http_response response = {0};

		assert_int_equal(take_response(cases[i].text, &request, &head, &response), 0);
		assert_int_equal(response.framing, cases[i].framing);
		assert_int_equal(response.keep_alive, cases[i].keep_alive);
	}
}

static void attack_net_04_bad_responses_are_refused(void **state) {
	static const struct text bad[] = {
		TEXT("HTTP/1.1 200 OK\nContent-Length: 5\n\n"),
		TEXT("HTTP/1.1 20 OK\r\n\r\n"),
		TEXT("HTTP/1.1 2000 OK\r\n\r\n"),
		TEXT("HTTP/1.1 099 OK\r\n\r\n"),
		TEXT("HTTP/1.1200 OK\r\n\r\n"),
		TEXT("ICY 200 OK\r\n\r\n"),
		TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"),
		TEXT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
		TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"),
		TEXT("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
		TEXT("HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\n\r\n"),
		TEXT("HTTP/1.1 200 OK\r\nX : 1\r\n\r\n"),
		TEXT("HTTP/1.1 200 O\0K\r\n\r\n"),
		TEXT("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
		TEXT("{\"error\": 1}\r\n\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		struct http_head head;
		struct http_request request = {0};
		struct http_response response = {0};
		int r = take_response(bad[i], &request, &head, &response);

		if (r != -EBADMSG) fail_msg("%zu \"%s\": %d", i, bad[i].data, r);
	}
}

static void responses_are_written_anew(void **state) {
	static const struct text text =
		TEXT("HTTP/1.1 200 Fine\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nConnection: x-hop\r\n"
		     "X-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Authenticate: Basic\r\n"
		     "Content-Length: 5\r\n\r\n");
	struct http_head head;
	struct http_request request = {0};
	struct http_response response = {0};
	CLEANUP_STRING struct string kept = {0};
	CLEANUP_STRING struct string closed = {0};

	(void)state;
	assert_int_equal(take_response(text, &request, &head, &response), 0);
	http_response_write(&head, &response, HTTP_FRAMING_LENGTH, true, &kept);
	assert_string_equal(kept.data,
			    "HTTP/1.1 200 Fine\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 5\r\n\r\n");
	http_response_write(&head, &response, HTTP_FRAMING_LENGTH, false, &closed);
	assert_string_equal(closed.data, "HTTP/1.1 200 Fine\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 5\r\n"
					 "Connection: close\r\n\r\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forwarded_requests_are_written_anew),
		cmocka_unit_test(tunnels_name_host_and_port),
		cmocka_unit_test(attack_net_04_malformed_and_ambiguous_requests_are_refused),
		cmocka_unit_test(attack_net_04_other_versions_and_expectations_are_refused),
		cmocka_unit_test(scanning_byte_by_byte_gives_the_same),
		cmocka_unit_test(attack_net_12_heads_are_bounded),
		cmocka_unit_test(chunks_are_taken_apart_however_they_arrive),
		cmocka_unit_test(a_body_with_a_length_ends_there),
		cmocka_unit_test(attack_net_04_bad_chunks_are_refused),
		cmocka_unit_test(a_responses_body_ends_by_the_rules),
		cmocka_unit_test(attack_net_04_bad_responses_are_refused),
		cmocka_unit_test(responses_are_written_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
