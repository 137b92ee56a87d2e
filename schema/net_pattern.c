#include "net_pattern.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/string.h"

static const char localhost[] = "localhost";

/* "host", "host:ports", "[v6]:ports", "v6" → where the host ends and the ports begin (NULL = none). */
static int split_ports(const char *text, const char **ret_host, size_t *ret_size, const char **ret_ports,
		       struct error *error) {
	*ret_host = text;
	*ret_ports = NULL;
	const char *colon;
	if (*text == '[') {
		const char *end = strchr(text, ']');
		if (!end || (end[1] != '\0' && end[1] != ':'))
			return error_set(error, EINVAL,
					 "expected an IPv6 address in brackets such as [2001:db8::1]:443");
		*ret_host = text + 1;
		*ret_size = (size_t)(end - text - 1);
		if (end[1] == ':') *ret_ports = end + 2;
		return 0;
	}
	colon = strchr(text, ':');
	if (colon && !strchr(colon + 1, ':')) {
		*ret_size = (size_t)(colon - text);
		*ret_ports = colon + 1;
	} else {
		*ret_size = strlen(text);
	}
	return 0;
}

static void mask_address(struct host *host, unsigned bits) {
	size_t size = host->class == HOST_IPV4 ? 4 : 16;
	for (size_t i = 0; i < size; i++) {
		unsigned keep = bits >= (i + 1) * 8 ? 8 : bits > i * 8 ? bits - (unsigned)i * 8 : 0;
		host->address[i] = (uint8_t)(host->address[i] & (0xff00U >> keep));
	}
	inet_ntop(host->class == HOST_IPV4 ? AF_INET : AF_INET6, host->address, host->name, sizeof host->name);
}

/* ::ffff:10.0.0.0/104 is 10.0.0.0/8: such an address is known as the IPv4 one that it stands for (RFC 4291, 2.5.5.2).
 */
static int unmap_network(struct net_pattern *pattern, struct error *error) {
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct host *host = &pattern->host;
	if (host->class != HOST_IPV6 || memcmp(host->address, mapped, sizeof mapped) != 0) return 0;
	if (pattern->bits < 96)
		return error_set(
			error, EINVAL,
			"a network of IPv4 addresses in IPv6 has 96 bits or more: write the IPv4 network, such "
			"as 10.0.0.0/8");
	host->class = HOST_IPV4;
	memmove(host->address, host->address + sizeof mapped, 4);
	pattern->bits -= 96;
	return 0;
}

static int parse_cidr(struct net_pattern *pattern, const char *text, size_t size, const char *slash,
		      struct error *error) {
	unsigned long long bits;
	CLEANUP_FREE char *digits = string_copy_bytes(slash + 1, size - (size_t)(slash - text) - 1);
	/* 127.0.0.0/8 must not be folded to localhost: take the address itself. */
	CLEANUP_FREE char *address = string_copy_bytes(text, (size_t)(slash - text));
	if (inet_pton(AF_INET, address, pattern->host.address) == 1)
		pattern->host.class = HOST_IPV4;
	else if (inet_pton(AF_INET6, address, pattern->host.address) == 1)
		pattern->host.class = HOST_IPV6;
	else
		return error_set(error, EINVAL, "expected an address before '/' such as 10.0.0.0/8");
	if (string_to_u64(digits, &bits) < 0 || bits > (pattern->host.class == HOST_IPV4 ? 32 : 128))
		return error_set(error, EINVAL, "expected the number of bits after '/' such as 10.0.0.0/8");
	pattern->class = NET_CIDR;
	pattern->bits = (unsigned)bits;
	int r = unmap_network(pattern, error);
	if (r < 0) return r;
	mask_address(&pattern->host, pattern->bits);
	return 0;
}

/* Written as a name, not as an address: it has a letter that no dotted decimal has. */
static bool is_localhost_name(const char *text, size_t size) {
	return size >= strlen(localhost) &&
	       strncasecmp(text + size - strlen(localhost) - (text[size - 1] == '.' ? 1 : 0), localhost,
			   strlen(localhost)) == 0;
}

/* As a pattern it means the loopback of IPv4 alone, where "localhost" means both. */
static void loopback4_set(struct host *host) {
	*host = (struct host){.class = HOST_IPV4, .address = {127, 0, 0, 1}, .name = "127.0.0.1"};
}

static int parse_host(struct net_pattern *pattern, const char *text, size_t size, struct error *error) {
	const char *slash = memchr(text, '/', size);
	if (size == 1 && *text == '*') {
		pattern->class = NET_ANY;
		return 0;
	}
	if (slash) return parse_cidr(pattern, text, size, slash, error);
	bool suffix = size > 2 && text[0] == '*' && text[1] == '.';
	if (memchr(text + (suffix ? 1 : 0), '*', size - (suffix ? 1 : 0)))
		return error_set(error, EINVAL, "'*' stands for whole labels at the front only: *.example.org");
	int r = host_parse(suffix ? text + 2 : text, suffix ? size - 2 : size, &pattern->host, error);
	if (r < 0) return r;
	if (suffix && pattern->host.class != HOST_NAME)
		return error_set(error, EINVAL, "'*.' goes with a domain, not with an address");
	if (pattern->host.class == HOST_LOCALHOST && !is_localhost_name(text, size)) loopback4_set(&pattern->host);
	pattern->class = suffix ? NET_SUFFIX : NET_EXACT;
	return 0;
}

int net_pattern_parse(const char *text, struct net_pattern *ret_pattern, struct error *error) {
	const char *host, *ports;
	size_t size = 0;
	int r = host_refuse_url(text, strlen(text), error);
	if (r == 0) r = split_ports(text, &host, &size, &ports, error);
	if (r == 0) r = parse_host(ret_pattern, host, size, error);
	if (r == 0 && ports) r = port_range_parse(ports, &ret_pattern->ports, error);
	return r;
}

char *net_pattern_format(const struct net_pattern *pattern) {
	CLEANUP_FREE char *ports = port_range_format(pattern->ports);
	const bool v6 = pattern->host.class == HOST_IPV6;
	const char *name = pattern->host.name;
	switch (pattern->class) {
	case NET_ANY:
		break;
	case NET_SUFFIX:
		return string_format("*.%s%s", name, ports);
	case NET_CIDR:
		return string_format(v6 ? "[%s/%u]%s" : "%s/%u%s", name, pattern->bits, ports);
	case NET_EXACT:
		return string_format(v6 ? "[%s]%s" : "%s%s", name, ports);
	}
	return string_format("*%s", ports);
}

bool net_pattern_is_literal(const struct net_pattern *pattern) {
	return pattern->class == NET_EXACT && pattern->ports.first != 0 && pattern->ports.first == pattern->ports.last;
}

/* Matching */

static bool address_in(const uint8_t *address, const uint8_t *network, unsigned bits) {
	for (unsigned i = 0; i < bits; i++) {
		unsigned shift = 7 - i % 8;
		if ((address[i / 8] >> shift & 1) != (network[i / 8] >> shift & 1)) return false;
	}
	return true;
}

static bool cidr_has(const struct net_pattern *pattern, const char *host) {
	uint8_t address[16];
	bool v4 = pattern->host.class == HOST_IPV4;
	return inet_pton(v4 ? AF_INET : AF_INET6, host, address) == 1 &&
	       address_in(address, pattern->host.address, pattern->bits);
}

/* A network with the unspecified address has the loopback, which that address leads to (schema/host.h). */
static bool match_cidr(const struct net_pattern *pattern, const char *host) {
	if (strcmp(host, localhost) == 0) host = "127.0.0.1";
	if (cidr_has(pattern, host)) return true;
	return (strcmp(host, "127.0.0.1") == 0 && cidr_has(pattern, "0.0.0.0")) ||
	       (strcmp(host, "::1") == 0 && cidr_has(pattern, "::"));
}

/*
 * A target "localhost" is 127.0.0.1 (schema/host.h), which the pattern of that address means, too; the pattern
 * "localhost" means ::1 as well.
 */
static bool loopback_matches(const char *name, const char *host) {
	if (strcmp(name, "127.0.0.1") == 0) return strcmp(host, localhost) == 0;
	return strcmp(name, localhost) == 0 && (strcmp(host, "::1") == 0 || strcmp(host, "127.0.0.1") == 0);
}

bool net_pattern_match_host(const struct net_pattern *pattern, const char *host, struct pattern_rank *rank) {
	const char *name = pattern->host.name;
	size_t size = strlen(host), name_size = strlen(name), length = 0;
	bool matches = false;
	switch (pattern->class) {
	case NET_ANY:
		matches = true;
		break;
	case NET_CIDR:
		matches = match_cidr(pattern, host);
		length = pattern->bits;
		break;
	case NET_SUFFIX:
		/* Label by label: evil-example.org is no *.example.org (CVE-2026-24052), nor is example.org itself. */
		matches = size > name_size + 1 && host[size - name_size - 1] == '.' &&
			  strcmp(host + size - name_size, name) == 0;
		length = name_size;
		break;
	case NET_EXACT:
		matches = strcmp(host, name) == 0 || loopback_matches(name, host);
		break;
	}
	rank->depth = (uint32_t)pattern->class << 16 | (uint32_t)length;
	return matches;
}

/* The host of "host:port" without brackets, and the port. */
static bool split_target(const char *target, char host[HOST_MAX], unsigned long *ret_port) {
	const char *colon = strrchr(target, ':');
	if (!colon) return false;
	bool bracket = *target == '[' && colon > target + 1;
	const char *start = bracket ? target + 1 : target;
	size_t size = (size_t)(colon - start) - (bracket ? 1 : 0);
	if (size >= HOST_MAX) return false;
	memcpy(host, start, size);
	host[size] = '\0';
	*ret_port = strtoul(colon + 1, NULL, 10);
	return true;
}

bool net_pattern_match(const struct net_pattern *pattern, const char *target, struct pattern_rank *rank) {
	char host[HOST_MAX];
	unsigned long port;
	return split_target(target, host, &port) && net_pattern_match_host(pattern, host, rank) &&
	       port_range_match(pattern->ports, port, rank);
}

static bool restricts_host(const struct net_pattern *pattern, const char *host, struct pattern_rank *rank) {
	if (net_pattern_match_host(pattern, host, rank)) return true;
	if (net_pattern_is_loopback(pattern)) return host_is_loopback(host);
	return pattern->class == NET_CIDR && strcmp(host, localhost) == 0 && match_cidr(pattern, "::1");
}

bool net_pattern_restricts(const struct net_pattern *pattern, const char *target, struct pattern_rank *rank) {
	char host[HOST_MAX];
	unsigned long port;
	return split_target(target, host, &port) && restricts_host(pattern, host, rank) &&
	       port_range_match(pattern->ports, port, rank);
}

bool net_pattern_restricts_hosts(const struct net_pattern *pattern, const struct net_pattern *b) {
	struct pattern_rank unused;
	return b->class == NET_EXACT ? restricts_host(pattern, b->host.name, &unused)
				     : net_pattern_covers_host(pattern, b);
}

static bool suffix_covers(const struct net_pattern *a, const struct net_pattern *b) {
	size_t size = strlen(b->host.name), end = strlen(a->host.name);
	if (!string_ends(b->host.name, a->host.name)) return false;
	return size == end || b->host.name[size - end - 1] == '.';
}

bool net_pattern_covers_host(const struct net_pattern *a, const struct net_pattern *b) {
	struct pattern_rank unused;
	if (a->class == NET_ANY) return true;
	/* It means two addresses. */
	if (b->class == NET_EXACT && b->host.class == HOST_LOCALHOST) return strcmp(a->host.name, localhost) == 0;
	if (b->class == NET_EXACT) return net_pattern_match_host(a, b->host.name, &unused);
	if (a->class != b->class) return false;
	if (a->class == NET_SUFFIX) return suffix_covers(a, b);
	return a->class == NET_CIDR && a->host.class == b->host.class && a->bits <= b->bits &&
	       address_in(b->host.address, a->host.address, a->bits);
}

/* Of two hosts, domains or networks one has all of the other, or they share none; but localhost is two addresses, and
 * networks far from each other have the loopback (match_cidr). */
bool net_pattern_meets_host(const struct net_pattern *a, const struct net_pattern *b) {
	static const char *const loopback[] = {localhost, "::1"};
	struct pattern_rank unused;
	if (net_pattern_covers_host(a, b) || net_pattern_covers_host(b, a)) return true;
	for (size_t i = 0; i < ARRAY_LENGTH(loopback); i++)
		if (net_pattern_match_host(a, loopback[i], &unused) && net_pattern_match_host(b, loopback[i], &unused))
			return true;
	return false;
}

bool net_pattern_is_loopback(const struct net_pattern *pattern) {
	const char *name = pattern->host.name;
	return pattern->class == NET_EXACT &&
	       (strcmp(name, localhost) == 0 || strcmp(name, "127.0.0.1") == 0 || strcmp(name, "::1") == 0);
}
