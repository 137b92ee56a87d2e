#include "asker.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

enum { PORT = 53, TTL_SECONDS = 60 };

void asker_send(const struct asker *asker, struct dns_reply *reply) {
	dns_reply_finish(reply);
	if (asker->stream)
		stub_stream_answer(asker->stream, reply->bytes, reply->size);
	else if (asker->fd >= 0)
		(void)!sendto(asker->fd, reply->bytes, reply->size, MSG_DONTWAIT | MSG_NOSIGNAL,
			      (const struct sockaddr *)&asker->peer, asker->peer_size);
}

void asker_answer_code(const struct asker *asker, enum dns_code code) {
	struct dns_reply reply;

	dns_reply_begin(&reply, &asker->query, code);
	asker_send(asker, &reply);
}

static void answer_data(const struct asker *asker, uint16_t type, const uint8_t *data, size_t size) {
	struct dns_reply reply;

	dns_reply_begin(&reply, &asker->query, DNS_NOERROR);
	dns_reply_add(&reply, type, TTL_SECONDS, data, size);
	asker_send(asker, &reply);
}

static void answer_address(const struct asker *asker, const struct sockaddr_storage *address) {
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;

	if (address->ss_family == AF_INET) {
		memcpy(&ipv4, address, sizeof ipv4);
		answer_data(asker, DNS_A, (const uint8_t *)&ipv4.sin_addr, sizeof ipv4.sin_addr);
	} else {
		memcpy(&ipv6, address, sizeof ipv6);
		answer_data(asker, DNS_AAAA, ipv6.sin6_addr.s6_addr, sizeof ipv6.sin6_addr);
	}
}

bool asker_wants_address(const struct asker *asker) {
	return asker->query.type == DNS_A || asker->query.type == DNS_AAAA;
}

static int family_of(const struct asker *asker) {
	return asker->query.type == DNS_A ? AF_INET : AF_INET6;
}

socklen_t asker_loopback(int family, struct sockaddr_storage *ret_address) {
	const struct sockaddr_in ipv4 = {
		.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 ipv6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(PORT), .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	*ret_address = (struct sockaddr_storage){0};
	if (family == AF_INET) {
		memcpy(ret_address, &ipv4, sizeof ipv4);
		return sizeof ipv4;
	}
	memcpy(ret_address, &ipv6, sizeof ipv6);
	return sizeof ipv6;
}

void asker_answer_localhost(const struct asker *asker) {
	struct sockaddr_storage address;

	if (!asker_wants_address(asker)) {
		asker_answer_code(asker, DNS_NOERROR);
		return;
	}
	asker_loopback(family_of(asker), &address);
	answer_address(asker, &address);
}

static void answer_pointer(const struct asker *asker, const char *name) {
	uint8_t labels[DNS_NAME_MAX];

	answer_data(asker, DNS_PTR, labels, dns_name_write(name, labels));
}

static bool is_loopback(const struct sockaddr_storage *address) {
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;

	if (address->ss_family == AF_INET) {
		memcpy(&ipv4, address, sizeof ipv4);
		return ntohl(ipv4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	memcpy(&ipv6, address, sizeof ipv6);
	return IN6_IS_ADDR_LOOPBACK(&ipv6.sin6_addr);
}

void asker_answer_reverse(const struct asker *asker, const struct standins *standins,
			  const struct sockaddr_storage *address) {
	const struct host *host = standins_host(standins, (const struct sockaddr *)address);

	if (host)
		answer_pointer(asker, host->name);
	else if (is_loopback(address))
		answer_pointer(asker, "localhost");
	else
		asker_answer_code(asker, DNS_NXDOMAIN);
}

void asker_answer_name(const struct asker *asker, struct standins *standins, const struct host *host) {
	struct sockaddr_storage address;
	uint32_t index;

	if (!asker_wants_address(asker)) {
		asker_answer_code(asker, DNS_NOERROR);
	} else if (standins_find_or_add(standins, host, &index) < 0) {
		asker_answer_code(asker, DNS_SERVFAIL);
	} else {
		standin_address(index, family_of(asker), &address);
		answer_address(asker, &address);
	}
}
