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
#include "stub.h"

#include <errno.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "asker.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "records.h"
#include "stub_tcp.h"

enum { PORTS_MAX = 2 };

struct port {
	struct stub *stub;
	int fd;
	struct event *readable;
};

struct question {
	TAILQ_ENTRY(question) entry;
	struct stub *stub;
	struct asker asker;
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
	bool paused;
	struct stub_tcp *tcp;    /* NULL: nobody has needed it */
	struct workers *workers; /* likewise */
	struct record_source source;
};

struct stub *stub_new(struct event_base *base, struct standins *standins, struct spares *spares,
		      const struct stub_judge *judge) {
	struct stub *stub = mem_new(struct stub);

	*stub = (struct stub){.base = base,
			      .standins = standins,
			      .spares = spares,
			      .judge = *judge,
			      .source = *record_source_system()};
	TAILQ_INIT(&stub->lookups);
	TAILQ_INIT(&stub->upstream);
	TAILQ_INIT(&stub->truncated);
	return stub;
}

void stub_use_source(struct stub *stub, const struct record_source *source) {
	stub->source = *source;
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

	if (!dns_reply_is_truncated(reply) || question->asker.stream || !stub->spares) return false;
	if (!stub->tcp) stub->tcp = stub_tcp_new(&options);
	return !stub_tcp_is_open(stub->tcp);
}

static void upstream_done(void *argument, enum dns_code code, const struct dns_records *records) {
	struct question *question = argument;
	struct stub *stub = question->stub;
	struct dns_reply reply;

	dns_reply_begin(&reply, &question->asker.query, code);
	for (size_t i = 0; i < records->count; i++)
		dns_reply_add(&reply, question->asker.query.type, records->items[i].ttl, records->items[i].data,
			      records->items[i].size);
	TAILQ_REMOVE(&stub->upstream, question, entry);
	question->upstream = NULL;
	if (needs_tcp(question, &reply)) {
		TAILQ_INSERT_TAIL(&stub->truncated, question, entry);
		return;
	}
	asker_send(&question->asker, &reply);
	question_free(stub, question);
	set_paused(stub);
}

static void tcp_opened(void *context) {
	struct stub *stub = context;
	struct question *question;
	struct dns_reply reply;

	while ((question = TAILQ_FIRST(&stub->truncated))) {
		TAILQ_REMOVE(&stub->truncated, question, entry);
		dns_reply_begin(&reply, &question->asker.query, DNS_NOERROR);
		dns_reply_truncate(&reply);
		asker_send(&question->asker, &reply);
		question_free(stub, question);
	}
	set_paused(stub);
}

static bool is_of_upstream(const struct question *question) {
	return question->asker.query.type == DNS_SRV || question->asker.query.type == DNS_TXT;
}

/* The whole name, "_ldap._tcp.example.org", where that of its host is allowed. */
static bool ask_upstream(struct question *question) {
	struct stub *stub = question->stub;
	struct host host;

	if (host_parse(question->asker.query.name, strlen(question->asker.query.name), &host, NULL) < 0) return false;
	if (!stub->workers) stub->workers = workers_new(stub->base, LIMIT_DNS_THREADS);
	TAILQ_INSERT_TAIL(&stub->upstream, question, entry);
	question->upstream =
		records_start(stub->workers, &stub->source, host.name,
			      question->asker.query.type == DNS_SRV ? DNS_SRV : DNS_TXT, upstream_done, question);
	return true;
}

/* True when it is answered, and not to wait for more. */
static bool settle(struct question *question, const struct host *host, const struct verdict *verdict) {
	if (verdict->effect == EFFECT_DENY) {
		/* What is denied for want of a broker may exist a moment later. */
		asker_answer_code(&question->asker,
				  string_equal(verdict->module, "broker") ? DNS_SERVFAIL : DNS_NXDOMAIN);
	} else if (!is_of_upstream(question)) {
		asker_answer_name(&question->asker, question->stub->standins, host);
	} else if (verdict->effect == EFFECT_ALLOW) {
		if (ask_upstream(question)) return false;
		asker_answer_code(&question->asker, DNS_NXDOMAIN);
	} else {
		asker_answer_code(&question->asker, DNS_NOERROR);
	}
	return true;
}

static void questions_drop(struct stub *stub, struct question_list *questions) {
	struct question *question;

	while ((question = TAILQ_FIRST(questions))) {
		TAILQ_REMOVE(questions, question, entry);
		if (question->upstream) worker_cancel(question->upstream);
		question_free(stub, question);
	}
}

/* It is in no list any more. */
static void lookup_free(struct name_lookup *lookup) {
	questions_drop(lookup->stub, &lookup->questions);
	lookup->stub->lookup_count--;
	free(lookup);
}

static void lookup_end(struct name_lookup *lookup) {
	TAILQ_REMOVE(&lookup->stub->lookups, lookup, entry);
	lookup_free(lookup);
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
	lookup_end(lookup);
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
	if (lookup->done) lookup_end(lookup);
}

/* Questions that come */

/* Whose name the question is about: of "_ldap._tcp.example.org" the host that has the service. */
static const char *subject_of(const struct question *question) {
	const char *name = question->asker.query.name;

	if (asker_wants_address(&question->asker)) return name;
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

/* A name outside, or localhost. */
static bool names_host(const struct question *question, struct host *ret_host) {
	const char *subject = subject_of(question);

	if (!question->asker.query.is_text || host_parse(subject, strlen(subject), ret_host, NULL) < 0) return false;
	return ret_host->class == HOST_LOCALHOST || (ret_host->class == HOST_NAME && !is_reverse_zone(ret_host->name));
}

static void take_question(const struct question *question) {
	const struct dns_query *query = &question->asker.query;
	struct sockaddr_storage address;
	struct host host;

	if (query->class != DNS_IN || is_meta(query->type))
		asker_answer_code(&question->asker, DNS_REFUSED);
	else if (query->is_text && query->name[0] == '\0')
		asker_answer_code(&question->asker, DNS_NOERROR); /* the root */
	else if (query->type == DNS_PTR && query->is_text && dns_reverse_parse(query->name, &address))
		asker_answer_reverse(&question->asker, question->stub->standins, &address);
	else if (!names_host(question, &host))
		asker_answer_code(&question->asker, DNS_NXDOMAIN);
	else if (host.class == HOST_LOCALHOST)
		asker_answer_localhost(&question->asker);
	else if (!is_of_upstream(question) && standins_has(question->stub->standins, &host))
		asker_answer_name(&question->asker, question->stub->standins, &host);
	else
		wait_for_name(question, &host);
}

/* False when it is to be passed over in silence. */
static bool take_bytes(struct question *question, const uint8_t *bytes, size_t size) {
	const int code = dns_query_parse(bytes, size, &question->asker.query);

	if (code < 0) return false;
	if (question->asker.stream) question->asker.query.room = LIMIT_DNS_REPLY;
	if (code > 0)
		asker_answer_code(&question->asker, (enum dns_code)code);
	else
		take_question(question);
	return true;
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct port *port = argument;
	uint8_t bytes[LIMIT_DNS_QUERY];

	(void)what;
	for (int i = 0; i < LIMIT_DNS_TURN && !port->stub->paused; i++) {
		struct question question = {.stub = port->stub,
					    .asker = {.fd = fd, .peer_size = sizeof question.asker.peer}};
		ssize_t size = recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC,
					(struct sockaddr *)&question.asker.peer, &question.asker.peer_size);

		if (size < 0) return;
		if ((size_t)size > sizeof bytes) continue;
		take_bytes(&question, bytes, (size_t)size);
		set_paused(port->stub);
	}
}

/* One question of each connection at most: they needn't be paused. */
static void tcp_question(void *context, struct stub_stream *stream, const uint8_t *bytes, size_t size) {
	struct question question = {.stub = context, .asker = {.stream = stream, .fd = -1}};

	if (!take_bytes(&question, bytes, size)) stub_stream_end(stream);
}

static void forget_stream(struct question_list *questions, const struct stub_stream *stream) {
	struct question *question;

	TAILQ_FOREACH(question, questions, entry)
	if (question->asker.stream == stream) question->asker.stream = NULL;
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
	size = asker_loopback(domain, &address);
	if (bind(fd, (const struct sockaddr *)&address, size) < 0)
		return error_errno(error, "port 53 of the sandbox's loopback");
	*port = (struct port){.stub = stub, .fd = fd_steal(&own)};
	port->readable = event_new(stub->base, fd, EV_READ | EV_PERSIST, on_readable, port);
	if (!port->readable || (!stub->paused && event_add(port->readable, NULL) < 0)) mem_exhausted();
	stub->port_count++;
	return 0;
}

void stub_free(struct stub *stub) {
	struct name_lookup *lookup;

	if (!stub) return;
	while ((lookup = TAILQ_FIRST(&stub->lookups))) {
		TAILQ_REMOVE(&stub->lookups, lookup, entry);
		if (lookup->ticket != 0 && stub->judge.cancel) stub->judge.cancel(stub->judge.context, lookup->ticket);
		lookup_free(lookup);
	}
	questions_drop(stub, &stub->upstream);
	questions_drop(stub, &stub->truncated);
	stub_tcp_free(stub->tcp);
	workers_free(stub->workers);
	for (size_t i = 0; i < stub->port_count; i++) {
		event_free(stub->ports[i].readable);
		fd_close(stub->ports[i].fd);
	}
	free(stub);
}
