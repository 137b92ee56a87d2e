/*
 * dns: questions and answers as bytes (RFC 1035, 6891), as the stub needs them.
 *
 * Promises: a question is read within its bytes, in one pass, without following pointers: nobody compresses the only
 * name there is. An answer carries the question as it came, byte by byte, so that a resolver that mixes upper and lower
 * case to know its answers (draft-vixie-dnsext-dns0x20) recognises it, and is never longer than what its asker takes:
 * what has no room is left out whole and TC says so.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/host.h"
#include "schema/limits.h"

enum dns_type {
	DNS_A = 1,
	DNS_PTR = 12,
	DNS_TXT = 16,
	DNS_AAAA = 28,
	DNS_SRV = 33,
	DNS_OPT = 41,
	DNS_META = 128, /* from here to ANY no types of data: transfers, signatures (RFC 6895 3.1) */
	DNS_ANY = 255
};
enum { DNS_IN = 1 };

enum dns_code {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16
};

enum { DNS_NAME_MAX = 255, DNS_QUESTION_MAX = DNS_NAME_MAX + 4 };

struct dns_query {
	uint16_t id, flags;
	uint8_t question[DNS_QUESTION_MAX]; /* name, type, class, as they came */
	size_t question_size;               /* 0: it could not be read */
	char name[HOST_MAX];                /* as text, "" for the root, without a dot at its end */
	bool is_text; /* else a label has a byte that no host's name has, and there is no `name` */
	uint16_t type, class;
	bool extended; /* it has an OPT record */
	uint16_t room; /* bytes that its asker takes in one datagram */
};

/* The code to answer with, DNS_NOERROR when it can be gone into; negative: not to be answered at all. */
int dns_query_parse(const uint8_t *bytes, size_t size, struct dns_query *ret_query);

struct dns_reply {
	uint8_t bytes[LIMIT_DNS_REPLY];
	size_t size, room; /* so far; in all */
	const struct dns_query *query;
	unsigned answers;
};

void dns_reply_begin(struct dns_reply *reply, const struct dns_query *query, enum dns_code code);
/* A record about the name that was asked for. Past the room: TC, and no records. */
void dns_reply_add(struct dns_reply *reply, uint16_t type, uint32_t ttl, const uint8_t *data, size_t size);
void dns_reply_truncate(struct dns_reply *reply); /* the same: TC, and no records */
bool dns_reply_is_truncated(const struct dns_reply *reply);
void dns_reply_finish(struct dns_reply *reply); /* `size` is the message's now */

/* A host's name as labels; how many bytes. "" is the root. */
size_t dns_name_write(const char *name, uint8_t ret_labels[DNS_NAME_MAX]);

/* "2.0.18.198.in-addr.arpa" or the same of ip6.arpa as the address it is about; false: it is about none. */
bool dns_reverse_parse(const char *name, struct sockaddr_storage *ret_address);
