/*
 * net_pattern: the patterns of net:access: a host, a domain and what is below it, a network, or anything, and ports.
 *
 * Promises: as pattern.h; a name matches by whole labels, an address by its bits, and a host in one spelling only
 * (schema/host.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "port_range.h"
#include "schema/host.h"
#include "schema/pattern.h"

/* From the loosest to the closest. */
enum net_class { NET_ANY = 1, NET_CIDR, NET_SUFFIX, NET_EXACT };

struct net_pattern {
	enum net_class class;
	struct host host;
	unsigned bits; /* of a CIDR */
	struct port_range ports;
};

/* *ret_pattern is zeroed before. */
int net_pattern_parse(const char *text, struct net_pattern *ret_pattern, struct error *error);
char *net_pattern_format(const struct net_pattern *pattern); /* its normal text; freed by the caller */
bool net_pattern_is_literal(const struct net_pattern *pattern);

/* "host:port", as host_port_format writes it. */
bool net_pattern_match(const struct net_pattern *pattern, const char *target, struct pattern_rank *rank);
bool net_pattern_is_loopback(const struct net_pattern *pattern); /* localhost, 127.0.0.1, ::1 */
/* The same as net_pattern_match, of a pattern that denies or asks: one of the loopback means all of it, and one of an
 * address or a network also "localhost", which leads there. */
bool net_pattern_restricts(const struct net_pattern *pattern, const char *target, struct pattern_rank *rank);
/* Of a pattern that denies or asks: does it mean all hosts of b? */
bool net_pattern_restricts_hosts(const struct net_pattern *pattern, const struct net_pattern *b);
/* Are b's hosts all among a's? */
bool net_pattern_covers_host(const struct net_pattern *a, const struct net_pattern *b);
/* Have they a host in common? */
bool net_pattern_meets_host(const struct net_pattern *a, const struct net_pattern *b);
/* The host alone; rank->depth. */
bool net_pattern_match_host(const struct net_pattern *pattern, const char *host, struct pattern_rank *rank);
