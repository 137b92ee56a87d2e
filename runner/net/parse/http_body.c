#include "http_body.h"

#include <errno.h>
#include <string.h>

enum { LENGTH_DIGITS = 18, SIZE_DIGITS = 15 }; /* both fit an int64_t, here and in what reads our output */

static int length_parse(struct slice text, uint64_t *ret_length, struct error *error) {
	uint64_t length = 0;

	if (text.size == 0 || text.size > LENGTH_DIGITS) return error_set(error, EBADMSG, "a bad Content-Length");
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9') return error_set(error, EBADMSG, "a bad Content-Length");
		length = length * 10 + (uint64_t)(text.data[i] - '0');
	}
	*ret_length = length;
	return 0;
}

int http_framing_read(const struct http_head *head, enum http_framing *ret_framing, uint64_t *ret_length,
		      struct error *error) {
	struct slice coding, length;
	int codings, lengths;

	if ((codings = http_head_single(head, "Transfer-Encoding", &coding, error)) < 0) return codings;
	if ((lengths = http_head_single(head, "Content-Length", &length, error)) < 0) return lengths;
	*ret_framing = HTTP_FRAMING_NONE;
	if (codings && lengths) return error_set(error, EBADMSG, "both Content-Length and Transfer-Encoding");
	if (codings) {
		if (head->minor == 0) return error_set(error, EBADMSG, "Transfer-Encoding in HTTP/1.0");
		if (!slice_equal_nocase(coding, "chunked"))
			return error_set(error, EBADMSG, "a Transfer-Encoding other than chunked");
		*ret_framing = HTTP_FRAMING_CHUNKED;
	}
	if (lengths) {
		*ret_framing = HTTP_FRAMING_LENGTH;
		return length_parse(length, ret_length, error);
	}
	return 0;
}

struct http_body http_body_begin(enum http_framing framing, uint64_t length) {
	bool empty = framing == HTTP_FRAMING_NONE || (framing == HTTP_FRAMING_LENGTH && length == 0);

	return (struct http_body){.framing = framing,
				  .left = length,
				  .state = empty                             ? HTTP_BODY_DONE
					   : framing == HTTP_FRAMING_CHUNKED ? HTTP_BODY_SIZE_FIRST
									     : HTTP_BODY_DATA};
}

bool http_body_is_done(const struct http_body *body) {
	return body->state == HTTP_BODY_DONE;
}

static int hex_value(char c) {
	if (c >= '0' && c <= '9') return c - '0';
	if (c >= 'a' && c <= 'f') return c - 'a' + 10;
	if (c >= 'A' && c <= 'F') return c - 'A' + 10;
	return -1;
}

static int expect(struct http_body *body, char c, char expected, enum http_body_state next, struct error *error) {
	if (c != expected) return error_set(error, EBADMSG, "a chunk without its CRLF");
	body->state = next;
	return 0;
}

static int size_char(struct http_body *body, char c, struct error *error) {
	int value = hex_value(c);

	if (value >= 0) {
		if (++body->line > SIZE_DIGITS) return error_set(error, EBADMSG, "a chunk size that is too large");
		body->left = body->left * 16 + (uint64_t)value;
		body->state = HTTP_BODY_SIZE;
		return 0;
	}
	if (body->state == HTTP_BODY_SIZE && c == '\r')
		body->state = HTTP_BODY_SIZE_LF;
	else if (body->state == HTTP_BODY_SIZE && c == ';')
		body->state = HTTP_BODY_EXTENSION;
	else
		return error_set(error, EBADMSG, "a bad chunk size");
	return 0;
}

/* Of chunk extensions and trailers, whose text is dropped: no byte that could be read as a line's end elsewhere. */
static int dropped_char(struct http_body *body, char c, size_t limit, enum http_body_state at_cr, struct error *error) {
	if (++body->line > limit) return error_set(error, EBADMSG, "chunk extensions or trailers that are too long");
	if (c == '\r')
		body->state = at_cr;
	else if (c != '\t' && ((unsigned char)c < 0x20 || c == 0x7f))
		return error_set(error, EBADMSG, "a control character in a chunk extension or trailer");
	return 0;
}

/* One byte of a chunk's framing. */
static int frame_char(struct http_body *body, char c, struct error *error) {
	switch (body->state) {
	case HTTP_BODY_SIZE_FIRST:
	case HTTP_BODY_SIZE:
		return size_char(body, c, error);
	case HTTP_BODY_EXTENSION:
		return dropped_char(body, c, LIMIT_CHUNK_LINE, HTTP_BODY_SIZE_LF, error);
	case HTTP_BODY_SIZE_LF:
		body->line = 0;
		return expect(body, c, '\n', body->left ? HTTP_BODY_DATA : HTTP_BODY_TRAILER_FIRST, error);
	case HTTP_BODY_DATA_CR:
		return expect(body, c, '\r', HTTP_BODY_DATA_LF, error);
	case HTTP_BODY_DATA_LF:
		return expect(body, c, '\n', HTTP_BODY_SIZE_FIRST, error);
	case HTTP_BODY_TRAILER_FIRST:
		if (c == '\r') {
			body->state = HTTP_BODY_LAST_LF;
			return 0;
		}
		body->state = HTTP_BODY_TRAILER;
		return dropped_char(body, c, LIMIT_HEADER, HTTP_BODY_TRAILER_LF, error);
	case HTTP_BODY_TRAILER:
		return dropped_char(body, c, LIMIT_HEADER, HTTP_BODY_TRAILER_LF, error);
	case HTTP_BODY_TRAILER_LF:
		return expect(body, c, '\n', HTTP_BODY_TRAILER_FIRST, error);
	case HTTP_BODY_LAST_LF:
		return expect(body, c, '\n', HTTP_BODY_DONE, error);
	case HTTP_BODY_DATA:
	case HTTP_BODY_DONE:
		break;
	}
	return 0;
}

static long data_step(struct http_body *body, const char *bytes, size_t size, struct slice *ret_payload) {
	bool endless = body->framing == HTTP_FRAMING_CLOSE;
	size_t take = !endless && body->left < size ? (size_t)body->left : size;

	*ret_payload = (struct slice){bytes, take};
	if (endless) return (long)take;
	body->left -= take;
	if (body->left == 0) body->state = body->framing == HTTP_FRAMING_CHUNKED ? HTTP_BODY_DATA_CR : HTTP_BODY_DONE;
	return (long)take;
}

long http_body_step(struct http_body *body, const char *bytes, size_t size, struct slice *ret_payload,
		    struct error *error) {
	size_t used = 0;

	*ret_payload = (struct slice){bytes, 0};
	while (used < size && body->state != HTTP_BODY_DATA && body->state != HTTP_BODY_DONE) {
		int r = frame_char(body, bytes[used++], error);

		if (r < 0) return r;
	}
	if (used == size || body->state == HTTP_BODY_DONE) return (long)used;
	return (long)used + data_step(body, bytes + used, size - used, ret_payload);
}
