#include "address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "own_address.h"

in_port_t *address_port(struct sockaddr *address) {
	static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "of both");
	return &((struct sockaddr_in *)address)->sin_port;
}

bool address_read(const struct sockaddr *from, socklen_t size, struct address *ret_address) {
	const struct sockaddr_in *four = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;

	*ret_address = (struct address){.size = 0};
	if (size >= sizeof *four && from->sa_family == AF_INET) {
		ret_address->ipv4 = (struct sockaddr_in){
			.sin_family = AF_INET, .sin_port = four->sin_port, .sin_addr = four->sin_addr};
	} else if (size < offsetof(struct sockaddr_in6, sin6_scope_id) || from->sa_family != AF_INET6) {
		return false;
	} else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
		ret_address->ipv4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = six->sin6_port};
		memcpy(&ret_address->ipv4.sin_addr, six->sin6_addr.s6_addr + 12, 4);
	} else {
		ret_address->ipv6 = (struct sockaddr_in6){
			.sin6_family = AF_INET6, .sin6_port = six->sin6_port, .sin6_addr = six->sin6_addr};
	}
	ret_address->size = ret_address->any.sa_family == AF_INET ? sizeof *four : sizeof *six;
	return true;
}

bool address_equal(const struct address *a, const struct address *b) {
	return a->size == b->size && memcmp(&a->any, &b->any, a->size) == 0;
}

void addresses_add(struct addresses *addresses, const struct sockaddr *address, socklen_t size) {
	struct address *item = &addresses->items[addresses->count];

	if (addresses->count == LIMIT_ADDRESSES) return;
	if (address->sa_family == AF_INET ? size != sizeof item->ipv4
					  : address->sa_family != AF_INET6 || size != sizeof item->ipv6)
		return;
	*item = (struct address){.size = size};
	memcpy(&item->any, address, size);
	addresses->count++;
}

void addresses_add_ipv4(struct addresses *addresses, const uint8_t bytes[4]) {
	struct address address = {.ipv4.sin_family = AF_INET};

	memcpy(&address.ipv4.sin_addr, bytes, 4);
	addresses_add(addresses, &address.any, sizeof address.ipv4);
}

void addresses_add_ipv6(struct addresses *addresses, const uint8_t bytes[16]) {
	struct address address = {.ipv6.sin6_family = AF_INET6};

	memcpy(&address.ipv6.sin6_addr, bytes, 16);
	addresses_add(addresses, &address.any, sizeof address.ipv6);
}

void addresses_set_port(struct addresses *addresses, uint16_t port) {
	for (size_t i = 0; i < addresses->count; i++) *address_port(&addresses->items[i].any) = htons(port);
}

size_t addresses_remove_private(struct addresses *addresses, struct address *ret_removed) {
	size_t kept = 0, removed = 0;

	for (size_t i = 0; i < addresses->count; i++) {
		const struct sockaddr *address = &addresses->items[i].any;
		if (!address_is_private(address) && !address_is_own(address))
			addresses->items[kept++] = addresses->items[i];
		else if (removed++ == 0)
			*ret_removed = addresses->items[i];
	}
	addresses->count = kept;
	return removed;
}

void addresses_interleave(struct addresses *addresses) {
	const struct addresses given = *addresses;
	size_t next[2] = {0, 0}; /* of the first family, and of the other */

	for (size_t i = 0; i < given.count; i++) {
		for (size_t turn = i % 2, tries = 0; tries < 2; turn ^= 1, tries++) {
			while (next[turn] < given.count &&
			       (given.items[next[turn]].any.sa_family == given.items[0].any.sa_family) != (turn == 0))
				next[turn]++;
			if (next[turn] == given.count) continue;
			addresses->items[i] = given.items[next[turn]++];
			break;
		}
	}
}

void address_format(const struct address *address, char ret_text[ADDRESS_TEXT_SIZE]) {
	if (address->any.sa_family == AF_INET)
		inet_ntop(AF_INET, &address->ipv4.sin_addr, ret_text, ADDRESS_TEXT_SIZE);
	else
		inet_ntop(AF_INET6, &address->ipv6.sin6_addr, ret_text, ADDRESS_TEXT_SIZE);
}
