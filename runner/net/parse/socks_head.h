/*
 * socks_head: the two messages that a SOCKS5 client sends (RFC 1928), as bytes.
 *
 * Promises: pure and bounded; sizes are checked before anything is read. 0 = more bytes are needed, else the size.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "schema/host.h"

enum socks_code { /* RFC 1928 section 6 */
		  SOCKS_SUCCEEDED = 0,
		  SOCKS_FAILED = 1,
		  SOCKS_NOT_ALLOWED = 2,
		  SOCKS_NETWORK_UNREACHABLE = 3,
		  SOCKS_HOST_UNREACHABLE = 4,
		  SOCKS_REFUSED = 5,
		  SOCKS_TTL_EXPIRED = 6,
		  SOCKS_COMMAND_UNKNOWN = 7,
		  SOCKS_ADDRESS_UNKNOWN = 8,
};

/* Methods offered: *ret_open says whether "no authentication" is among them. -EBADMSG: not SOCKS5. */
int socks_greeting_parse(const uint8_t *bytes, size_t size, bool *ret_open);

/* CONNECT to where. *ret_code is not SOCKS_SUCCEEDED when it is refused as it stands. -EBADMSG: malformed. */
int socks_request_parse(const uint8_t *bytes, size_t size, struct host *ret_host, uint16_t *ret_port,
			enum socks_code *ret_code);
