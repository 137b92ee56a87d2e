/*
 * Theory of operation. A dial goes through resolving → connecting → (through the upstream proxy: its handshake) → its
 * end, never back (but for dial_doubt), and holds one of them at a time. Between resolving and connecting the broker
 * says of each address whether a denial names it, and only those that none names are connected to. What goes through
 * the proxy is a name, or an address that is nobody's alone: localhost, `hosts:`, private and own addresses are this
 * machine's to reach.
 */
#include "dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "connect.h"
#include "upstream.h"

struct dial {
	struct gate *gate;
	struct host host;
	uint16_t port;
	int type;
	bool private_allowed, ipv4_only;
	bool through;               /* the upstream proxy */
	struct upstream upstream;   /* as it was when the dial began */
	bool doubtful;              /* dial_doubt */
	struct addresses addresses; /* of the host, and how many of them were judged, and may be connected to */
	size_t judged, kept;
	bool judging; /* with `ticket` */
	uint64_t ticket;
	struct verdict denial; /* of the first address that was denied */
	struct event *step, *deadline;
	struct dial_result result; /* for `step` */
	char *message;
	struct resolve_job *resolve;
	struct connector *connector;
	struct handshake *handshake;
	int fd; /* that the handshake is made on */
	dial_done *done;
	void *argument;
};

void dial_cancel(struct dial *dial) {
	if (dial->judging) dial->gate->judge.cancel(dial->gate->judge.context, dial->ticket);
	verdict_finish(&dial->denial);
	if (dial->resolve) resolve_cancel(dial->resolve);
	if (dial->connector) connect_cancel(dial->connector);
	if (dial->handshake) handshake_cancel(dial->handshake);
	fd_close(dial->fd);
	event_free(dial->step);
	event_free(dial->deadline);
	upstream_finish(&dial->upstream);
	free(dial->message);
	free(dial);
}

static void dial_finish(struct dial *dial, const struct dial_result *result) {
	dial_done *done = dial->done;
	void *argument = dial->argument;
	CLEANUP_FREE char *message = string_copy(result->message);
	CLEANUP_FREE char *address = string_copy_or_null(result->address);
	CLEANUP_VERDICT struct verdict denial = dial->denial;
	struct dial_result own = *result;

	own.message = message;
	own.address = address;
	own.denial = result->refused && denial.why ? &denial : NULL;
	dial->denial = (struct verdict){0};
	dial_cancel(dial);
	done(argument, &own);
}

/* What is known already in dial_start is told from the loop. */
static void dial_step(evutil_socket_t fd, short what, void *argument) {
	struct dial *dial = argument;

	(void)fd, (void)what;
	dial_finish(dial, &dial->result);
}

/* Takes the message over. */
static void dial_fail_soon(struct dial *dial, bool refused, int code, char *message) {
	dial->message = message;
	dial->result = (struct dial_result){.fd = -1, .refused = refused, .code = code, .message = message};
	event_active(dial->step, EV_TIMEOUT, 0);
}

/* Of what goes through the proxy: the trouble was with the way to it. */
static void dial_fail(struct dial *dial, int code, const char *message) {
	CLEANUP_FREE char *proxy = host_port_format(&dial->upstream.host, dial->upstream.port);
	CLEANUP_FREE char *sentence =
		dial->through ? string_format("the upstream proxy %s: %s", proxy, message) : string_copy(message);

	dial_finish(dial,
		    &(struct dial_result){.fd = -1, .by_upstream = dial->through, .code = code, .message = sentence});
}

static void dial_timed_out(evutil_socket_t fd, short what, void *argument) {
	struct dial *dial = argument;

	(void)fd, (void)what;
	dial_fail(dial, ETIMEDOUT,
		  dial->resolve     ? "resolving the name took too long"
		  : dial->handshake ? "its answer took too long"
				    : "connecting took too long");
}

static void dial_shaken(void *argument, int code, const char *message) {
	struct dial *dial = argument;

	dial->handshake = NULL;
	dial_finish(dial, &(struct dial_result){.fd = code ? -1 : fd_steal(&dial->fd),
						.by_upstream = code != 0,
						.code = code,
						.message = message});
}

static void dial_judge(struct dial *dial, const struct addresses *addresses);

/* "ADDRESS:PORT". Freed by the caller. */
static char *dial_target(const struct dial *dial, const struct address *address) {
	char text[ADDRESS_TEXT_SIZE];

	address_format(address, text);
	return string_format(address->any.sa_family == AF_INET ? "%s:%u" : "[%s]:%u", text, (unsigned)dial->port);
}

/* The address that it is connected to, where that was judged. Freed by the caller. */
static char *dial_reached(const struct dial *dial, int fd) {
	struct sockaddr_storage peer = {0};
	socklen_t size = sizeof peer;
	struct address address;

	if (dial->through || dial->judged == 0) return NULL;
	if (getpeername(fd, (struct sockaddr *)&peer, &size) < 0) return NULL;
	return address_read((struct sockaddr *)&peer, size, &address) ? dial_target(dial, &address) : NULL;
}

static void dial_connected(void *argument, int fd, int code) {
	struct dial *dial = argument;

	dial->connector = NULL;
	if (fd < 0) {
		dial_fail(dial, code, strerror(code));
	} else if (dial->through) {
		dial->fd = fd;
		dial->handshake = handshake_start(dial->gate->base, fd, &dial->upstream, &dial->host, dial->port,
						  dial_shaken, dial);
	} else if (dial->doubtful && dial->judged > 0) {
		const struct addresses addresses = dial->addresses;

		fd_close(fd);
		dial_judge(dial, &addresses);
	} else {
		CLEANUP_FREE char *address = dial_reached(dial, fd);

		dial_finish(dial, &(struct dial_result){.fd = fd, .address = address, .message = "connected"});
	}
}

static void dial_connect(struct dial *dial, struct addresses *addresses) {
	addresses_set_port(addresses, dial->through ? dial->upstream.port : dial->port);
	dial->connector = connect_start(dial->gate->base, addresses, dial->type, dial_connected, dial);
}

static void dial_judge_next(struct dial *dial);

static void dial_address_judged(void *argument, const struct verdict *verdict) {
	struct dial *dial = argument;

	dial->judging = false;
	if (verdict && verdict->effect == EFFECT_ALLOW)
		dial->addresses.items[dial->kept++] = dial->addresses.items[dial->judged];
	else if (verdict && !dial->denial.why)
		dial->denial = verdict_copy(verdict);
	dial->judged++;
	dial_judge_next(dial);
}

static void dial_refuse_denied(struct dial *dial) {
	CLEANUP_FREE char *target = dial_target(dial, &dial->addresses.items[0]);

	dial_fail_soon(dial, true, EACCES,
		       string_format("%s leads to %s: %s", dial->host.name, target,
				     dial->denial.why ? dial->denial.why : "the broker that could allow that is gone"));
}

/* One question at a time. */
static void dial_judge_next(struct dial *dial) {
	const struct gate_judge *judge = &dial->gate->judge;
	uint64_t ticket;

	if (dial->judged < dial->addresses.count) {
		CLEANUP_FREE char *target = dial_target(dial, &dial->addresses.items[dial->judged]);

		dial->judging = true;
		ticket = judge->check_address(judge->context, target, dial_address_judged, dial);
		if (ticket > 0) dial->ticket = ticket; /* else it is answered, and the dial may go on already */
		return;
	}
	if (dial->kept == 0) {
		dial_refuse_denied(dial);
		return;
	}
	struct addresses kept = dial->addresses;
	kept.count = dial->kept;
	dial_connect(dial, &kept);
}

/* Which of them does no denial name? */
static void dial_judge(struct dial *dial, const struct addresses *addresses) {
	dial->addresses = *addresses;
	dial->judged = dial->kept = 0;
	dial->doubtful = false;
	dial_judge_next(dial);
}

void dial_doubt(struct dial *dial) {
	dial->doubtful = true;
}

/* An IPv4 address, and localhost, was judged as the host itself; an IPv6 one may carry an IPv4 one. */
static bool dial_must_judge(const struct dial *dial) {
	return !dial->through && (dial->host.class == HOST_NAME || dial->host.class == HOST_IPV6);
}

static void dial_go(struct dial *dial, struct addresses *addresses) {
	if (dial_must_judge(dial))
		dial_judge(dial, addresses);
	else
		dial_connect(dial, addresses);
}

/* Addresses that come from outside: a name's, or written by the tool. */
static void dial_connect_checked(struct dial *dial, const struct addresses *found) {
	struct addresses addresses = *found;
	struct address refused;
	char text[ADDRESS_TEXT_SIZE];

	if (dial->through || dial->private_allowed || addresses_remove_private(&addresses, &refused) == 0 ||
	    addresses.count > 0) {
		dial_go(dial, &addresses);
		return;
	}
	address_format(&refused, text);
	dial_fail_soon(dial, true, EACCES,
		       string_format("%s leads to %s, a private or special address or one of this machine, and what "
				     "allows it does not say `private: true`",
				     dial->host.name, text));
}

static void dial_resolved(void *argument, int code, int system_code, const struct addresses *addresses) {
	struct dial *dial = argument;
	char message[128];

	dial->resolve = NULL;
	if (code == 0 && addresses->count > 0) {
		dial_connect_checked(dial, addresses);
		return;
	}
	snprintf(message, sizeof message, "the name can't be resolved: %s",
		 code == 0            ? "it has no address"
		 : code == EAI_SYSTEM ? strerror(system_code)
				      : gai_strerror(code));
	dial_fail(dial, code == EAI_SYSTEM && system_code > 0 ? system_code : EHOSTUNREACH, message);
}

static bool find_host(const struct gate *gate, const char *name, struct addresses *ret_addresses) {
	for (size_t i = 0; i < gate->host_count; i++)
		if (strcmp(gate->hosts[i].name, name) == 0)
			addresses_add(ret_addresses, &gate->hosts[i].address.any, gate->hosts[i].address.size);
	return ret_addresses->count > 0;
}

/* False of a name. */
static bool literal_addresses(const struct host *host, bool ipv4_only, struct addresses *ret_addresses) {
	static const uint8_t loopback4[4] = {127, 0, 0, 1}, loopback6[16] = {[15] = 1};

	switch (host->class) {
	case HOST_LOCALHOST:
		addresses_add_ipv4(ret_addresses, loopback4);
		if (!ipv4_only) addresses_add_ipv6(ret_addresses, loopback6);
		return true;
	case HOST_IPV4:
		addresses_add_ipv4(ret_addresses, host->address);
		return true;
	case HOST_IPV6:
		addresses_add_ipv6(ret_addresses, host->address);
		return true;
	case HOST_NAME:
		return false;
	}
	return false;
}

static bool goes_through(const struct gate *gate, const struct host *host) {
	struct addresses addresses = {0};
	struct address private;

	if (!gate->upstream.port) return false;
	return !literal_addresses(host, false, &addresses) || addresses_remove_private(&addresses, &private) == 0;
}

static void dial_begin(struct dial *dial) {
	const struct host *to = &dial->host;
	struct addresses addresses = {0};

	if (find_host(dial->gate, to->name, &addresses)) {
		dial_go(dial, &addresses);
		return;
	}
	dial->through = goes_through(dial->gate, to);
	if (dial->through && dial->type != SOCK_STREAM) {
		dial_fail_soon(dial, false, ENETUNREACH, string_copy("an upstream proxy carries no datagrams"));
		return;
	}
	if (dial->through) {
		upstream_copy(&dial->upstream, &dial->gate->upstream);
		to = &dial->upstream.host;
	}
	if ((dial->through && find_host(dial->gate, to->name, &addresses)) ||
	    literal_addresses(to, dial->ipv4_only && !dial->through, &addresses))
		dial_connect_checked(dial, &addresses);
	else
		dial->resolve = resolver_start(dial->gate->resolver, to->name, dial_resolved, dial);
}

struct dial *dial_start(struct gate *gate, const struct dial_wish *wish, dial_done *done, void *argument) {
	const struct timeval limit = {.tv_sec = LIMIT_CONNECT_MS / 1000};
	struct dial *dial = mem_new(struct dial);

	*dial = (struct dial){.gate = gate,
			      .host = *wish->host,
			      .port = wish->port,
			      .type = wish->type,
			      .private_allowed = wish->private_allowed,
			      .ipv4_only = wish->ipv4_only,
			      .fd = -1,
			      .done = done,
			      .argument = argument};
	dial->step = event_new(gate->base, -1, 0, dial_step, dial);
	dial->deadline = evtimer_new(gate->base, dial_timed_out, dial);
	if (!dial->step || !dial->deadline) mem_exhausted();
	event_add(dial->deadline, &limit);
	dial_begin(dial);
	return dial;
}
