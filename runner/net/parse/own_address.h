/*
 * own_address: is an address this machine's own?
 *
 * Promises: as the kernel routes it now: an address of an interface, a local route ("AnyIP"), broadcast, multicast.
 * A server on all addresses answers there, past the firewall that keeps others out (attack R24). Where it can't be
 * told, it is; where nothing leads, it isn't, since connecting fails by itself. One question to the kernel; never
 * blocks.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

bool address_is_own(const struct sockaddr *address); /* AF_INET, AF_INET6 */
