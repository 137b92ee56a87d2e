/*
 * standins: addresses inside a sandbox that stand for names of the world outside (design section 7, Network).
 *
 * Promises: a name keeps its address for the session, and no address is ever given to a second name, so that what a
 * tool has remembered can't come to mean another host. Index i is 198.18.0.0 + i (RFC 2544, of no other use on a
 * network of a sandbox's own) and fd53:6278::i (RFC 4193). Index 1 is the sandbox's own address, names begin at 2.
 * At most LIMIT_STANDINS names, some 3 MB. A look-up by name takes steps that grow with the logarithm of their number,
 * whatever the names are; one by address takes one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "schema/host.h"

enum { STANDIN_OWN = 1, STANDIN_FIRST = 2 };

struct standins;

struct standins *standins_new(void);
void standins_free(struct standins *standins);

/* The index of the name's stand-in. -EINVAL: not a name (an address, localhost); -ENOSPC: there are LIMIT_STANDINS. */
int standins_find_or_add(struct standins *standins, const struct host *host, uint32_t *ret_index);
bool standins_has(const struct standins *standins, const struct host *host);

/* Of AF_INET or AF_INET6, with port 0; how many bytes. */
socklen_t standin_address(uint32_t index, int family, struct sockaddr_storage *ret_address);

/* Whose stand-in this is; borrowed, as long as the stand-ins live. IPv4, IPv6, IPv4-mapped; NULL: nobody's. */
const struct host *standins_host(const struct standins *standins, const struct sockaddr *address);

/* In one of the two ranges at all, given to a name or not. */
bool standin_is(const struct sockaddr *address);
