/*
 * One entry for libFuzzer (clang -fsanitize=fuzzer,address runner/net/http_*.c …), and a main that feeds it mutated
 * seeds, so that it runs as a test wherever libFuzzer isn't. Whatever comes in, the parsers keep to their promises:
 * no byte outside the input is touched, and what is written on from it has one reading.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "http_request.h"
#include "http_response.h"
#include "socks_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds, const char *what) {
	if (holds) return;
	fprintf(stderr, "fuzz_http: %s\n", what);
	abort();
}

/* The head that goes to the origin: exactly one, and none of its framing or routing is there twice. */
static void check_forwarded(const struct http_head *head, const struct http_request *request) {
	CLEANUP_STRING struct string out = {0};
	struct http_head again;
	struct slice value;
	size_t scanned = 0;

	http_request_write(head, request, &out);
	if (out.size > LIMIT_HEADER) return; /* Host and the like made it longer than what is read */
	demand(http_head_scan(out.data, out.size, &scanned, NULL) == (long)out.size,
	       "the forwarded head is not one head");
	if (head->field_count + 4 > LIMIT_HEADERS) return;
	demand(http_request_head_parse(out.data, out.size, &again, NULL) == 0, "the forwarded head does not parse");
	demand(http_head_single(&again, "Host", &value, NULL) == 1, "not one Host is forwarded");
	int lengths = http_head_single(&again, "Content-Length", &value, NULL);
	int codings = http_head_single(&again, "Transfer-Encoding", &value, NULL);
	demand(lengths >= 0 && codings >= 0 && lengths + codings <= 1, "the framing is forwarded twice");
}

static void check_request(const char *bytes, size_t size) {
	struct http_head head;
	struct http_request request;
	size_t scanned = 0, slow = 0;
	long whole = http_head_scan(bytes, size, &scanned, NULL), step = 0;

	for (size_t i = 1; i <= size && step == 0; i++) step = http_head_scan(bytes, i, &slow, NULL);
	demand(step == whole, "the head's end depends on how it arrives");
	if (whole <= 0 || http_request_head_parse(bytes, (size_t)whole, &head, NULL) < 0) return;
	if (http_request_read(&head, &request, NULL) < 0 || request.tunnel) return;
	check_forwarded(&head, &request);
}

static void check_response(const char *bytes, size_t size) {
	const struct http_request request = {0};
	struct http_head head;
	struct http_response response;
	size_t scanned = 0;
	long whole = http_head_scan(bytes, size, &scanned, NULL);
	CLEANUP_STRING struct string out = {0};

	if (whole <= 0 || http_response_head_parse(bytes, (size_t)whole, &head, NULL) < 0) return;
	if (http_response_read(&head, &request, &response, NULL) < 0) return;
	http_response_write(&head, &response, response.framing, true, &out);
	scanned = 0;
	demand(out.size > LIMIT_HEADER || http_head_scan(out.data, out.size, &scanned, NULL) == (long)out.size,
	       "the response's head is not one head");
}

static void check_body(const char *bytes, size_t size) {
	struct http_body body = http_body_begin(HTTP_FRAMING_CHUNKED, 0);
	struct slice payload;

	for (size_t used = 0; used < size && !http_body_is_done(&body);) {
		long n = http_body_step(&body, bytes + used, size - used, &payload, NULL);

		if (n < 0) return;
		demand(n > 0 && (size_t)n <= size - used, "a step that goes nowhere or too far");
		demand(payload.data >= bytes && payload.data + payload.size <= bytes + size,
		       "a payload outside the input");
		used += (size_t)n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	char *bytes = mem_copy(data, size); /* of exactly this size, for the sanitizer */
	struct host host;
	uint16_t port;
	enum socks_code code;
	bool is_open;

	check_request(bytes, size);
	check_response(bytes, size);
	check_body(bytes, size);
	(void)socks_greeting_parse((const uint8_t *)bytes, size, &is_open);
	(void)socks_request_parse((const uint8_t *)bytes, size, &host, &port, &code);
	free(bytes);
	return 0;
}

#ifndef SBX_LIBFUZZER

static const char *const SEEDS[] = {
	"GET http://example.com:80/a?b HTTP/1.1\r\nHost: example.com\r\nConnection: close, x\r\nX: 1\r\n\r\n",
	"POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nTransfer-Encoding: "
	"chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\nProxy-Connection: "
	"keep-alive\r\n\r\n\x16\x03\x01",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\nhello",
	"5;name=value\r\nhello\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
	"\x05\x01\x01\x05\x01\x01\x03\x0b"
	"example.com\x01\xbb",
};
static const char *const SPLICES[] = {"\r\n",    "\r",          "\n",
				      " ",       "\t",          ":",
				      "\r\n ",   "Host: b\r\n", "Content-Length: 1\r\n",
				      ",",       "@",           "Transfer-Encoding: chunked\r\n",
				      "%00",     "\xff",        "0",
				      "http://", "#",           "\r\n\r\n",
				      "chunked"};

static uint64_t random_state = 0x5bd1e995;

static size_t random_below(size_t bound) { /* xorshift64: the same run every time */
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (size_t)(random_state % bound);
}

static void mutate(struct string *text) {
	size_t at = random_below(text->size + 1);
	CLEANUP_FREE char *tail = string_copy_bytes(text->data + at, text->size - at);
	size_t tail_size = text->size - at;

	switch (random_below(4)) {
	case 0: /* put something in */
		text->size = at;
		string_append(text, SPLICES[random_below(ARRAY_LENGTH(SPLICES))]);
		string_append_bytes(text, tail, tail_size);
		break;
	case 1: /* take something out */
		text->size = at;
		if (tail_size > 3) string_append_bytes(text, tail + 3, tail_size - 3);
		break;
	case 2: /* change a byte */
		if (at < text->size) text->data[at] = (char)random_below(256);
		break;
	default: /* double the end */
		if (text->size < 2000) string_append_bytes(text, tail, tail_size);
		break;
	}
}

int main(int argc, char **argv) {
	int runs = argc > 1 ? atoi(argv[1]) : 100 * 1000; /* NOLINT(cert-err34-c): a developer's own number */

	for (int i = 0; i < runs; i++) {
		CLEANUP_STRING struct string text = {0};

		string_append(&text, SEEDS[random_below(ARRAY_LENGTH(SEEDS))]);
		for (size_t n = random_below(6); n > 0; n--) mutate(&text);
		LLVMFuzzerTestOneInput((const uint8_t *)text.data, text.size);
	}
	return 0;
}

#endif
