/*
 * Theory of operation. The network of a sandbox has a loopback that takes every address, and nothing else. So whatever
 * is carried out on one of its sockets stays inside, and a mistake here can't let anything out: it only decides which
 * connections are worth a listener of ours (native.h, flows.h) that stands for something outside.
 */
#include "net/connects.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>

#include "../socket_calls.h"
#include "base/memory.h"
#include "carried.h"
#include "net/diag.h"
#include "net/flows.h"
#include "net/native.h"
#include "net/spares.h"
#include "net/standins.h"
#include "schema/host.h"

enum { DNS_PORT = 53 };

/* A datagram socket's call that waits for a spare. */
struct waiting {
	TAILQ_ENTRY(waiting) entry;
	struct connects *connects;
	struct socket_call *call;
	struct spares_wait *spare;
};
TAILQ_HEAD(waiting_list, waiting);

struct connects {
	struct connects_options options;
	struct carried_list carried;
	struct waiting_list waiting;
};

/* What an address means. */
enum meaning {
	MEANS_ITSELF, /* nothing outside */
	MEANS_LOCAL,  /* localhost */
	MEANS_HOST,   /* the host that it stands for, or that is written in figures */
};

struct destination {
	struct sockaddr_storage address; /* IPv4 where it is v4-mapped */
	struct host host;
	uint16_t port;
};

static void carry_out(struct connects *connects, struct socket_call *call) {
	carried_out(connects->options.base, &connects->carried, call, (struct sockaddr *)&call->address,
		    call->address_size);
}

/* As the kernel reads it: false where it would refuse it, or does something else than to connect. */
static bool read_destination(const struct socket_call *call, struct destination *ret) {
	const struct sockaddr_in *four = (const struct sockaddr_in *)&call->address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&call->address;
	*ret = (struct destination){.port = 0};
	if (call->address.ss_family != call->domain) return false;
	if (call->domain == AF_INET) {
		if (call->address_size < sizeof *four) return false;
		*(struct sockaddr_in *)&ret->address = *four;
		ret->port = ntohs(four->sin_port);
		return ret->port != 0;
	}
	if (call->domain != AF_INET6 || call->address_size < offsetof(struct sockaddr_in6, sin6_scope_id)) return false;
	ret->port = ntohs(six->sin6_port);
	if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
		struct sockaddr_in *mapped = (struct sockaddr_in *)&ret->address;
		*mapped = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = six->sin6_port};
		memcpy(&mapped->sin_addr, six->sin6_addr.s6_addr + 12, 4);
	} else {
		*(struct sockaddr_in6 *)&ret->address = *six;
	}
	return ret->port != 0;
}

static bool is_own(const struct destination *to) {
	struct sockaddr_storage own;
	standin_address(STANDIN_OWN, to->address.ss_family, &own);
	const struct sockaddr_in *four = (const struct sockaddr_in *)&to->address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&to->address;
	if (to->address.ss_family == AF_INET)
		return four->sin_addr.s_addr == ((struct sockaddr_in *)&own)->sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&six->sin6_addr, &((struct sockaddr_in6 *)&own)->sin6_addr);
}

static bool is_loopback(const struct destination *to) {
	const struct sockaddr_in *four = (const struct sockaddr_in *)&to->address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&to->address;
	if (to->address.ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET || four->sin_addr.s_addr == INADDR_ANY;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
}

/* connect(2) takes the wildcard for the loopback. */
static void name_wildcard(struct destination *to) {
	struct sockaddr_in *four = (struct sockaddr_in *)&to->address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&to->address;
	if (to->address.ss_family == AF_INET && four->sin_addr.s_addr == INADDR_ANY)
		four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (to->address.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
		six->sin6_addr = in6addr_loopback;
}

static bool read_figures(struct destination *to) {
	char text[INET6_ADDRSTRLEN];
	const struct sockaddr_in *four = (const struct sockaddr_in *)&to->address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&to->address;
	const void *bytes = to->address.ss_family == AF_INET ? (const void *)&four->sin_addr : &six->sin6_addr;
	return inet_ntop(to->address.ss_family, bytes, text, sizeof text) &&
	       host_parse(text, strlen(text), &to->host, NULL) == 0;
}

static enum meaning find_meaning(const struct connects *connects, const struct socket_call *call,
				 struct destination *ret) {
	if (!connects->options.native || !read_destination(call, ret)) return MEANS_ITSELF;
	const struct host *host = standins_host(connects->options.standins, (struct sockaddr *)&ret->address);
	if (host) {
		ret->host = *host;
		return MEANS_HOST;
	}
	if (is_loopback(ret) || is_own(ret)) {
		name_wildcard(ret);
		return MEANS_LOCAL;
	}
	/* a stand-in of nobody stands for nobody */
	if (standin_is((struct sockaddr *)&ret->address) || !read_figures(ret)) return MEANS_ITSELF;
	return MEANS_HOST;
}

/* TCP */

static bool is_tcp(const struct socket_call *call) {
	return call->type == SOCK_STREAM && (call->protocol == IPPROTO_TCP || call->protocol == IPPROTO_MPTCP);
}

/* One that isn't is told so by the kernel (EISCONN, EALREADY). */
static bool is_unconnected(const struct socket_call *call) {
	struct tcp_info info = {.tcpi_state = TCP_CLOSE};
	socklen_t size = sizeof info;
	return getsockopt(call->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 || info.tcpi_state == TCP_CLOSE;
}

/* The sandbox's own comes first; 198.18.0.1 is nobody else's. */
static bool is_hosts(const struct connects *connects, const struct destination *to) {
	const struct connects_options *options = &connects->options;
	const struct sockaddr *address = (const struct sockaddr *)&to->address;
	if (!options->inside || is_own(to) || diag_listens(options->inside, address)) return false;
	struct diag *outside = options->outside(options->context);
	return outside && diag_listens(outside, address);
}

static void connect_local(struct connects *connects, struct socket_call *call, struct destination *to) {
	if (is_hosts(connects, to) && read_figures(to))
		native_connect(connects->options.native, call, &to->host, to->port, ECONNREFUSED);
	else
		carry_out(connects, call);
}

static void connect_tcp(struct connects *connects, struct socket_call *call) {
	struct destination to;
	const enum meaning meaning = find_meaning(connects, call, &to);
	if (meaning == MEANS_ITSELF || !is_unconnected(call))
		carry_out(connects, call);
	else if (meaning == MEANS_LOCAL)
		connect_local(connects, call, &to);
	else
		native_connect(connects->options.native, call, &to.host, to.port, EACCES);
}

/* UDP */

static void aim_datagrams(struct connects *connects, struct socket_call *call);

static void on_spare(void *argument) {
	struct waiting *waiting = argument;
	struct connects *connects = waiting->connects;
	struct socket_call *call = waiting->call;
	TAILQ_REMOVE(&connects->waiting, waiting, entry);
	free(waiting);
	aim_datagrams(connects, call);
}

static void waiting_release(struct waiting *waiting) {
	socket_call_answer(waiting->call, -EINTR);
	spares_cancel(waiting->spare);
	free(waiting);
}

static void on_interrupted(void *argument) {
	struct waiting *waiting = argument;
	TAILQ_REMOVE(&waiting->connects->waiting, waiting, entry);
	waiting_release(waiting);
}

static void wait_for_spare(struct connects *connects, struct socket_call *call, const struct destination *to) {
	struct waiting *waiting = mem_new(struct waiting);
	const enum spare kind = to->address.ss_family == AF_INET ? SPARE_UDP4 : SPARE_UDP6;
	*waiting = (struct waiting){.connects = connects, .call = call};
	TAILQ_INSERT_TAIL(&connects->waiting, waiting, entry);
	waiting->spare = spares_when(connects->options.spares, kind, on_spare, waiting);
	socket_call_on_interrupt(call, on_interrupted, waiting);
}

/* Port 53 is the stub's alone; what is looked up at another server's is not answered. */
static bool is_relayed(const struct connects *connects, const struct socket_call *call, struct destination *to) {
	return connects->options.flows && call->type == SOCK_DGRAM && call->protocol == IPPROTO_UDP &&
	       find_meaning(connects, call, to) == MEANS_HOST && to->port != DNS_PORT;
}

static in_port_t *port_in(struct sockaddr_storage *address) {
	return address->ss_family == AF_INET ? &((struct sockaddr_in *)address)->sin_port
					     : &((struct sockaddr_in6 *)address)->sin6_port;
}

static int listen_for(struct connects *connects, struct socket_call *call, const struct destination *to) {
	CLEANUP_FREE char *process = NULL;
	CLEANUP_STRINGS struct strings parents = {0};
	struct sockaddr_storage aim = {0};
	socklen_t size = 0;
	connects->options.describe(connects->options.context, call->thread, &process, &parents);
	const struct gate_caller caller = {.process = process, .parents = &parents};
	int r = flows_listen(connects->options.flows, (const struct sockaddr *)&to->address, &to->host, &caller, &aim,
			     &size);
	if (r == 0) *port_in(&call->address) = *port_in(&aim);
	return r;
}

/* Where nothing can be put there is nothing, and the tool is told so as by a network. */
static void aim_datagrams(struct connects *connects, struct socket_call *call) {
	struct destination to;
	if (!is_relayed(connects, call, &to)) {
		carry_out(connects, call);
		return;
	}
	if (listen_for(connects, call, &to) == -EAGAIN)
		wait_for_spare(connects, call, &to);
	else
		carry_out(connects, call);
}

/* Netlink */

/*
 * The kernel does what a message says if its sender may, and for one that is sent to an address it looks at the sender
 * alone (netlink_ns_capable() of net/netlink/af_netlink.c): that would be us, who may change the sandbox's network. For
 * one that is sent to none it looks at who has made the socket as well. Both go to the kernel; none but the kernel may
 * be spoken to, by a tool without rights.
 */
static void carry_netlink(struct connects *connects, struct socket_call *call) {
	const struct sockaddr_nl *kernel = (const struct sockaddr_nl *)&call->address;
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	const bool to_kernel = kernel->nl_family == AF_NETLINK && kernel->nl_pid == 0 && kernel->nl_groups == 0;
	if (call->address_size < sizeof *kernel)
		socket_call_answer(call, -EINVAL);
	else if (!to_kernel)
		socket_call_answer(call, -EPERM);
	else if (call->kind == SOCKET_CALL_SEND)
		carried_out(connects->options.base, &connects->carried, call, &none, 0);
	else
		carry_out(connects, call);
}

/* Its life */

void connects_call(struct connects *connects, struct socket_call *call) {
	if (call->domain == AF_NETLINK)
		carry_netlink(connects, call);
	else if (call->domain != AF_INET && call->domain != AF_INET6)
		socket_call_answer(call, -EACCES);
	else if (call->kind == SOCKET_CALL_CONNECT && is_tcp(call))
		connect_tcp(connects, call);
	else
		aim_datagrams(connects, call);
}

struct connects *connects_new(const struct connects_options *options) {
	struct connects *connects = mem_new(struct connects);
	*connects = (struct connects){.options = *options};
	TAILQ_INIT(&connects->carried);
	TAILQ_INIT(&connects->waiting);
	return connects;
}

void connects_free(struct connects *connects) {
	struct waiting *waiting;
	if (!connects) return;
	while ((waiting = TAILQ_FIRST(&connects->waiting))) {
		TAILQ_REMOVE(&connects->waiting, waiting, entry);
		waiting_release(waiting);
	}
	carried_end_all(&connects->carried);
	free(connects);
}
