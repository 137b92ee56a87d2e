/*
 * Theory of operation. A question is answered at once if nobody has to be asked; else it waits in the look-up of its
 * name, with others about the same name (resolvers ask for A and AAAA together), until the broker has said what it may
 * know. SRV and TXT of an allowed name then wait for the host's name servers.
 *
 *     datagram ─→ dns_query_parse ─→ answer        (malformed, meta, localhost, reverse, known names)
 *                       └─→ look-up of the name ─→ answer                (denied, A, AAAA, other types)
 *                                    └─→ upstream ─→ answer              (SRV, TXT, allowed)
 *
 * An answer that is too long for its asker's datagram says so (TC), and the asker comes back over TCP (stub_tcp.h),
 * which is listened on from then on: the first such answer waits for that.
 *
 * When as many wait as may, none is read any more: the kernel's buffer fills and drops, and resolvers ask again.
 *
 * libevent's own server (evdns) isn't used: 2.1.12 follows a null pointer on a question of less than twelve bytes
 * (libevent issue 1231), takes a dot within a label for one between labels, knows no EDNS and can't set RA.
 */
#include "net/stub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "dns.h"
#include "records.h"
#include "stub_tcp.h"

enum { PORT = 53, TTL_SECONDS = 60, PORTS_MAX = 2 };

struct port {
	struct stub *stub;
	int fd;
	struct event *readable;
};

struct question {
	TAILQ_ENTRY(question) entry;
	struct stub *stub;
	struct stub_stream *stream; /* over TCP; or NULL: from `peer`, to `fd` */
	int fd;                     /* -1: nobody waits for the answer any more */
	struct sockaddr_storage peer;
	socklen_t peer_size;
	struct dns_query query;
	struct worker_job *upstream; /* or NULL */
};
TAILQ_HEAD(question_list, question);

struct name_lookup {
	TAILQ_ENTRY(name_lookup) entry;
	struct stub *stub;
	struct host host;
	uint64_t ticket;
	bool starting, done; /* the judge has answered from within its call */
	struct question_list questions;
};
TAILQ_HEAD(lookup_list, name_lookup);

struct stub {
	struct event_base *base;
	struct standins *standins;
	struct stub_judge judge;
	struct port ports[PORTS_MAX];
	size_t port_count;
	struct lookup_list lookups;
	struct question_list upstream;  /* that wait for the host's name servers */
	struct question_list truncated; /* whose asker is to come back over TCP */
	size_t lookup_count, waiting;   /* look-ups; questions in them and in the lists */
	struct spares *spares;
	struct stub_tcp *tcp; /* NULL: nobody has needed it */
	bool paused;
	struct workers *workers;
	struct record_source source;
};

struct stub *stub_new(struct event_base *base, struct standins *standins, struct spares *spares,
		      const struct stub_judge *judge) {
	struct stub *stub = mem_new(struct stub);

	*stub = (struct stub){.base = base,
			      .standins = standins,
			      .spares = spares,
			      .judge = *judge,
			      .workers = workers_new(base, LIMIT_DNS_THREADS),
			      .source = *record_source_system()};
	TAILQ_INIT(&stub->lookups);
	TAILQ_INIT(&stub->upstream);
	TAILQ_INIT(&stub->truncated);
	return stub;
}

void stub_use_source(struct stub *stub, const struct record_source *source) {
	stub->source = *source;
}

/* Answers. One that finds no room in its asker's buffer is lost, as datagrams are. */

static void send_reply(const struct question *question, struct dns_reply *reply) {
	dns_reply_finish(reply);
	if (question->stream)
		stub_stream_answer(question->stream, reply->bytes, reply->size);
	else if (question->fd >= 0)
		(void)!sendto(question->fd, reply->bytes, reply->size, MSG_DONTWAIT | MSG_NOSIGNAL,
			      (const struct sockaddr *)&question->peer, question->peer_size);
}

static void answer_code(const struct question *question, enum dns_code code) {
	struct dns_reply reply;

	dns_reply_begin(&reply, &question->query, code);
	send_reply(question, &reply);
}

static void answer_data(const struct question *question, uint16_t type, const uint8_t *data, size_t size) {
	struct dns_reply reply;

	dns_reply_begin(&reply, &question->query, DNS_NOERROR);
	if (data) dns_reply_add(&reply, type, TTL_SECONDS, data, size);
	send_reply(question, &reply);
}

static void answer_address(const struct question *question, const struct sockaddr_storage *address) {
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;

	if (address->ss_family == AF_INET) {
		memcpy(&ipv4, address, sizeof ipv4);
		answer_data(question, DNS_A, (const uint8_t *)&ipv4.sin_addr, sizeof ipv4.sin_addr);
	} else {
		memcpy(&ipv6, address, sizeof ipv6);
		answer_data(question, DNS_AAAA, ipv6.sin6_addr.s6_addr, sizeof ipv6.sin6_addr);
	}
}

static bool is_address_type(const struct question *question) {
	return question->query.type == DNS_A || question->query.type == DNS_AAAA;
}

static int family_of(const struct question *question) {
	return question->query.type == DNS_A ? AF_INET : AF_INET6;
}

static void loopback(int family, struct sockaddr_storage *ret_address) {
	const struct sockaddr_in ipv4 = {
		.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 ipv6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(PORT), .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	*ret_address = (struct sockaddr_storage){0};
	if (family == AF_INET)
		memcpy(ret_address, &ipv4, sizeof ipv4);
	else
		memcpy(ret_address, &ipv6, sizeof ipv6);
}

static void answer_localhost(const struct question *question) {
	struct sockaddr_storage address;

	if (!is_address_type(question)) {
		answer_code(question, DNS_NOERROR);
		return;
	}
	loopback(family_of(question), &address);
	answer_address(question, &address);
}

static void answer_pointer(const struct question *question, const char *name) {
	uint8_t labels[DNS_NAME_MAX];

	answer_data(question, DNS_PTR, labels, dns_name_write(name, labels));
}

static bool is_loopback(const struct sockaddr_storage *address) {
	struct sockaddr_storage own;
	struct sockaddr_in ipv4;

	if (address->ss_family == AF_INET) {
		memcpy(&ipv4, address, sizeof ipv4);
		return ntohl(ipv4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	loopback(AF_INET6, &own);
	return memcmp(&((const struct sockaddr_in6 *)address)->sin6_addr,
		      &((const struct sockaddr_in6 *)&own)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

static void answer_reverse(const struct question *question, const struct sockaddr_storage *address) {
	const struct stub *stub = question->stub;
	const struct host *host = standins_host(stub->standins, (const struct sockaddr *)address);

	if (host)
		answer_pointer(question, host->name);
	else if (is_loopback(address))
		answer_pointer(question, "localhost");
	else
		answer_code(question, DNS_NXDOMAIN);
}

/* About a name that may be known. */
static void answer_known(const struct question *question, const struct host *host) {
	struct sockaddr_storage address;
	uint32_t index;

	if (!is_address_type(question)) {
		answer_code(question, DNS_NOERROR);
	} else if (standins_find_or_add(question->stub->standins, host, &index) < 0) {
		answer_code(question, DNS_SERVFAIL);
	} else {
		standin_address(index, family_of(question), &address);
		answer_address(question, &address);
	}
}

/* Questions that wait */

static void set_paused(struct stub *stub) {
	const bool full = stub->lookup_count >= LIMIT_DNS_LOOKUPS || stub->waiting >= LIMIT_DNS_WAITING;

	if (full == stub->paused) return;
	stub->paused = full;
	for (size_t i = 0; i < stub->port_count; i++) {
		if (full)
			event_del(stub->ports[i].readable);
		else
			event_add(stub->ports[i].readable, NULL);
	}
}

static void question_free(struct stub *stub, struct question *question) {
	stub->waiting--;
	free(question);
}

static void tcp_opened(void *context);
static void tcp_question(void *context, struct stub_stream *stream, const uint8_t *bytes, size_t size);
static void tcp_gone(void *context, struct stub_stream *stream);

/* True when the asker is to be told to come back, but can't yet. */
static bool needs_tcp(const struct question *question, const struct dns_reply *reply) {
	struct stub *stub = question->stub;
	const struct stub_tcp_options options = {.base = stub->base,
						 .spares = stub->spares,
						 .context = stub,
						 .opened = tcp_opened,
						 .question = tcp_question,
						 .gone = tcp_gone};

	if (!dns_reply_is_truncated(reply) || question->stream || !stub->spares) return false;
	if (!stub->tcp) stub->tcp = stub_tcp_new(&options);
	return !stub_tcp_is_open(stub->tcp);
}

static void upstream_done(void *argument, enum dns_code code, const struct dns_records *records) {
	struct question *question = argument;
	struct stub *stub = question->stub;
	struct dns_reply reply;

	dns_reply_begin(&reply, &question->query, code);
	for (size_t i = 0; i < records->count; i++)
		dns_reply_add(&reply, question->query.type, records->items[i].ttl, records->items[i].data,
			      records->items[i].size);
	TAILQ_REMOVE(&stub->upstream, question, entry);
	if (needs_tcp(question, &reply)) {
		TAILQ_INSERT_TAIL(&stub->truncated, question, entry);
		return;
	}
	send_reply(question, &reply);
	question_free(stub, question);
	set_paused(stub);
}

static void tcp_opened(void *context) {
	struct stub *stub = context;
	struct question *question;
	struct dns_reply reply;

	while ((question = TAILQ_FIRST(&stub->truncated))) {
		TAILQ_REMOVE(&stub->truncated, question, entry);
		dns_reply_begin(&reply, &question->query, DNS_NOERROR);
		dns_reply_truncate(&reply);
		send_reply(question, &reply);
		question_free(stub, question);
	}
	set_paused(stub);
}

static bool is_of_upstream(const struct question *question) {
	return question->query.type == DNS_SRV || question->query.type == DNS_TXT;
}

/* The whole name, "_ldap._tcp.example.org", where that of its host is allowed. */
static bool ask_upstream(struct question *question) {
	struct stub *stub = question->stub;
	struct host host;

	if (host_parse(question->query.name, strlen(question->query.name), &host, NULL) < 0) return false;
	TAILQ_INSERT_TAIL(&stub->upstream, question, entry);
	question->upstream =
		records_start(stub->workers, &stub->source, host.name,
			      question->query.type == DNS_SRV ? DNS_SRV : DNS_TXT, upstream_done, question);
	return true;
}

/* True when it is answered, and not to wait for more. */
static bool settle(struct question *question, const struct host *host, const struct verdict *verdict) {
	if (verdict->effect == EFFECT_DENY) {
		/* What is denied for want of a broker may exist a moment later. */
		answer_code(question, string_equal(verdict->module, "broker") ? DNS_SERVFAIL : DNS_NXDOMAIN);
	} else if (!is_of_upstream(question)) {
		answer_known(question, host);
	} else if (verdict->effect == EFFECT_ALLOW) {
		if (ask_upstream(question)) return false;
		answer_code(question, DNS_NXDOMAIN);
	} else {
		answer_code(question, DNS_NOERROR);
	}
	return true;
}

static void lookup_free(struct name_lookup *lookup) {
	struct stub *stub = lookup->stub;
	struct question *question;

	while ((question = TAILQ_FIRST(&lookup->questions))) {
		TAILQ_REMOVE(&lookup->questions, question, entry);
		question_free(stub, question);
	}
	TAILQ_REMOVE(&stub->lookups, lookup, entry);
	stub->lookup_count--;
	free(lookup);
}

static void lookup_done(void *argument, const struct verdict *verdict) {
	struct name_lookup *lookup = argument;
	struct stub *stub = lookup->stub;
	struct question *question;

	if (verdict->effect == EFFECT_DENY && stub->judge.denied)
		stub->judge.denied(stub->judge.context, lookup->host.name, verdict);
	while ((question = TAILQ_FIRST(&lookup->questions))) {
		TAILQ_REMOVE(&lookup->questions, question, entry);
		if (settle(question, &lookup->host, verdict)) question_free(stub, question);
	}
	lookup->done = true;
	if (lookup->starting) return;
	lookup_free(lookup);
	set_paused(stub);
}

static struct name_lookup *lookup_find(const struct stub *stub, const struct host *host) {
	struct name_lookup *lookup;

	TAILQ_FOREACH(lookup, &stub->lookups, entry)
	if (strcmp(lookup->host.name, host->name) == 0) return lookup;
	return NULL;
}

static void wait_for_name(const struct question *asked, const struct host *host) {
	struct stub *stub = asked->stub;
	struct name_lookup *lookup = lookup_find(stub, host);
	struct question *question = mem_copy(asked, sizeof *asked);

	stub->waiting++;
	if (lookup) {
		TAILQ_INSERT_TAIL(&lookup->questions, question, entry);
		return;
	}
	lookup = mem_new(struct name_lookup);
	*lookup = (struct name_lookup){.stub = stub, .host = *host, .starting = true};
	TAILQ_INIT(&lookup->questions);
	TAILQ_INSERT_TAIL(&lookup->questions, question, entry);
	TAILQ_INSERT_TAIL(&stub->lookups, lookup, entry);
	stub->lookup_count++;
	lookup->ticket = stub->judge.name(stub->judge.context, lookup->host.name, lookup_done, lookup);
	lookup->starting = false;
	if (lookup->done) lookup_free(lookup);
}

/* Questions that come */

/* Whose name the question is about: of "_ldap._tcp.example.org" the host that has the service. */
static const char *subject_of(const struct question *question) {
	const char *name = question->query.name;

	if (is_address_type(question)) return name;
	while (*name == '_') {
		name += strcspn(name, ".");
		if (*name == '.') name++;
	}
	return name;
}

static bool is_reverse_zone(const char *name) {
	return string_ends(name, ".in-addr.arpa") || string_ends(name, ".ip6.arpa");
}

static bool is_meta(uint16_t type) {
	return (type >= DNS_META && type <= DNS_ANY) || type == DNS_OPT;
}

static void take_question(const struct question *question) {
	const struct dns_query *query = &question->query;
	const char *subject = subject_of(question);
	struct sockaddr_storage address;
	struct host host;

	if (query->class != DNS_IN || is_meta(query->type))
		answer_code(question, DNS_REFUSED);
	else if (!query->is_text)
		answer_code(question, DNS_NXDOMAIN);
	else if (query->type == DNS_PTR && dns_reverse_parse(query->name, &address))
		answer_reverse(question, &address);
	else if (query->name[0] == '\0')
		answer_code(question, DNS_NOERROR);
	else if (host_parse(subject, strlen(subject), &host, NULL) < 0 || is_reverse_zone(host.name))
		answer_code(question, DNS_NXDOMAIN);
	else if (host.class == HOST_LOCALHOST)
		answer_localhost(question);
	else if (host.class != HOST_NAME)
		answer_code(question, DNS_NXDOMAIN);
	else if (!is_of_upstream(question) && standins_has(question->stub->standins, &host))
		answer_known(question, &host);
	else
		wait_for_name(question, &host);
}

/* False when it is to be passed over in silence. */
static bool take_bytes(struct question *question, const uint8_t *bytes, size_t size) {
	const int code = dns_query_parse(bytes, size, &question->query);

	if (code < 0) return false;
	if (question->stream) question->query.room = LIMIT_DNS_REPLY;
	if (code > 0)
		answer_code(question, (enum dns_code)code);
	else
		take_question(question);
	return true;
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct port *port = argument;
	uint8_t bytes[LIMIT_DNS_QUERY];

	(void)what;
	for (int i = 0; i < LIMIT_DNS_TURN && !port->stub->paused; i++) {
		struct question question = {.stub = port->stub, .fd = fd, .peer_size = sizeof question.peer};
		ssize_t size = recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC,
					(struct sockaddr *)&question.peer, &question.peer_size);

		if (size < 0) return;
		if ((size_t)size > sizeof bytes) continue;
		take_bytes(&question, bytes, (size_t)size);
		set_paused(port->stub);
	}
}

/* One question of each connection at most: they needn't be paused. */
static void tcp_question(void *context, struct stub_stream *stream, const uint8_t *bytes, size_t size) {
	struct question question = {.stub = context, .stream = stream, .fd = -1};

	if (!take_bytes(&question, bytes, size)) stub_stream_end(stream);
}

static void forget_stream(struct question_list *questions, const struct stub_stream *stream) {
	struct question *question;

	TAILQ_FOREACH(question, questions, entry)
	if (question->stream == stream) question->stream = NULL;
}

static void tcp_gone(void *context, struct stub_stream *stream) {
	struct stub *stub = context;
	struct name_lookup *lookup;

	TAILQ_FOREACH(lookup, &stub->lookups, entry) forget_stream(&lookup->questions, stream);
	forget_stream(&stub->upstream, stream);
}

/* Sockets */

int stub_serve(struct stub *stub, int fd, struct error *error) {
	CLEANUP_FD int own = fd;
	struct port *port = &stub->ports[stub->port_count];
	struct sockaddr_storage address;
	const int on = 1;
	int domain = 0;
	socklen_t size = sizeof domain;

	if (stub->port_count == PORTS_MAX) return error_set(error, EALREADY, "the name server has its sockets already");
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0) return error_errno(error, "a socket's domain");
	if (domain == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0)
		return error_errno(error, "IPV6_V6ONLY");
	loopback(domain, &address);
	size = domain == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	if (bind(fd, (const struct sockaddr *)&address, size) < 0)
		return error_errno(error, "port 53 of the sandbox's loopback");
	*port = (struct port){.stub = stub, .fd = own};
	port->readable = event_new(stub->base, fd, EV_READ | EV_PERSIST, on_readable, port);
	if (!port->readable || (!stub->paused && event_add(port->readable, NULL) < 0)) mem_exhausted();
	stub->port_count++;
	own = -1;
	return 0;
}

void stub_free(struct stub *stub) {
	struct name_lookup *lookup;
	struct question *question;

	if (!stub) return;
	while ((lookup = TAILQ_FIRST(&stub->lookups))) {
		if (lookup->ticket != 0 && stub->judge.cancel) stub->judge.cancel(stub->judge.context, lookup->ticket);
		lookup_free(lookup);
	}
	while ((question = TAILQ_FIRST(&stub->upstream))) {
		TAILQ_REMOVE(&stub->upstream, question, entry);
		worker_cancel(question->upstream);
		question_free(stub, question);
	}
	while ((question = TAILQ_FIRST(&stub->truncated))) {
		TAILQ_REMOVE(&stub->truncated, question, entry);
		question_free(stub, question);
	}
	stub_tcp_free(stub->tcp);
	workers_free(stub->workers);
	for (size_t i = 0; i < stub->port_count; i++) {
		event_free(stub->ports[i].readable);
		fd_close(stub->ports[i].fd);
	}
	free(stub);
}
