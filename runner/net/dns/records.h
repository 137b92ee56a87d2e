/*
 * records: SRV and TXT of a name, asked of the host's name servers (res_nquery(3)), off the loop.
 *
 * Promises: those of workers.h, with LIMIT_DNS_THREADS threads. What comes back is taken apart by libresolv and put
 * together anew: only records of the type that was asked for, texts as texts, targets as host names that normalise
 * (schema/host.h); nothing is passed on as it came. Must not be asked before a verdict allows the name (attack N5).
 */
#pragma once

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

#include "net/parse/dns.h"
#include "net/streams/workers.h"

/* Where answers come from: the host's name servers, or a test's own. `ask` runs in a thread; it returns the answer's
 * size, or -h_errno (netdb.h). */
struct record_source {
	void *context;
	int (*ask)(void *context, const char *name, enum dns_type type, uint8_t *ret_answer, int room);
};
const struct record_source *record_source_system(void);

struct dns_record {
	uint32_t ttl;
	uint8_t *data; /* as dns_reply_add takes it; owned */
	size_t size;
};

struct dns_records {
	struct dns_record items[LIMIT_DNS_RECORDS];
	size_t count;
};

/* Adds what an answer of that size has of that type; how the question went. */
enum dns_code records_parse(struct dns_records *records, const uint8_t *answer, int size, enum dns_type type);
void records_finish(struct dns_records *records);

typedef void records_done(void *argument, enum dns_code code, const struct dns_records *records);
/* Cancelled by worker_cancel. */
struct worker_job *records_start(struct workers *workers, const struct record_source *source, const char *name,
				 enum dns_type type, records_done *done, void *argument);
