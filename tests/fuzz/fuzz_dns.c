/*
 * What a sandbox asks its name server, and what the host's name servers answer: whatever comes in, what goes out is a
 * well-formed answer to the question, byte by byte as it was asked, not longer than its asker takes, and names in it
 * are host names.
 */
#include <arpa/nameser.h>
#include <resolv.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz.h"
#include "net/dns/records.h"
#include "net/parse/dns.h"

enum { HEADER_SIZE = 12 };

static void check_names(const struct dns_reply *reply, const ns_msg *message) {
	struct host host;
	char target[NS_MAXDNAME];
	ns_rr row;

	for (int i = 0; i < ns_msg_count(*message, ns_s_an); i++) {
		demand(ns_parserr((ns_msg *)message, ns_s_an, i, &row) == 0, "a record does not parse");
		demand(ns_rr_type(row) == reply->query->type, "a record of another type");
		if (ns_rr_type(row) != ns_t_srv) continue;
		demand(ns_name_uncompress(ns_msg_base(*message), ns_msg_end(*message), ns_rr_rdata(row) + 6, target,
					  sizeof target) >= 0,
		       "a target is no name");
		demand(!*target || strcmp(target, ".") == 0 || host_parse(target, strlen(target), &host, NULL) == 0,
		       "a target is no host: %s", target);
	}
}

static void check_reply(const struct dns_query *query, enum dns_code code, const struct dns_records *records) {
	struct dns_reply reply;
	ns_msg message;

	dns_reply_begin(&reply, query, code);
	for (size_t i = 0; records && i < records->count; i++)
		dns_reply_add(&reply, query->type, records->items[i].ttl, records->items[i].data,
			      records->items[i].size);
	dns_reply_finish(&reply);
	demand(reply.size <= query->room && reply.size <= sizeof reply.bytes, "longer than its asker takes");
	demand(memcmp(reply.bytes + HEADER_SIZE, query->question, query->question_size) == 0, "another question");
	demand(ns_initparse(reply.bytes, (int)reply.size, &message) == 0, "the answer does not parse");
	demand(ns_msg_count(message, ns_s_ar) == query->extended, "an OPT for who has none, or none");
	check_names(&reply, &message);
}

/* As asked for by somebody who takes much, and little. */
static void check_records(const uint8_t *bytes, size_t size, enum dns_type type) {
	static const uint16_t rooms[] = {512, 1232, LIMIT_DNS_REPLY};
	struct dns_records records = {.count = 0};
	const enum dns_code code = records_parse(&records, bytes, (int)size, type);

	for (size_t i = 0; i < ARRAY_LENGTH(rooms); i++) {
		struct dns_query query = {.type = (uint16_t)type, .class = DNS_IN, .extended = i > 0, .room = rooms[i]};

		query.question[0] = 1;
		query.question[1] = 'x';
		query.question[4] = (uint8_t)type;
		query.question[6] = DNS_IN;
		query.question_size = 7;
		check_reply(&query, code, &records);
	}
	records_finish(&records);
}

static void check_query(const uint8_t *bytes, size_t size) {
	struct dns_query query;
	struct sockaddr_storage address;
	struct host host;
	const int code = dns_query_parse(bytes, size, &query);

	if (code < 0) return;
	demand(query.room >= 512 && query.room <= LIMIT_DNS_REPLY, "a room of %u", query.room);
	demand(query.question_size <= DNS_QUESTION_MAX, "a question of %zu bytes", query.question_size);
	check_reply(&query, (enum dns_code)code, NULL);
	if (code != DNS_NOERROR) return;
	demand(memcmp(query.question, bytes + HEADER_SIZE, query.question_size) == 0,
	       "not the question that was asked");
	if (!query.is_text) return;
	uint8_t labels[DNS_NAME_MAX];
	demand(dns_name_write(query.name, labels) + 4 == query.question_size &&
		       memcmp(labels, query.question, query.question_size - 4) == 0,
	       "the name is another than its labels");
	(void)dns_reverse_parse(query.name, &address);
	if (*query.name) (void)host_parse(query.name, strlen(query.name), &host, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	uint8_t *bytes = mem_copy(data, size); /* of exactly this size, for the sanitizer */

	check_query(bytes, size);
	check_records(bytes, size, DNS_SRV);
	check_records(bytes, size, DNS_TXT);
	free(bytes);
	return 0;
}
