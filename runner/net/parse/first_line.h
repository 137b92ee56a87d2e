/*
 * first_line: what servers may take the first line of a connection for, when it isn't TLS: a request of HTTP/1.x, one
 * without a version (HTTP/0.9), or nothing of the kind.
 *
 * Promises: pure; what a function says of some bytes it says of more of them, too, unless it said "more". It errs
 * towards a request: empty lines before it, bare line feeds, odd bytes and spaces are refused by some servers and taken
 * by others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum first_line {
	LINE_MORE,    /* it may become any of the others */
	LINE_BINARY,  /* likewise, but no server takes it for a request past LIMIT_HEARD bytes */
	LINE_HTTP,    /* a request, with a version */
	LINE_NAMING,  /* one without, whose target names a host */
	LINE_OTHER,   /* one without, or one of RTSP or ICE: a Host behind it counts to some servers */
	LINE_NOTHING, /* none of these */
};

enum first_line first_line_read(const char *bytes, size_t size);

enum first_fields {
	FIELDS_MORE,    /* it may become any of the others */
	FIELDS_HOST,    /* there is a Host */
	FIELDS_NO_HOST, /* they have ended */
};

/* The fields behind the first line, which is whole. */
enum first_fields first_fields_read(const char *bytes, size_t size);
