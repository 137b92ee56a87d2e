/*
 * What a tool says to the proxy, and an origin to it: whatever comes in, the parsers keep to their promises: no byte
 * outside the input is touched, and what is written on from it has one reading.
 */
#include "fuzz.h"
#include "net/parse/http_request.h"
#include "net/parse/http_response.h"
#include "net/parse/socks_head.h"

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
