/*
 * asker: who has asked the sandbox's name server what, and what it is told.
 *
 * Promises: exactly one answer for each call; one that finds no room in its asker's buffer is lost, as datagrams are.
 */
#pragma once

#include <sys/socket.h>

#include "net/parse/dns.h"
#include "standins.h"
#include "stub_tcp.h"

struct asker {
	struct stub_stream *stream; /* over TCP; or NULL: at `peer`, through `fd` */
	int fd;                     /* -1: nobody waits for the answer any more */
	struct sockaddr_storage peer;
	socklen_t peer_size;
	struct dns_query query;
};

bool asker_wants_address(const struct asker *asker); /* A or AAAA */

void asker_send(const struct asker *asker, struct dns_reply *reply); /* one that was begun for its query */
void asker_answer_code(const struct asker *asker, enum dns_code code);
/* By the query's type: an address or a name, else no data. */
void asker_answer_localhost(const struct asker *asker);
void asker_answer_reverse(const struct asker *asker, const struct standins *standins,
			  const struct sockaddr_storage *address);
void asker_answer_name(const struct asker *asker, struct standins *standins, const struct host *host);

/* 127.0.0.1 or ::1, with a name server's port. */
socklen_t asker_loopback(int family, struct sockaddr_storage *ret_address);
