/*
 * host: the one normaliser for host names and addresses, used for policy, DNS, HTTP and SOCKS alike (attack N3).
 *
 * Promises: two spellings of one host come out the same: lower case, IDNA 2008 (libidn2) to A-labels, one
 * trailing dot dropped, IPv6 compressed as RFC 5952 without brackets, [::ffff:a.b.c.d] as its IPv4.
 * 127.0.0.1, localhost and *.localhost are "localhost"; ::1 is an address of its own. The unspecified addresses are
 * what connect(2) takes them for (Linux: ip_route_output_key_hash_rcu, tcp_v6_connect): 0.0.0.0 is 127.0.0.1, :: is
 * ::1. What can't be normalised is refused: NUL, '%', '@', zone ids, empty or over-long labels, and numeric forms other
 * than dotted decimal (0x7f.1, 0177.0.0.1, 2130706433).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"
#include "schema/limits.h"

enum { HOST_MAX = LIMIT_HOST + 1 };

enum host_class { HOST_NAME, HOST_IPV4, HOST_IPV6, HOST_LOCALHOST };

struct host {
	enum host_class class;
	char name[HOST_MAX]; /* as shown, without brackets */
	uint8_t address[16]; /* network order; 4 or 16 bytes by class */
};

bool host_equal(const struct host *a, const struct host *b);

int host_parse(const char *text, size_t size, struct host *ret_host, struct error *error);

/* host:port → both; the port is required, 1 to 65535, decimal without sign or spaces; [v6]:port. */
int host_port_parse(const char *text, size_t size, struct host *ret_host, uint16_t *ret_port, struct error *error);
int port_parse(const char *text, size_t size, uint16_t *ret_port, struct error *error);

/* -EINVAL for a URL ("https://example.org/x"), with the host and port that it leads to in the message; else 0. */
int host_refuse_url(const char *text, size_t size, struct error *error);

/* Does this normal text of a host lead to the loopback: localhost, 127.0.0.0/8 or ::1? */
bool host_is_loopback(const char *name);
/* The IPv4 address that an IPv6 one carries and leads to (NAT64, 6to4). */
bool host_ipv4_inside(const struct host *host, struct host *ret_ipv4);

/* "name:443", "[2001:db8::1]:443". Freed by the caller. */
char *host_port_format(const struct host *host, uint16_t port);

/*
 * Addresses that a name from outside must not lead to (attack N6): private, link-local, loopback, metadata,
 * shared (100.64/10), multicast, documentation, benchmarking (198.18/15), unspecified, and the IPv4 ones of these
 * inside mapped, NAT64 (64:ff9b::/96) and 6to4 forms. By RFC 6890 and the IANA special-purpose registries.
 */
bool address_is_private(const struct sockaddr *address);
bool host_is_private(const struct host *host); /* such an address, or localhost; no name */
