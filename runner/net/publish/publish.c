/*
 * Theory of operation. An entry is a port inside, by name or found listening: judged (a check is under way), open, cut
 * (its grant has ended; it is judged again) or refused. What is refused stays known, so that nobody is asked twice
 * about one port; new rules or grants open it without a question. Only an open entry has a host port, but for one by
 * name that came with it: nothing accepts there before the verdict.
 *
 * Whatever is judged again is asked with `check_again`, one question an entry; without an answer (no broker) what is
 * open stays and what is cut stays cut.
 */
#include "publish.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/memory.h"
#include "inbound.h"
#include "net/gate/gate_private.h"
#include "net/streams/socket_abort.h"
#include "schema/limits.h"

enum {
	PORT_TEXT_SIZE = sizeof "65535",
	ACCEPTED_A_TURN = 16, /* before others have theirs */
	SEEN_MAX = 1024,      /* ports that something listens on; there are no more entries than limits.h says */
	RESUME_MS = 50,       /* after the process was out of descriptors */
};

enum entry_state { ENTRY_JUDGED, ENTRY_OPEN, ENTRY_CUT, ENTRY_REFUSED };

struct connection {
	TAILQ_ENTRY(connection) link;
	struct entry *entry;
	struct inbound *inbound;
};

struct entry {
	TAILQ_ENTRY(entry) link;
	struct publisher *publisher;
	struct publication publication;
	char port[PORT_TEXT_SIZE]; /* the one inside */
	enum entry_state state;
	bool by_name;
	int64_t named;   /* the grant that it was named with, and ends with, alone or first; or 0 */
	uint64_t ticket; /* of the check that is under way; 0: none is */
	struct right right;
	struct host_port host;
	struct event *accept[HOST_PORT_FAMILIES];
	TAILQ_HEAD(, connection) connections;
	publisher_done *done; /* while it is judged by name */
	void *argument;
};

struct publisher {
	struct publisher_options options;
	struct pipes pipes;
	TAILQ_HEAD(, entry) entries;
	size_t by_name, found, connections;
	bool follows, ending;
	struct event *look, *resume;
};

static const char sandbox_ended[] = "the sandbox has ended", grant_ended[] = "its grant has ended";

/* Entries */

static struct entry *entry_new(struct publisher *publisher, const struct publication *publication, bool by_name) {
	struct entry *entry = mem_new(struct entry);
	*entry = (struct entry){
		.publisher = publisher, .publication = *publication, .by_name = by_name, .host = HOST_PORT_NONE};
	snprintf(entry->port, sizeof entry->port, "%u", publication->port);
	TAILQ_INIT(&entry->connections);
	TAILQ_INSERT_TAIL(&publisher->entries, entry, link);
	*(by_name ? &publisher->by_name : &publisher->found) += 1;
	return entry;
}

static void stop_asking(struct entry *entry) {
	struct publisher *publisher = entry->publisher;
	if (entry->ticket) publisher->options.cancel(publisher->options.context, entry->ticket);
	entry->ticket = 0;
}

static void accept_all(struct publisher *publisher, bool on) {
	struct entry *entry;
	TAILQ_FOREACH(entry, &publisher->entries, link) {
		for (size_t i = 0; i < HOST_PORT_FAMILIES; i++) {
			if (!entry->accept[i]) continue;
			if (on)
				event_add(entry->accept[i], NULL);
			else
				event_del(entry->accept[i]);
		}
	}
}

static bool is_full(const struct publisher *publisher) {
	return publisher->connections >= publisher->options.connections;
}

static void connection_end(struct connection *connection, const char *error) {
	struct entry *entry = connection->entry;
	struct publisher *publisher = entry->publisher;
	const struct inbound_end end = inbound_end(connection->inbound);
	const bool was_full = is_full(publisher);
	if (!error && end.code != 0) error = strerror(end.code);
	if (end.connected)
		publisher->options.report(publisher->options.context, entry->port, entry->right.grant, end.sent,
					  end.received, end.duration_ms, error);
	inbound_free(connection->inbound);
	TAILQ_REMOVE(&entry->connections, connection, link);
	publisher->connections--;
	free(connection);
	if (was_full && !publisher->ending) accept_all(publisher, true);
}

/* The host's port and all that came by it. */
static void entry_shut(struct entry *entry, const char *why) {
	struct connection *connection;
	for (size_t i = 0; i < HOST_PORT_FAMILIES; i++)
		if (entry->accept[i]) event_free(STEAL(entry->accept[i]));
	host_port_close(&entry->host);
	/* The analyzer does not follow TAILQ_REMOVE. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	while ((connection = TAILQ_FIRST(&entry->connections))) connection_end(connection, why);
}

static void settle_by_name(struct entry *entry, const char *failed) {
	publisher_done *done = entry->done;
	entry->done = NULL;
	done(entry->argument, &entry->publication, failed);
}

static void entry_free(struct entry *entry) {
	struct publisher *publisher = entry->publisher;
	stop_asking(entry);
	if (entry->done) settle_by_name(entry, sandbox_ended);
	entry_shut(entry, sandbox_ended);
	TAILQ_REMOVE(&publisher->entries, entry, link);
	*(entry->by_name ? &publisher->by_name : &publisher->found) -= 1;
	free(entry);
}

static void changed(struct publisher *publisher) {
	if (!publisher->ending) publisher->options.changed(publisher->options.context);
}

/* Known as not allowed from now on; by name or found is the same then. */
static void entry_refuse(struct entry *entry, const char *why) {
	struct publisher *publisher = entry->publisher;
	const bool was_open = entry->state == ENTRY_OPEN || entry->state == ENTRY_CUT;
	if (entry->by_name && publisher->found >= LIMIT_LISTENING) {
		entry_free(entry);
	} else {
		entry_shut(entry, why);
		publisher->by_name -= entry->by_name;
		publisher->found += entry->by_name;
		entry->by_name = false;
		entry->named = 0;
		entry->publication.host_port = entry->publication.port;
		entry->state = ENTRY_REFUSED;
	}
	if (was_open) changed(publisher);
}

/* Connections */

/* The queues of the listening sockets hold newcomers meanwhile. */
static void pause_listening(struct publisher *publisher) {
	static const struct timeval after = {.tv_usec = RESUME_MS * 1000};
	accept_all(publisher, false);
	event_add(publisher->resume, &after);
}

static void on_resume(evutil_socket_t fd, short what, void *argument) {
	struct publisher *publisher = argument;
	(void)fd, (void)what;
	if (!is_full(publisher)) accept_all(publisher, true);
}

static void on_connection_done(void *argument, struct inbound *inbound) {
	(void)inbound;
	connection_end(argument, NULL);
}

static void take_connection(struct entry *entry, int fd) {
	struct publisher *publisher = entry->publisher;
	struct connection *connection = mem_new(struct connection);
	const struct inbound_options options = {.base = publisher->options.base,
						.spares = publisher->options.spares,
						.pipes = &publisher->pipes,
						.port = entry->publication.port,
						.done = on_connection_done,
						.argument = connection};
	*connection = (struct connection){.entry = entry, .inbound = inbound_new(&options, fd)};
	TAILQ_INSERT_TAIL(&entry->connections, connection, link);
	publisher->connections++;
}

static void on_acceptable(evutil_socket_t listener, short what, void *argument) {
	struct entry *entry = argument;
	struct publisher *publisher = entry->publisher;
	(void)what;
	for (int i = 0; i < ACCEPTED_A_TURN; i++) {
		if (is_full(publisher)) {
			accept_all(publisher, false); /* until one of them ends */
			return;
		}
		int fd = accept4((int)listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			take_connection(entry, fd);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			pause_listening(publisher);
			return;
		} else if (errno == EAGAIN) {
			return;
		}
	}
}

/* Verdicts */

static void accept_there(struct entry *entry) {
	struct publisher *publisher = entry->publisher;
	entry->publication.host_port = entry->host.port;
	entry->state = ENTRY_OPEN;
	for (size_t i = 0; i < HOST_PORT_FAMILIES; i++) {
		if (entry->host.fds[i] < 0) continue;
		entry->accept[i] = mem_expect(event_new(publisher->options.base, entry->host.fds[i],
							EV_READ | EV_PERSIST, on_acceptable, entry));
		if (!is_full(publisher)) event_add(entry->accept[i], NULL);
	}
	changed(publisher);
}

/* Whatever a verdict rests on: one that was named with a grant neither ends with another's end nor outlives its own. */
static void take_right(struct entry *entry, const struct verdict *verdict) {
	entry->right = right_of(verdict);
	if (entry->named) entry->right.grant = entry->named;
}

static int entry_open(struct entry *entry, struct error *error) {
	const uint16_t wanted = entry->publication.host_port;
	int r = 0;
	if (entry->host.port == 0)
		r = entry->by_name ? host_port_listen(wanted, &entry->host, error)
				   : host_port_listen_near(wanted, &entry->host, error);
	if (r == 0) accept_there(entry);
	return r;
}

static const char *why_of(const struct verdict *verdict) {
	return verdict && verdict->why ? verdict->why : "it is not allowed";
}

/* The first verdict. */
static void on_judged(void *argument, const struct verdict *verdict) {
	struct entry *entry = argument;
	struct publisher *publisher = entry->publisher;
	struct error error = ERROR_NONE;
	entry->ticket = 0;
	const bool allowed = verdict && verdict->effect == EFFECT_ALLOW;
	if (allowed) take_right(entry, verdict);
	const bool open = allowed && entry_open(entry, &error) == 0;
	const char *failed = open ? NULL : allowed ? error.message : why_of(verdict);
	if (entry->by_name) {
		settle_by_name(entry, failed);
		if (!open) entry_free(entry);
		return;
	}
	if (allowed) publisher->options.found(publisher->options.context, &entry->publication, failed);
	if (!open) entry_refuse(entry, NULL);
}

static void judge(struct entry *entry) {
	const struct publisher_options *options = &entry->publisher->options;
	uint64_t ticket = options->check(options->context, entry->port, !entry->by_name, on_judged, entry);
	if (ticket) entry->ticket = ticket; /* else it is answered, and may be gone */
}

/* One for that port: `refused`, or on its way and open. */
static struct entry *find(const struct publisher *publisher, uint16_t port, bool refused) {
	struct entry *entry;
	TAILQ_FOREACH(entry, &publisher->entries, link) {
		if (entry->publication.port == port && (entry->state == ENTRY_REFUSED) == refused) return entry;
	}
	return NULL;
}

static void reopen(struct entry *entry) {
	struct publisher *publisher = entry->publisher;
	struct error error = ERROR_NONE;
	const bool was_refused = entry->state == ENTRY_REFUSED;
	if (was_refused && (!publisher->follows || find(publisher, entry->publication.port, false))) return;
	const bool open = entry_open(entry, &error) == 0;
	if (was_refused || !open)
		publisher->options.found(publisher->options.context, &entry->publication, open ? NULL : error.message);
	if (!open) entry_refuse(entry, NULL);
}

static void on_judged_again(void *argument, const struct verdict *verdict) {
	struct entry *entry = argument;
	entry->ticket = 0;
	if (!verdict) return;
	const bool holds =
		entry->state == ENTRY_OPEN ? right_holds(&entry->right, verdict) : verdict->effect == EFFECT_ALLOW;
	if (!holds) {
		if (entry->state != ENTRY_REFUSED) entry_refuse(entry, "not allowed any more");
		return;
	}
	if (verdict->effect == EFFECT_ALLOW) take_right(entry, verdict);
	if (entry->state != ENTRY_OPEN) reopen(entry);
}

static void judge_again(struct entry *entry) {
	const struct publisher_options *options = &entry->publisher->options;
	stop_asking(entry);
	uint64_t ticket = options->check_again(options->context, entry->port, on_judged_again, entry);
	if (ticket) entry->ticket = ticket; /* as above */
}

void publisher_cut(struct publisher *publisher, const int64_t *grants, size_t count) {
	for (struct entry *entry = TAILQ_FIRST(&publisher->entries), *next; entry; entry = next) {
		next = TAILQ_NEXT(entry, link);
		if (entry->state != ENTRY_OPEN && entry->state != ENTRY_CUT) continue;
		if (entry->named && grants_contain(grants, count, entry->named)) {
			entry_refuse(entry, grant_ended);
		} else if (entry->state == ENTRY_OPEN && grants_contain(grants, count, entry->right.grant)) {
			entry_shut(entry, grant_ended);
			entry->state = ENTRY_CUT;
		}
	}
}

void publisher_rename(struct publisher *publisher, int64_t from, int64_t to) {
	struct entry *entry;
	TAILQ_FOREACH(entry, &publisher->entries, link) {
		if (!entry->named || entry->named != from) continue;
		entry->named = to;
		if (entry->right.grant == from) entry->right.grant = to;
	}
}

void publisher_keep(struct publisher *publisher, const int64_t *grants, size_t count) {
	for (struct entry *entry = TAILQ_FIRST(&publisher->entries), *next; entry; entry = next) {
		next = TAILQ_NEXT(entry, link);
		if (entry->state != ENTRY_OPEN && entry->state != ENTRY_CUT) continue;
		if (entry->named && !grants_contain(grants, count, entry->named)) entry_refuse(entry, grant_ended);
	}
}

void publisher_review(struct publisher *publisher) {
	for (struct entry *entry = TAILQ_FIRST(&publisher->entries), *next; entry; entry = next) {
		next = TAILQ_NEXT(entry, link); /* an answer that comes at once takes away its own entry and no other */
		if (entry->state != ENTRY_JUDGED && (entry->state != ENTRY_REFUSED || publisher->follows))
			judge_again(entry);
	}
}

bool publisher_is_reviewed(const struct publisher *publisher) {
	const struct entry *entry;
	TAILQ_FOREACH(entry, &publisher->entries, link) {
		if (entry->state == ENTRY_OPEN && entry->ticket) return false;
	}
	return true;
}

/* By name */

static bool is_own(const struct publisher *publisher, uint16_t port) {
	for (size_t i = 0; i < publisher->options.own_count; i++)
		if (publisher->options.own[i] == port) return true;
	return false;
}

void publisher_add(struct publisher *publisher, const struct publisher_wish *wish, publisher_done *done,
		   void *argument) {
	const struct publication *wanted = &wish->publication;
	struct host_port own = HOST_PORT_NONE;
	struct entry *refused = find(publisher, wanted->port, true);
	if (wish->host) {
		own = *wish->host;
		*wish->host = (struct host_port)HOST_PORT_NONE;
	}
	const char *failed = NULL;
	if (is_own(publisher, wanted->port))
		failed = "that port inside is sbx's own";
	else if (publisher->by_name >= LIMIT_PUBLISHED)
		failed = "so many ports of one sandbox can't be published";
	if (failed) {
		host_port_close(&own);
		done(argument, wanted, failed);
		return;
	}
	if (refused) entry_free(refused);
	struct entry *entry = entry_new(publisher, wanted, true);
	entry->host = own;
	entry->named = wish->grant;
	entry->done = done;
	entry->argument = argument;
	judge(entry);
}

/* What listens */

static bool is_known(const struct publisher *publisher, uint16_t port) {
	return is_own(publisher, port) || find(publisher, port, false) || find(publisher, port, true);
}

static void on_look(evutil_socket_t fd, short what, void *argument) {
	struct publisher *publisher = argument;
	uint16_t ports[SEEN_MAX];
	(void)fd, (void)what;
	if (!publisher->follows) return;
	size_t count = publisher->options.ports(publisher->options.context, ports, SEEN_MAX);
	for (size_t i = 0; i < count && publisher->found < LIMIT_LISTENING; i++) {
		const struct publication publication = {.port = ports[i], .host_port = ports[i]};
		if (!is_known(publisher, ports[i])) judge(entry_new(publisher, &publication, false));
	}
}

void publisher_stir(struct publisher *publisher) {
	if (publisher->follows) event_active(publisher->look, EV_TIMEOUT, 0);
}

void publisher_follow(struct publisher *publisher, bool follow) {
	const bool before = publisher->follows;
	publisher->follows = follow;
	if (follow && !before) publisher_stir(publisher);
}

void publisher_list(const struct publisher *publisher, struct strings *ret_publications) {
	const struct entry *entry;
	TAILQ_FOREACH(entry, &publisher->entries, link) {
		char text[PUBLICATION_TEXT_SIZE];
		if (entry->state != ENTRY_OPEN) continue;
		publication_format(&entry->publication, text);
		strings_add(ret_publications, text);
	}
}

struct publisher *publisher_new(const struct publisher_options *options) {
	struct publisher *publisher = mem_new(struct publisher);
	*publisher = (struct publisher){.options = *options};
	TAILQ_INIT(&publisher->entries);
	pipes_init(&publisher->pipes);
	publisher->look = mem_expect(evtimer_new(options->base, on_look, publisher));
	publisher->resume = mem_expect(evtimer_new(options->base, on_resume, publisher));
	return publisher;
}

void publisher_free(struct publisher *publisher) {
	struct entry *entry;
	if (!publisher) return;
	publisher->ending = true;
	/* As above. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	while ((entry = TAILQ_FIRST(&publisher->entries))) entry_free(entry);
	event_free(publisher->look);
	event_free(publisher->resume);
	pipes_finish(&publisher->pipes);
	free(publisher);
}
