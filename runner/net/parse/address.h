/*
 * address: socket addresses, and bounded lists of them.
 *
 * Promises: only INET and INET6; of a list at most LIMIT_ADDRESSES, further ones are dropped.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "schema/host.h"
#include "schema/limits.h"

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	};
	socklen_t size;
};

/* As a network sees it: IPv4 where it is v4-mapped; what a tool says of itself beside address and port (flow label,
 * scope) is dropped, so that equal ones are the same bytes. False: it is none, or too short (RFC 2133 3.3: without the
 * scope it is long enough). */
bool address_read(const struct sockaddr *from, socklen_t size, struct address *ret_address);
bool address_equal(const struct address *a, const struct address *b);
in_port_t *address_port(struct sockaddr *address); /* of either family, in the network's order */

struct addresses {
	struct address items[LIMIT_ADDRESSES];
	size_t count;
};

void addresses_add(struct addresses *addresses, const struct sockaddr *address, socklen_t size);
void addresses_add_ipv4(struct addresses *addresses, const uint8_t bytes[4]);
void addresses_add_ipv6(struct addresses *addresses, const uint8_t bytes[16]);
void addresses_set_port(struct addresses *addresses, uint16_t port);

/* Take out what address_is_private and address_is_own say; returns the first that was taken out in *ret_removed (when
 * any was). */
size_t addresses_remove_private(struct addresses *addresses, struct address *ret_removed);

/* Alternate the families, the first one's first (RFC 8305 section 4). */
void addresses_interleave(struct addresses *addresses);

enum { ADDRESS_TEXT_SIZE = 48 };
void address_format(const struct address *address, char ret_text[ADDRESS_TEXT_SIZE]); /* without the port */
