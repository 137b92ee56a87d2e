/*
 * portal_network: addresses and routes of a sandbox's loopback.
 *
 * Promises: afterwards every address, IPv4 and IPv6, is the sandbox's own (AnyIP: a `local` route for all of them over
 * lo), so that whatever a tool connects or sends to ends inside, at a socket that we bound to that address or at none.
 * 198.18.0.0/15 (RFC 2544, no host's) and fd53:6278::/64 (RFC 4193) are the stand-ins'; 198.18.0.1 and fd53:6278::1
 * are what the sandbox takes for its own address. There is still no way out.
 */
#pragma once

#include "portal_spaces.h"

/* What is there already is left as it is. Without IPv6 in this kernel or on this loopback: IPv4 alone. */
int network_make(const struct spaces *spaces, struct error *error);
