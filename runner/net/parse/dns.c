#include "dns.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/string.h"

enum {
	HEADER_SIZE = 12,
	ROOM_MIN = 512,       /* of who says nothing (RFC 1035 2.3.4) */
	ROOM_OURS = 1232,     /* what we take; no fragments (DNS flag day 2020) */
	RECORD_HEAD = 2 + 10, /* of an answer: pointer, type, class, ttl, size */
	OPT_SIZE = 11,
	LABEL_MAX = 63,
	NAME_POINTER = 0xc000 | HEADER_SIZE /* the question's name */
};
enum {
	FLAG_QR = 0x8000,
	FLAG_OPCODE = 0x7800,
	FLAG_AA = 0x0400,
	FLAG_TC = 0x0200,
	FLAG_RD = 0x0100,
	FLAG_RA = 0x0080,
	FLAG_CD = 0x0010
};
static_assert(ROOM_MIN >= HEADER_SIZE + DNS_QUESTION_MAX + OPT_SIZE, "a reply without records always has room");

struct reader {
	const uint8_t *at, *end;
};

static bool read_16(struct reader *reader, uint16_t *ret_value) {
	if (reader->end - reader->at < 2) return false;
	*ret_value = (uint16_t)(reader->at[0] << 8 | reader->at[1]);
	reader->at += 2;
	return true;
}

static bool is_host_byte(uint8_t byte) {
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
	       byte == '-' || byte == '_';
}

static bool read_name(struct reader *reader, struct dns_query *query) {
	const uint8_t *start = reader->at;
	size_t length = 0;

	query->is_text = true;
	for (;;) {
		if (reader->at == reader->end) return false;
		const size_t label = *reader->at++;
		if (label > LABEL_MAX) return false; /* pointers, and what RFC 6891 5 has ended */
		if (label > (size_t)(reader->end - reader->at)) return false;
		if ((size_t)(reader->at - start) + label >= DNS_NAME_MAX + (label == 0)) return false;
		if (label == 0) break;
		if (length > 0) query->name[length++] = '.';
		for (size_t i = 0; i < label; i++) {
			query->is_text = query->is_text && is_host_byte(reader->at[i]);
			query->name[length++] = (char)reader->at[i];
		}
		reader->at += label;
	}
	query->name[length] = '\0';
	if (!query->is_text) query->name[0] = '\0';
	return true;
}

/* What may follow a question: OPT, once. `counts` are those of the header. */
static int read_rest(struct reader *reader, const uint16_t counts[4], struct dns_query *query) {
	uint16_t type = 0, room = 0, size = 0;

	if (counts[1] != 0 || counts[2] != 0 || counts[3] > 1) return DNS_FORMERR;
	if (counts[3] == 1) {
		if (reader->end - reader->at < OPT_SIZE || *reader->at++ != 0) return DNS_FORMERR;
		read_16(reader, &type);
		read_16(reader, &room);
		const uint8_t version = reader->at[1];
		reader->at += 4;
		read_16(reader, &size);
		if (type != DNS_OPT || reader->end - reader->at != size) return DNS_FORMERR;
		reader->at += size;
		query->extended = true;
		if (room > query->room) query->room = room < LIMIT_DNS_REPLY ? room : LIMIT_DNS_REPLY;
		if (version > 0) return DNS_BADVERS;
	}
	return reader->at == reader->end ? DNS_NOERROR : DNS_FORMERR;
}

int dns_query_parse(const uint8_t *bytes, size_t size, struct dns_query *ret_query) {
	struct reader reader = {bytes, bytes + size};
	struct dns_query *query = ret_query;
	uint16_t counts[4];

	*query = (struct dns_query){.room = ROOM_MIN};
	if (!read_16(&reader, &query->id) || !read_16(&reader, &query->flags)) return -EBADMSG;
	for (size_t i = 0; i < 4; i++)
		if (!read_16(&reader, &counts[i])) return -EBADMSG;
	if (query->flags & FLAG_QR) return -EBADMSG; /* two stubs would answer each other for ever */
	if (query->flags & FLAG_OPCODE) return DNS_NOTIMP;
	if (counts[0] != 1) return DNS_FORMERR; /* RFC 9619 */
	if (!read_name(&reader, query) || !read_16(&reader, &query->type) || !read_16(&reader, &query->class))
		return DNS_FORMERR;
	query->question_size = (size_t)(reader.at - bytes) - HEADER_SIZE;
	memcpy(query->question, bytes + HEADER_SIZE, query->question_size);
	return read_rest(&reader, counts, query);
}

static void put_16(uint8_t *at, unsigned value) {
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* RA, so that nobody takes an answer without records for a referral to nowhere (Go, glibc); AA for the same reason. */
void dns_reply_begin(struct dns_reply *reply, const struct dns_query *query, enum dns_code code) {
	const unsigned flags = FLAG_QR | FLAG_AA | FLAG_RA | (query->flags & (FLAG_OPCODE | FLAG_RD | FLAG_CD));

	*reply = (struct dns_reply){.query = query, .size = HEADER_SIZE + query->question_size};
	reply->room = query->room - (query->extended ? (size_t)OPT_SIZE : 0);
	put_16(reply->bytes, query->id);
	put_16(reply->bytes + 2, flags | (code & 15));
	put_16(reply->bytes + 4, query->question_size > 0);
	memcpy(reply->bytes + HEADER_SIZE, query->question, query->question_size);
	if (!query->extended) return;
	/* Kept behind the room until the end. */
	uint8_t *opt = reply->bytes + reply->room;
	put_16(opt + 1, DNS_OPT);
	put_16(opt + 3, ROOM_OURS);
	opt[5] = (uint8_t)(code >> 4);
}

bool dns_reply_is_truncated(const struct dns_reply *reply) {
	return reply->bytes[2] & FLAG_TC >> 8;
}

void dns_reply_truncate(struct dns_reply *reply) {
	reply->size = HEADER_SIZE + reply->query->question_size;
	reply->answers = 0;
	reply->bytes[2] |= FLAG_TC >> 8;
}

void dns_reply_add(struct dns_reply *reply, uint16_t type, uint32_t ttl, const uint8_t *data, size_t size) {
	uint8_t *at = reply->bytes + reply->size;

	if (dns_reply_is_truncated(reply)) return;
	if (size + RECORD_HEAD > reply->room - reply->size) {
		dns_reply_truncate(reply);
		return;
	}
	put_16(at, NAME_POINTER);
	put_16(at + 2, type);
	put_16(at + 4, DNS_IN);
	put_16(at + 6, ttl >> 16);
	put_16(at + 8, ttl & UINT16_MAX);
	put_16(at + 10, (unsigned)size);
	memcpy(at + RECORD_HEAD, data, size);
	reply->size += RECORD_HEAD + size;
	reply->answers++;
}

void dns_reply_finish(struct dns_reply *reply) {
	put_16(reply->bytes + 6, reply->answers);
	if (!reply->query->extended) return;
	put_16(reply->bytes + 10, 1);
	memmove(reply->bytes + reply->size, reply->bytes + reply->room, OPT_SIZE);
	reply->size += OPT_SIZE;
}

size_t dns_name_write(const char *name, uint8_t ret_labels[DNS_NAME_MAX]) {
	size_t size = 0;

	while (*name) {
		const size_t label = strcspn(name, ".");
		ret_labels[size++] = (uint8_t)label;
		memcpy(ret_labels + size, name, label);
		size += label;
		name += label + (name[label] == '.');
	}
	ret_labels[size++] = 0;
	return size;
}

/* One label of the front: `base` digits, at most `max`. */
static bool take_number(const char **name, unsigned base, unsigned max, uint8_t *ret_value) {
	static const char digits[] = "0123456789abcdef";
	unsigned value = 0;
	const char *p = *name;

	for (; *p && *p != '.'; p++) {
		const char *digit = memchr(digits, *p | (*p >= 'A' ? 0x20 : 0), base);
		if (!digit || p - *name == 3) return false;
		value = value * base + (unsigned)(digit - digits);
	}
	if (p == *name || *p != '.' || value > max) return false;
	*ret_value = (uint8_t)value;
	*name = p + 1;
	return true;
}

bool dns_reverse_parse(const char *name, struct sockaddr_storage *ret_address) {
	struct sockaddr_in ipv4 = {.sin_family = AF_INET};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};
	uint8_t bytes[4], low, high;
	const char *p = name;
	size_t i;

	*ret_address = (struct sockaddr_storage){0};
	for (i = 4; i-- > 0;)
		if (!take_number(&p, 10, UINT8_MAX, &bytes[i])) break;
	if (i == SIZE_MAX && strcasecmp(p, "in-addr.arpa") == 0) {
		memcpy(&ipv4.sin_addr, bytes, sizeof bytes);
		memcpy(ret_address, &ipv4, sizeof ipv4);
		return true;
	}
	p = name;
	for (i = sizeof ipv6.sin6_addr.s6_addr; i-- > 0;) {
		if (!take_number(&p, 16, 15, &low) || !take_number(&p, 16, 15, &high)) return false;
		ipv6.sin6_addr.s6_addr[i] = (uint8_t)(high << 4 | low);
	}
	if (strcasecmp(p, "ip6.arpa") != 0) return false;
	memcpy(ret_address, &ipv6, sizeof ipv6);
	return true;
}
