/*
 * Theory of operation. A host goes one way: brackets off, IPv6 if there is a colon, else a name. A name that is not
 * pure ASCII (or has A-labels) goes through libidn2, and only its result is looked at: full-width digits and dots come
 * out as ASCII there, so the test for numeric forms must be behind it. A name whose last label is numeric ("ends in a
 * number", WHATWG URL section 3.5) must be a dotted decimal, because resolvers and libraries read 0x7f.1 or
 * 2130706433 as addresses each in their own way.
 */
#include "schema/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <idn2.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"

enum { LABEL_MAX = 63 /* RFC 1035 2.3.4 */, PORT_DIGITS = 5 };

/* Says what is wrong with which text, made visible. */
static int refuse(struct error *error, const char *text, size_t size, const char *why) {
	CLEANUP_FREE char *copy = string_copy_bytes(text, size);
	CLEANUP_FREE char *visible = text_visible_cut(copy, 80);

	return error_set(error, EINVAL, "\"%s\" %s", visible, why);
}

static bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_name_char(char c) {
	/* Underscores are no host name (RFC 952) but are in use, and they have one spelling only. */
	return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
}

static void localhost_set(struct host *host) {
	*host = (struct host){.class = HOST_LOCALHOST, .name = "localhost"};
}

static void ipv4_set(struct host *host, const uint8_t address[4]) {
	static const uint8_t loopback[4] = {127, 0, 0, 1}, unspecified[4] = {0};

	*host = (struct host){.class = HOST_IPV4};
	memcpy(host->address, address, 4);
	if (memcmp(address, loopback, 4) == 0 || memcmp(address, unspecified, 4) == 0)
		localhost_set(host);
	else
		inet_ntop(AF_INET, address, host->name, sizeof host->name);
}

static void ipv6_set(struct host *host, const struct in6_addr *address) {
	if (IN6_IS_ADDR_UNSPECIFIED(address)) address = &in6addr_loopback;
	*host = (struct host){.class = HOST_IPV6};
	memcpy(host->address, address, 16);
	if (IN6_IS_ADDR_V4MAPPED(address))
		ipv4_set(host, address->s6_addr + 12);
	else
		inet_ntop(AF_INET6, address, host->name, sizeof host->name);
}

static int ipv6_parse(const char *text, size_t size, struct host *ret_host, struct error *error) {
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (size >= sizeof copy) return refuse(error, text, size, "is not an IPv6 address");
	memcpy(copy, text, size);
	copy[size] = '\0';
	if (inet_pton(AF_INET6, copy, &address) != 1) return refuse(error, text, size, "is not an IPv6 address");
	ipv6_set(ret_host, &address);
	return 0;
}

static bool needs_idna(const char *text, size_t size) {
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] >= 0x80) return true;
	for (size_t i = 0; i + 4 <= size; i++)
		if ((i == 0 || text[i - 1] == '.') && strncasecmp(text + i, "xn--", 4) == 0) return true;
	return false;
}

/* To lower-case ASCII in `folded`, without judging what comes out. */
static int name_fold(const char *text, size_t size, char folded[HOST_MAX], struct error *error) {
	if (!needs_idna(text, size)) {
		if (size >= HOST_MAX) return refuse(error, text, size, "is longer than a host name can be (253 bytes)");
		for (size_t i = 0; i < size; i++)
			folded[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 0x20 : text[i]);
		folded[size] = '\0';
		return 0;
	}

	CLEANUP_FREE char *copy = string_copy_bytes(text, size);
	char *ascii = NULL;
	int r = idn2_lookup_u8((const uint8_t *)copy, (uint8_t **)&ascii,
			       IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL | IDN2_USE_STD3_ASCII_RULES);
	size_t length = r == IDN2_OK ? strlen(ascii) : 0;

	if (r == IDN2_OK && length < HOST_MAX) memcpy(folded, ascii, length + 1);
	idn2_free(ascii);
	if (r != IDN2_OK) return refuse(error, text, size, "is not an international host name (IDNA 2008)");
	if (length >= HOST_MAX) return refuse(error, text, size, "is longer than a host name can be (253 bytes)");
	return 0;
}

static bool labels_are_valid(const char *name) {
	for (const char *label = name;; label++) {
		const char *end = strchrnul(label, '.');

		if (end == label || end - label > LABEL_MAX) return false;
		if (*label == '-' || end[-1] == '-') return false;
		for (const char *c = label; c < end; c++)
			if (!is_name_char(*c)) return false;
		if (*end == '\0') return true;
		label = end;
	}
}

static bool ends_in_number(const char *name) {
	const char *dot = strrchr(name, '.');
	const char *last = dot ? dot + 1 : name;

	if (last[0] == '0' && (last[1] == 'x' || last[1] == 'X')) {
		for (last += 2; *last; last++)
			if (!is_hex(*last)) return false;
		return true;
	}
	for (; *last; last++)
		if (!is_digit(*last)) return false;
	return true;
}

static int name_parse(const char *text, size_t size, struct host *ret_host, struct error *error) {
	char name[HOST_MAX] = "";
	size_t length;
	uint8_t address[4];
	int r;

	if (text[size - 1] == '.') size--; /* the root's dot */
	if (size == 0) return error_set(error, EINVAL, "a host name is expected before the dot");
	if ((r = name_fold(text, size, name, error)) < 0) return r;
	if (!labels_are_valid(name))
		return refuse(
			error, text, size,
			"is not a host name: labels are 1 to 63 letters, digits, '-' and '_', without '-' at the ends");
	if (ends_in_number(name)) {
		if (inet_pton(AF_INET, name, address) != 1)
			return refuse(error, text, size, "is not an IPv4 address in dotted decimal, such as 192.0.2.1");
		ipv4_set(ret_host, address);
		return 0;
	}
	if (strcmp(name, "localhost") == 0 || string_ends(name, ".localhost")) { /* RFC 6761 6.3 */
		localhost_set(ret_host);
		return 0;
	}
	length = strlen(name);
	*ret_host = (struct host){.class = HOST_NAME};
	memcpy(ret_host->name, name, length + 1);
	return 0;
}

int host_parse(const char *text, size_t size, struct host *ret_host, struct error *error) {
	if (size == 0) return error_set(error, EINVAL, "a host is expected, not an empty text");
	if (memchr(text, '\0', size)) return error_set(error, EINVAL, "a host must not contain a NUL byte");
	if (memchr(text, '%', size))
		return refuse(error, text, size, "has a '%': neither escapes nor zone ids are taken in a host");
	if (memchr(text, '@', size)) return refuse(error, text, size, "has an '@': a user name is not part of a host");
	if (text[0] == '[') {
		if (size < 3 || text[size - 1] != ']') return refuse(error, text, size, "has an unclosed '['");
		return ipv6_parse(text + 1, size - 2, ret_host, error);
	}
	if (memchr(text, ':', size)) return ipv6_parse(text, size, ret_host, error);
	return name_parse(text, size, ret_host, error);
}

int port_parse(const char *text, size_t size, uint16_t *ret_port, struct error *error) {
	unsigned value = 0;

	if (size == 0 || size > PORT_DIGITS || text[0] == '0') goto bad;
	for (size_t i = 0; i < size; i++) {
		if (!is_digit(text[i])) goto bad;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	if (value > UINT16_MAX) goto bad;
	*ret_port = (uint16_t)value;
	return 0;
bad:
	return refuse(error, text, size, "is not a port: a number from 1 to 65535 is expected");
}

int host_refuse_url(const char *text, size_t size, struct error *error) {
	const char *start = size ? memmem(text, size, "://", 3) : NULL;

	if (!start) return 0;
	const char *port = start - text == 4 && strncasecmp(text, "http", 4) == 0 ? "80" : "443";
	CLEANUP_FREE char *rest = string_copy_bytes(start + 3, (size_t)(text + size - start - 3));
	rest[strcspn(rest, "/?#")] = '\0';
	CLEANUP_FREE char *shown = text_visible_cut(*rest ? rest : "example.org", 100);
	return strchr(rest, ':')
		       ? error_set(error, EINVAL, "a host and a port are expected, not a URL: %s", shown)
		       : error_set(error, EINVAL, "a host and a port are expected, not a URL: %s:%s", shown, port);
}

bool host_equal(const struct host *a, const struct host *b) {
	return a->class == b->class && strcmp(a->name, b->name) == 0;
}

int host_port_parse(const char *text, size_t size, struct host *ret_host, uint16_t *ret_port, struct error *error) {
	const char *colon = size ? memrchr(text, ':', size) : NULL;
	const char *first = size ? memchr(text, ':', size) : NULL;
	int r = host_refuse_url(text, size, error);

	if (r < 0) return r;
	if (!colon || colon == text) return refuse(error, text, size, "has no port: HOST:PORT is expected");
	if (text[0] == '[' ? colon[-1] != ']' : first != colon)
		return refuse(error, text, size, "is ambiguous: [ADDRESS]:PORT is expected for IPv6");
	if ((r = port_parse(colon + 1, (size_t)(text + size - colon - 1), ret_port, error)) < 0) return r;
	return host_parse(text, (size_t)(colon - text), ret_host, error);
}

char *host_port_format(const struct host *host, uint16_t port) {
	return string_format(host->class == HOST_IPV6 ? "[%s]:%u" : "%s:%u", host->name, (unsigned)port);
}

struct range {
	uint8_t prefix[16];
	uint8_t bits;
};

/* IANA IPv4 Special-Purpose Address Registry, and multicast (RFC 5771). */
static const struct range IPV4_PRIVATE[] = {
	{{0}, 8},                 /* this network, 0.0.0.0 reaches loopback: RFC 791 3.2 */
	{{10}, 8},                /* private use: RFC 1918 */
	{{100, 64}, 10},          /* shared, and a metadata service: RFC 6598 */
	{{127}, 8},               /* loopback: RFC 1122 3.2.1.3 */
	{{168, 63, 129, 16}, 32}, /* Azure's platform service, a public address that is metadata there */
	{{169, 254}, 16},         /* link-local, metadata: RFC 3927 */
	{{172, 16}, 12},          /* private use: RFC 1918 */
	{{192, 0, 0}, 24},        /* protocol assignments, and a metadata service: RFC 6890 */
	{{192, 0, 2}, 24},        /* documentation: RFC 5737 */
	{{192, 88, 99}, 24},      /* 6to4 relays: RFC 7526 */
	{{192, 168}, 16},         /* private use: RFC 1918 */
	{{198, 18}, 15},          /* benchmarking: RFC 2544; the stand-ins of our own sandboxes */
	{{198, 51, 100}, 24},     /* documentation: RFC 5737 */
	{{203, 0, 113}, 24},      /* documentation: RFC 5737 */
	{{224}, 4},               /* multicast */
	{{240}, 4},               /* reserved, limited broadcast: RFC 1112 4, RFC 919 7 */
};

/* IANA IPv6 Special-Purpose Address Registry, and multicast (RFC 4291 2.7). */
static const struct range IPV6_PRIVATE[] = {
	{{0}, 96},                                  /* unspecified, loopback, IPv4-compatible: RFC 4291 */
	{{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}, /* IPv4-translated: RFC 2765 2.1 */
	{{0, 0x64, 0xff, 0x9b, 0, 1}, 48},          /* local-use NAT64: RFC 8215 */
	{{1}, 16},                                  /* discard-only and dummy: RFC 6666, RFC 9780 */
	{{0x20, 0x01, 0}, 23},                      /* protocol assignments with Teredo and ORCHID: RFC 2928 */
	{{0x20, 0x01, 0x0d, 0xb8}, 32},             /* documentation: RFC 3849 */
	{{0x3f, 0xff}, 20},                         /* documentation: RFC 9637 */
	{{0x5f}, 16},                               /* segment routing: RFC 9602 */
	{{0xfc}, 7},                                /* unique local, metadata: RFC 4193 */
	{{0xfe, 0x80}, 10},                         /* link-local: RFC 4291 */
	{{0xfe, 0xc0}, 10},                         /* site-local: RFC 3879 */
	{{0xff}, 8},                                /* multicast */
};

/* IPv6 prefixes that carry an IPv4 address at `offset`, which is what decides. */
static const struct {
	struct range range;
	size_t offset;
} IPV4_INSIDE[] = {
	{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}, 12}, /* mapped: RFC 4291 2.5.5.2 */
	{{{0, 0x64, 0xff, 0x9b}, 96}, 12},                      /* NAT64: RFC 6052 2.1 */
	{{{0x20, 0x02}, 16}, 2},                                /* 6to4: RFC 3056 2 */
};

static bool range_contains(const struct range *range, const uint8_t *address) {
	size_t whole = range->bits / 8;
	unsigned rest = range->bits % 8;

	if (memcmp(range->prefix, address, whole) != 0) return false;
	return rest == 0 || (range->prefix[whole] ^ address[whole]) >> (8 - rest) == 0;
}

static bool ipv4_is_private(const uint8_t address[4]) {
	for (size_t i = 0; i < ARRAY_LENGTH(IPV4_PRIVATE); i++)
		if (range_contains(&IPV4_PRIVATE[i], address)) return true;
	return false;
}

static bool ipv6_is_private(const uint8_t address[16]) {
	for (size_t i = 0; i < ARRAY_LENGTH(IPV4_INSIDE); i++)
		if (range_contains(&IPV4_INSIDE[i].range, address))
			return ipv4_is_private(address + IPV4_INSIDE[i].offset);
	for (size_t i = 0; i < ARRAY_LENGTH(IPV6_PRIVATE); i++)
		if (range_contains(&IPV6_PRIVATE[i], address)) return true;
	return false;
}

bool address_is_private(const struct sockaddr *address) {
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;

	if (address->sa_family == AF_INET) {
		memcpy(&ipv4, address, sizeof ipv4);
		return ipv4_is_private((const uint8_t *)&ipv4.sin_addr);
	}
	if (address->sa_family == AF_INET6) {
		memcpy(&ipv6, address, sizeof ipv6);
		return ipv6.sin6_scope_id != 0 || ipv6_is_private(ipv6.sin6_addr.s6_addr);
	}
	return true;
}

bool host_is_private(const struct host *host) {
	switch (host->class) {
	case HOST_LOCALHOST:
		return true;
	case HOST_IPV4:
		return ipv4_is_private(host->address);
	case HOST_IPV6:
		return ipv6_is_private(host->address);
	case HOST_NAME:
		return false;
	}
	return false;
}

bool host_is_loopback(const char *name) {
	static const struct range loopback4 = {{127}, 8};
	uint8_t address[16];

	if (inet_pton(AF_INET, name, address) == 1) return range_contains(&loopback4, address);
	return strcmp(name, "localhost") == 0 || strcmp(name, "::1") == 0;
}

bool host_ipv4_inside(const struct host *host, struct host *ret_ipv4) {
	for (size_t i = 0; host->class == HOST_IPV6 && i < ARRAY_LENGTH(IPV4_INSIDE); i++) {
		if (!range_contains(&IPV4_INSIDE[i].range, host->address)) continue;
		ipv4_set(ret_ipv4, host->address + IPV4_INSIDE[i].offset);
		return true;
	}
	return false;
}
