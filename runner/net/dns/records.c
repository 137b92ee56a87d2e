#include "records.h"

#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"

enum { TTL_MAX = 300, SRV_HEAD = 6 /* priority, weight, port */, RETRY_SECONDS = 2, TRIES = 2 };

static int system_ask(void *context, const char *name, enum dns_type type, uint8_t *ret_answer, int room) {
	struct __res_state state = {0};
	int size;

	(void)context;
	if (res_ninit(&state) < 0) return -NO_RECOVERY;
	state.retrans = RETRY_SECONDS;
	state.retry = TRIES;
	size = res_nquery(&state, name, ns_c_in, (int)type, ret_answer, room);
	if (size < 0) size = -(state.res_h_errno > 0 ? state.res_h_errno : TRY_AGAIN);
	res_nclose(&state);
	return size < room ? size : room;
}

const struct record_source *record_source_system(void) {
	static const struct record_source source = {.ask = system_ask};

	return &source;
}

static void add(struct dns_records *records, uint32_t ttl, const uint8_t *data, size_t size) {
	if (records->count == LIMIT_DNS_RECORDS) return;
	records->items[records->count++] =
		(struct dns_record){.ttl = ttl < TTL_MAX ? ttl : TTL_MAX, .data = mem_copy(data, size), .size = size};
}

/* RFC 2782: the target is a name, or the root where there is no such service. */
static void add_srv(struct dns_records *records, const ns_msg *message, const ns_rr *row) {
	uint8_t data[SRV_HEAD + DNS_NAME_MAX];
	char target[NS_MAXDNAME];
	struct host host = {.name = ""};

	if (ns_rr_rdlen(*row) <= SRV_HEAD) return;
	if (ns_name_uncompress(ns_msg_base(*message), ns_msg_end(*message), ns_rr_rdata(*row) + SRV_HEAD, target,
			       sizeof target) < 0)
		return;
	if (!string_equal(target, "") && !string_equal(target, ".") &&
	    (host_parse(target, strlen(target), &host, NULL) < 0 || host.class != HOST_NAME))
		return;
	memcpy(data, ns_rr_rdata(*row), SRV_HEAD);
	add(records, ns_rr_ttl(*row), data, SRV_HEAD + dns_name_write(host.name, data + SRV_HEAD));
}

/* Texts of up to 255 bytes, one behind the other, at least one (RFC 1035 3.3.14). */
static void add_txt(struct dns_records *records, const ns_rr *row) {
	const size_t size = ns_rr_rdlen(*row);
	size_t at = 0;

	while (at < size) at += 1U + ns_rr_rdata(*row)[at];
	if (size > 0 && at == size) add(records, ns_rr_ttl(*row), ns_rr_rdata(*row), size);
}

static enum dns_code code_of(int h_error) {
	return h_error == HOST_NOT_FOUND ? DNS_NXDOMAIN : h_error == NO_DATA ? DNS_NOERROR : DNS_SERVFAIL;
}

enum dns_code records_parse(struct dns_records *records, const uint8_t *answer, int size, enum dns_type type) {
	ns_msg message;
	ns_rr row;

	if (size < 0) return code_of(-size);
	if (ns_initparse(answer, size, &message) < 0) return DNS_SERVFAIL;
	for (int i = 0; i < ns_msg_count(message, ns_s_an); i++) {
		if (ns_parserr(&message, ns_s_an, i, &row) < 0) return DNS_SERVFAIL;
		if (ns_rr_type(row) != (ns_type)type || ns_rr_class(row) != ns_c_in) continue;
		if (type == DNS_SRV) add_srv(records, &message, &row);
		if (type == DNS_TXT) add_txt(records, &row);
	}
	return DNS_NOERROR;
}

void records_finish(struct dns_records *records) {
	for (size_t i = 0; i < records->count; i++) free(records->items[i].data);
	*records = (struct dns_records){.count = 0};
}

struct records_work {
	struct record_source source;
	char *name;
	enum dns_type type;
	records_done *done;
	enum dns_code code;
	struct dns_records records;
};

static void ask(void *argument) {
	struct records_work *work = argument;
	CLEANUP_FREE uint8_t *answer = mem_array(uint8_t, LIMIT_DNS_UPSTREAM);
	const int size = work->source.ask(work->source.context, work->name, work->type, answer, LIMIT_DNS_UPSTREAM);

	work->code = records_parse(&work->records, answer, size, work->type);
}

static void tell(void *argument, void *asker) {
	const struct records_work *work = argument;

	work->done(asker, work->code, &work->records);
}

static void fail(void *argument) {
	struct records_work *work = argument;

	work->code = DNS_SERVFAIL;
}

static void drop(void *argument) {
	struct records_work *work = argument;

	records_finish(&work->records);
	free(work->name);
	free(work);
}

struct worker_job *records_start(struct workers *workers, const struct record_source *source, const char *name,
				 enum dns_type type, records_done *done, void *argument) {
	static const struct worker_task task = {.run = ask, .done = tell, .fail = fail, .drop = drop};
	struct records_work *work = mem_new(struct records_work);

	*work = (struct records_work){.source = *source, .name = string_copy(name), .type = type, .done = done};
	return workers_start(workers, &task, work, argument);
}
