#include "standins.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <search.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"

enum {
	PREFIX4_BITS = 15,
	PREFIX6_BYTES = 8,
	INDEX6_AT = 12, /* the last 32 bits of the address */
};

static const uint8_t PREFIX6[INDEX6_AT] = {0xfd, 0x53, 0x62, 0x78};
#define PREFIX4 UINT32_C(0xc6120000) /* 198.18.0.0 */

static_assert(STANDIN_FIRST + LIMIT_STANDINS <= 1 << (32 - PREFIX4_BITS), "every name has an address of the range");

struct standin {
	struct host host; /* first: what the tree compares */
	uint32_t index;
};

struct standins {
	void *by_name; /* tsearch(3): a balanced tree, so names that a tool chooses can't make it slow */
	struct standin **items;
	size_t count;
};

static int compare(const void *a, const void *b) {
	const struct host *one = a, *other = b;

	return strcmp(one->name, other->name);
}

struct standins *standins_new(void) {
	return mem_new(struct standins);
}

static void keep(void *item) {
	(void)item;
}

void standins_free(struct standins *standins) {
	if (!standins) return;
	tdestroy(standins->by_name, keep);
	for (size_t i = 0; i < standins->count; i++) free(standins->items[i]);
	free(standins->items);
	free(standins);
}

static struct standin *find(const struct standins *standins, const struct host *host) {
	struct standin *const *found = tfind(host, &standins->by_name, compare);

	return found ? *found : NULL;
}

bool standins_has(const struct standins *standins, const struct host *host) {
	return host->class == HOST_NAME && find(standins, host);
}

int standins_find_or_add(struct standins *standins, const struct host *host, uint32_t *ret_index) {
	struct standin *standin;

	if (host->class != HOST_NAME) return -EINVAL;
	standin = find(standins, host);
	if (!standin) {
		if (standins->count == LIMIT_STANDINS) return -ENOSPC;
		standin = mem_new(struct standin);
		*standin = (struct standin){.host = *host, .index = (uint32_t)standins->count + STANDIN_FIRST};
		standins->items = array_grow(standins->items, standins->count, sizeof(struct standin *));
		standins->items[standins->count++] = standin;
		mem_expect(tsearch(standin, &standins->by_name, compare));
	}
	*ret_index = standin->index;
	return 0;
}

socklen_t standin_address(uint32_t index, int family, struct sockaddr_storage *ret_address) {
	const uint32_t index6 = htonl(index);
	struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(PREFIX4 + index)};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};

	*ret_address = (struct sockaddr_storage){0};
	if (family == AF_INET) {
		memcpy(ret_address, &ipv4, sizeof ipv4);
		return sizeof ipv4;
	}
	memcpy(ipv6.sin6_addr.s6_addr, PREFIX6, sizeof PREFIX6);
	memcpy(ipv6.sin6_addr.s6_addr + INDEX6_AT, &index6, sizeof index6);
	memcpy(ret_address, &ipv6, sizeof ipv6);
	return sizeof ipv6;
}

/* What is behind the range's prefix; for IPv6 everything below the /64 counts, so that no part of it is someone's. */
static bool index_of(const struct sockaddr *address, uint64_t *ret_index) {
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
	uint32_t word;

	if (address->sa_family == AF_INET) {
		memcpy(&ipv4, address, sizeof ipv4);
		word = ntohl(ipv4.sin_addr.s_addr);
	} else if (address->sa_family == AF_INET6) {
		memcpy(&ipv6, address, sizeof ipv6);
		if (memcmp(ipv6.sin6_addr.s6_addr, PREFIX6, PREFIX6_BYTES) == 0) {
			*ret_index = 0;
			for (size_t i = PREFIX6_BYTES; i < sizeof ipv6.sin6_addr.s6_addr; i++)
				*ret_index = *ret_index << 8 | ipv6.sin6_addr.s6_addr[i];
			return true;
		}
		if (!IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr)) return false;
		memcpy(&word, ipv6.sin6_addr.s6_addr + INDEX6_AT, sizeof word);
		word = ntohl(word);
	} else {
		return false;
	}
	*ret_index = word - PREFIX4;
	return word >> (32 - PREFIX4_BITS) == PREFIX4 >> (32 - PREFIX4_BITS);
}

bool standin_is(const struct sockaddr *address) {
	uint64_t index;

	return index_of(address, &index);
}

const struct host *standins_host(const struct standins *standins, const struct sockaddr *address) {
	uint64_t index;

	if (!index_of(address, &index) || index < STANDIN_FIRST || index - STANDIN_FIRST >= standins->count)
		return NULL;
	return &standins->items[index - STANDIN_FIRST]->host;
}
