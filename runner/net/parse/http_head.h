/*
 * http_head: the head of an HTTP/1.x message as text (RFC 9112): first line and fields, nothing about what they mean.
 *
 * Promises: pure; bounded by LIMIT_HEADER and LIMIT_HEADERS; strict where implementations differ, since a second
 * reading of the same bytes is an attack (N4): line ends are CRLF, no NUL, no bare CR or LF, no folded lines, no space
 * before a colon, tokens are tokens. Errors are -EBADMSG (malformed), -E2BIG (too large), -EPROTONOSUPPORT (version).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/string.h"
#include "schema/limits.h"

struct slice { /* borrowed bytes */
	const char *data;
	size_t size;
};

bool slice_equal(struct slice slice, const char *text);        /* byte-exact */
bool slice_equal_nocase(struct slice slice, const char *text); /* ASCII */

struct http_field {
	struct slice name, value; /* value without white space around it */
};

struct http_head {
	size_t size;                 /* of the whole head with its empty line */
	int minor;                   /* HTTP/1.minor: 0 or 1 */
	struct slice method, target; /* request */
	int status;                  /* response, 100 to 999 */
	struct slice reason;
	struct http_field fields[LIMIT_HEADERS];
	size_t field_count;
};

/*
 * Is a head complete? *scanned is 0 at first and kept for the next call with the same bytes and more. Returns its size,
 * 0 when more bytes are needed, or an error, as soon as it can be seen.
 */
long http_head_scan(const char *bytes, size_t size, size_t *scanned, struct error *error);

/* Take a complete head (what http_head_scan returned) apart. Slices point into `bytes`. */
int http_request_head_parse(const char *bytes, size_t size, struct http_head *ret_head, struct error *error);
int http_response_head_parse(const char *bytes, size_t size, struct http_head *ret_head, struct error *error);

/* The value of the only field of that name: 1 and *ret_value, 0 if there is none, -EBADMSG if there are several. */
int http_head_single(const struct http_head *head, const char *name, struct slice *ret_value, struct error *error);

/* Is `token` an element of some field of that name? */
bool http_head_lists(const struct http_head *head, const char *name, const char *token);

/* The fields that go on to the other side, each a line: all but those of this hop. */
void http_head_write_fields(const struct http_head *head, struct string *out);
void slice_append(struct string *out, struct slice slice);
