/*
 * hello: which host the first bytes of a connection ask for: the server name of a TLS ClientHello (RFC 8446 4.1.2, RFC
 * 6066 3), the host of an HTTP/1.x request (RFC 9112 3.2).
 *
 * Promises: pure, bounded by LIMIT_HELLO, LIMIT_HEADER and LIMIT_HEARD. What looks like one of the two is found in the
 * ways that lenient servers take (first_line.h), and read strictly: what could be read in two ways is HELLO_AMBIGUOUS,
 * never HELLO_NOTHING.
 *
 * What it can't see: what comes after STARTTLS and its like, HTTP in TLS or HTTP/2, the inner name of an encrypted
 * hello (ECH; the outer one is read), what comes after the hello or request on the same connection.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "schema/host.h"

enum hello_state {
	HELLO_MORE,      /* may become any of the others */
	HELLO_NAME,      /* *ret_host */
	HELLO_NOTHING,   /* neither of the two, or it names no host */
	HELLO_AMBIGUOUS, /* one of the two, that can't be read for certain: `error` says why, for a sentence */
};

/* All bytes so far. From LIMIT_HEARD bytes on it is never HELLO_MORE. */
enum hello_state hello_read(const char *bytes, size_t size, struct host *ret_host, struct error *error);

/*
 * When no more bytes will come: never HELLO_MORE. Python's http.server takes their end for that of a line and of a
 * head, so what would be a request with these ends is one.
 */
enum hello_state hello_read_whole(const char *bytes, size_t size, struct host *ret_host, struct error *error);
