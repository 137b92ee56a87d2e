/*
 * http_body: how long a message's body is, and taking it out of its framing (RFC 9112 sections 6 and 7).
 *
 * Promises: pure; no reading of a head that two implementations could take differently is accepted (N4): both
 * Content-Length and Transfer-Encoding, several of either, a coding other than `chunked`, signs, spaces or
 * overflow in a length are -EBADMSG. Chunk extensions and trailers are checked and dropped.
 */
#pragma once

#include <stdint.h>

#include "http_head.h"

enum http_framing {
	HTTP_FRAMING_NONE,    /* no body */
	HTTP_FRAMING_LENGTH,  /* Content-Length */
	HTTP_FRAMING_CHUNKED, /* Transfer-Encoding: chunked */
	HTTP_FRAMING_CLOSE,   /* a response's, until its connection ends */
};

enum http_body_state {
	HTTP_BODY_SIZE_FIRST,
	HTTP_BODY_SIZE,
	HTTP_BODY_EXTENSION,
	HTTP_BODY_SIZE_LF,
	HTTP_BODY_DATA,
	HTTP_BODY_DATA_CR,
	HTTP_BODY_DATA_LF,
	HTTP_BODY_TRAILER_FIRST,
	HTTP_BODY_TRAILER,
	HTTP_BODY_TRAILER_LF,
	HTTP_BODY_LAST_LF,
	HTTP_BODY_DONE,
};

struct http_body {
	enum http_framing framing;
	enum http_body_state state;
	uint64_t left; /* bytes of this chunk, or of the body */
	size_t line;   /* bytes of the size line or of all trailers so far */
};

/* What a head says; NONE when it says nothing. *ret_length is set with LENGTH. */
int http_framing_read(const struct http_head *head, enum http_framing *ret_framing, uint64_t *ret_length,
		      struct error *error);

struct http_body http_body_begin(enum http_framing framing, uint64_t length);

/*
 * Take one step: returns how many bytes were consumed (0 only when done or `size` is 0); *ret_payload is the part of
 * them that is the body's own, maybe empty. -EBADMSG for bad framing.
 */
long http_body_step(struct http_body *body, const char *bytes, size_t size, struct slice *ret_payload,
		    struct error *error);
bool http_body_is_done(const struct http_body *body);
