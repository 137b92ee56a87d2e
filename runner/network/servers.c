#include "servers.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/string.h"
#include "calls/descriptors.h"
#include "calls/process.h"
#include "net/parse/host_port.h"
#include "net/publish/publish.h"
#include "sandbox/environment.h"
#include "schema/limits.h"

enum {
	STUB_PORT = 53,
	/* A connection's two ends, and a pipe each way while its bytes wait. A quarter of what a process may have open:
	 * the gate's connections, held calls and the portal need them, too. */
	INBOUND_FDS = 6,
	INBOUND_PART = 4,
};

static const uint16_t own_ports[] = {STUB_PORT, ENVIRONMENT_PROXY_PORT};

struct reserved {
	struct publication publication;
	struct host_port host;
	int64_t grant; /* of the run, for that port */
};

/* One that is published by name: who wants to know. */
struct named {
	struct servers *servers;
	int64_t number; /* of the push; 0: --publish */
	bool any;       /* of the host's ports */
};

struct servers {
	struct event_base *base;
	struct servers_options options;
	struct publisher *publisher; /* NULL: not begun, or nothing can be published */
	struct reserved *reserved;
	size_t reserved_count;
	int64_t session; /* that the grants of `reserved` are of */
	int64_t told;    /* the session whose broker knows the list; 0: there was none to tell */
	char *process;   /* of who listened last */
	struct strings parents;
};

struct servers *servers_new(struct event_base *base) {
	struct servers *servers = mem_new(struct servers);
	servers->base = base;
	return servers;
}

static bool is_own(uint16_t port) {
	for (size_t i = 0; i < ARRAY_LENGTH(own_ports); i++)
		if (own_ports[i] == port) return true;
	return false;
}

int servers_reserve(struct servers *servers, const struct publication *wanted, size_t count, struct error *error) {
	for (size_t i = 0; i < count; i++) {
		struct reserved reserved = {.publication = wanted[i], .host = HOST_PORT_NONE};
		int r = is_own(wanted[i].port) ? error_set(error, EINVAL, "that port inside is sbx's own")
					       : host_port_listen(wanted[i].host_port, &reserved.host, error);
		if (r < 0) return error_prefix(error, "--publish %u", wanted[i].port);
		servers->reserved = array_grow(servers->reserved, servers->reserved_count, sizeof *servers->reserved);
		servers->reserved[servers->reserved_count++] = reserved;
	}
	return 0;
}

/* What the publisher asks */

static uint64_t on_check(void *context, const char *port, bool found,
			 void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct servers *servers = context;
	struct session_wish wish = {.permission = "net:listen", .target = port};
	if (found) {
		wish.process = servers->process;
		wish.parents = &servers->parents;
	}
	return session_check(servers->options.session, &wish, done, argument);
}

static uint64_t on_check_again(void *context, const char *port,
			       void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct servers *servers = context;
	return session_check_again(servers->options.session, "net:listen", port, done, argument);
}

static void on_cancel(void *context, uint64_t ticket) {
	struct servers *servers = context;
	session_cancel(servers->options.session, ticket);
}

/* Where a connection to "localhost" would find it: not on an address that stands for a host's name. */
static bool is_on_loopback(struct diag *diag, uint16_t port) {
	const struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	return diag_listens(diag, (const struct sockaddr *)&v4) || diag_listens(diag, (const struct sockaddr *)&v6);
}

static size_t on_ports(void *context, uint16_t *ret_ports, size_t size) {
	const struct servers *servers = context;
	if (!servers->options.inside) return 0;
	const size_t count = diag_ports(servers->options.inside, ret_ports, size);
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (is_on_loopback(servers->options.inside, ret_ports[i])) ret_ports[kept++] = ret_ports[i];
	return kept;
}

static void tell(struct servers *servers, int64_t number, uint16_t host_port, const char *failed) {
	CLEANUP_STRINGS struct strings list = {0};
	publisher_list(servers->publisher, &list);
	session_published(servers->options.session, &list, number, host_port, failed);
	servers->told = session_id(servers->options.session);
}

static void on_changed(void *context) {
	tell(context, 0, 0, NULL);
}

static void say(const struct publication *publication, const char *why) {
	log_notice("port %u of the sandbox is at http://127.0.0.1:%u%s", publication->port, publication->host_port,
		   why);
}

static void say_failed(const struct publication *publication, const char *failed) {
	log_warning("port %u of the sandbox is not published: %s", publication->port, failed);
}

static void on_found(void *context, const struct publication *publication, const char *failed) {
	(void)context;
	if (failed)
		say_failed(publication, failed);
	else if (publication->host_port != publication->port)
		say(publication, ", since that port of this machine is taken");
}

static void on_report(void *context, const char *port, int64_t grant, uint64_t sent, uint64_t received,
		      int64_t duration_ms, const char *error) {
	struct servers *servers = context;
	json_t *detail =
		json_pack("{s:s, s:I, s:I, s:I, s:s*}", "door", "published", "sent", (json_int_t)sent, "received",
			  (json_int_t)received, "duration_ms", (json_int_t)duration_ms, "error", error);
	session_event(servers->options.session, "connection", "net:listen", port, grant, NULL, detail);
}

/* By name */

static void on_settled(void *argument, const struct publication *publication, const char *failed) {
	CLEANUP_FREE struct named *named = argument;
	if (!named->servers->publisher) return; /* it ends, and the session with it */
	if (named->number)
		tell(named->servers, named->number, publication->host_port, failed);
	else if (failed)
		say_failed(publication, failed);
	else if (named->any)
		say(publication, "");
}

static void add(struct servers *servers, const struct publisher_wish *wish, int64_t number) {
	struct named *named = mem_new(struct named);
	*named = (struct named){.servers = servers, .number = number, .any = wish->publication.host_port == 0};
	publisher_add(servers->publisher, wish, on_settled, named);
}

void servers_publish(struct servers *servers, int64_t number, const struct publication *wanted, int64_t grant) {
	static const struct strings none = {0};
	const struct publisher_wish wish = {.publication = *wanted, .grant = grant};
	if (servers->publisher)
		add(servers, &wish, number);
	else
		session_published(
			servers->options.session, &none, number, 0,
			"the sandbox has this machine's own network: what listens there is reachable already");
}

static int64_t grant_of(const struct servers *servers, const struct reserved *reserved) {
	CLEANUP_FREE char *wish = string_format("net:listen=%u", reserved->publication.port);
	return session_granted(servers->options.session, wish);
}

/* A new broker has granted to the run anew, but for what was revoked; whatever else was granted to the session that was
 * has ended with it. */
static void follow_grants(struct servers *servers) {
	CLEANUP_FREE int64_t *kept = mem_array(int64_t, servers->reserved_count + 1);
	const int64_t session = session_id(servers->options.session);
	size_t count = 0;
	if (servers->session == session) return;
	servers->session = session;
	for (size_t i = 0; i < servers->reserved_count; i++) {
		struct reserved *reserved = &servers->reserved[i];
		const int64_t before = reserved->grant;
		reserved->grant = grant_of(servers, reserved);
		if (reserved->grant == before) continue; /* revoked */
		publisher_rename(servers->publisher, before, reserved->grant);
		kept[count++] = reserved->grant;
	}
	publisher_keep(servers->publisher, kept, count);
}

int servers_begin(struct servers *servers, const struct servers_options *options, struct error *error) {
	servers->options = *options;
	if (!options->spares && servers->reserved_count > 0)
		return error_set(error, EINVAL,
				 "--publish: the profile says `network: host`, and what listens on this machine's own "
				 "network is reachable already");
	if (!options->spares) return 0;
	const struct publisher_options publisher = {.base = servers->base,
						    .spares = options->spares,
						    .own = own_ports,
						    .own_count = ARRAY_LENGTH(own_ports),
						    .connections =
							    descriptors_share(INBOUND_PART, INBOUND_FDS, LIMIT_INBOUND),
						    .context = servers,
						    .check = on_check,
						    .check_again = on_check_again,
						    .cancel = on_cancel,
						    .ports = on_ports,
						    .changed = on_changed,
						    .found = on_found,
						    .report = on_report};
	servers->publisher = publisher_new(&publisher);
	publisher_follow(servers->publisher, options->view->listens);
	servers->session = session_id(options->session);
	for (size_t i = 0; i < servers->reserved_count; i++) {
		struct reserved *reserved = &servers->reserved[i];
		reserved->grant = grant_of(servers, reserved);
		const struct publisher_wish wish = {
			.publication = reserved->publication, .host = &reserved->host, .grant = reserved->grant};
		add(servers, &wish, 0);
	}
	return 0;
}

/* What is told */

void servers_stir(struct servers *servers, pid_t thread) {
	if (!servers->publisher) return;
	free(servers->process);
	servers->process = NULL;
	strings_finish(&servers->parents);
	process_describe(NULL, thread, servers->options.init, &servers->process, &servers->parents);
	publisher_stir(servers->publisher);
}

void servers_view(struct servers *servers, const struct view *view) {
	if (!servers->publisher) return;
	follow_grants(servers);
	publisher_follow(servers->publisher, view->listens);
	publisher_review(servers->publisher);
	if (servers->told != 0 && servers->told != session_id(servers->options.session)) tell(servers, 0, 0, NULL);
}

bool servers_are_cut(const struct servers *servers) {
	return !servers->publisher || publisher_is_reviewed(servers->publisher);
}

void servers_ended(struct servers *servers, const struct session_ended *ended) {
	if (!servers->publisher) return;
	publisher_cut(servers->publisher, ended->grants, ended->count);
	publisher_review(servers->publisher);
}

void servers_stop(struct servers *servers) {
	if (!servers) return;
	publisher_free(STEAL(servers->publisher));
	for (size_t i = 0; i < servers->reserved_count; i++) host_port_close(&servers->reserved[i].host);
	servers->reserved_count = 0;
}

void servers_free(struct servers *servers) {
	if (!servers) return;
	servers_stop(servers);
	free(servers->reserved);
	free(servers->process);
	strings_finish(&servers->parents);
	free(servers);
}
