/*
 * Theory of operation. The network of a sandbox has a loopback that takes every address, and nothing else. So whatever
 * is carried out on one of its sockets stays inside, and a mistake here can't let anything out: it only decides which
 * connections are worth a listener of ours (native.h, flows.h) that stands for something outside.
 */
#include "connects.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/memory.h"
#include "calls/socket_calls.h"
#include "carried.h"
#include "diag.h"
#include "flows.h"
#include "native.h"
#include "net/dns/standins.h"
#include "net/parse/address.h"
#include "net/streams/spares.h"
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
	struct address address;
	struct host host;
	uint16_t port;
};

static void carry_out(struct connects *connects, struct socket_call *call) {
	carried_out(connects->options.base, &connects->carried, call, (struct sockaddr *)&call->address,
		    call->address_size);
}

static bool is_for_ipv6_alone(int fd) {
	int alone = 0;
	socklen_t size = sizeof alone;
	return getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &alone, &size) == 0 && alone;
}

/* As the kernel reads it: false where it would refuse it, or does something else than to connect. Datagram sockets for
 * IPv6 take the addresses of both families (ip6_datagram_connect() of net/ipv6/datagram.c). */
static bool read_destination(const struct socket_call *call, struct destination *ret) {
	const struct sockaddr *given = (const struct sockaddr *)&call->address;
	const bool takes_both = call->domain == AF_INET6 && call->type == SOCK_DGRAM;
	*ret = (struct destination){.port = 0};
	if (given->sa_family != call->domain && !(takes_both && given->sa_family == AF_INET)) return false;
	if (!address_read(given, call->address_size, &ret->address)) return false;
	if (ret->address.any.sa_family != call->domain && is_for_ipv6_alone(call->fd)) return false;
	ret->port = ntohs(*address_port(&ret->address.any));
	return ret->port != 0;
}

/* Those of many, and of the link that an interface is at, which the loopback isn't. */
static bool is_nobodys(const struct address *address) {
	const in_addr_t four = ntohl(address->ipv4.sin_addr.s_addr);
	const struct in6_addr *six = &address->ipv6.sin6_addr;
	if (address->any.sa_family == AF_INET) return IN_MULTICAST(four) || four == INADDR_BROADCAST;
	return IN6_IS_ADDR_MULTICAST(six) || IN6_IS_ADDR_LINKLOCAL(six);
}

static bool is_own(const struct destination *to) {
	struct sockaddr_storage standin;
	struct address own;
	const socklen_t size = standin_address(STANDIN_OWN, to->address.any.sa_family, &standin);
	*address_port((struct sockaddr *)&standin) = htons(to->port);
	return address_read((struct sockaddr *)&standin, size, &own) && address_equal(&own, &to->address);
}

static bool is_wildcard(const struct address *address) {
	return address->any.sa_family == AF_INET ? address->ipv4.sin_addr.s_addr == INADDR_ANY
						 : IN6_IS_ADDR_UNSPECIFIED(&address->ipv6.sin6_addr);
}

static bool is_loopback(const struct address *address) {
	return address->any.sa_family == AF_INET ? ntohl(address->ipv4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
						 : IN6_IS_ADDR_LOOPBACK(&address->ipv6.sin6_addr);
}

/* connect(2) takes the wildcard for the loopback. */
static void name_wildcard(struct address *address) {
	if (!is_wildcard(address)) return;
	if (address->any.sa_family == AF_INET)
		address->ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		address->ipv6.sin6_addr = in6addr_loopback;
}

static bool read_figures(struct destination *to) {
	char text[ADDRESS_TEXT_SIZE];
	address_format(&to->address, text);
	return host_parse(text, strlen(text), &to->host, NULL) == 0;
}

static enum meaning find_meaning(const struct connects *connects, const struct socket_call *call,
				 struct destination *ret) {
	if (!connects->options.native || !read_destination(call, ret)) return MEANS_ITSELF;
	if (is_nobodys(&ret->address)) return MEANS_ITSELF;
	const struct host *host = standins_host(connects->options.standins, &ret->address.any);
	if (host) {
		ret->host = *host;
		return MEANS_HOST;
	}
	name_wildcard(&ret->address);
	if (is_loopback(&ret->address) || is_own(ret)) return MEANS_LOCAL;
	/* a stand-in of nobody stands for nobody */
	if (standin_is(&ret->address.any) || !read_figures(ret)) return MEANS_ITSELF;
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
	const struct sockaddr *address = &to->address.any;
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
	const enum spare kind = to->address.any.sa_family == AF_INET ? SPARE_UDP4 : SPARE_UDP6;
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

static int listen_for(struct connects *connects, struct socket_call *call, const struct destination *to) {
	CLEANUP_FREE char *process = NULL;
	CLEANUP_STRINGS struct strings parents = {0};
	connects->options.describe(connects->options.context, call->thread, &process, &parents);
	const struct gate_caller caller = {.process = process, .parents = &parents};
	in_port_t port;
	int r = flows_listen(connects->options.flows, &to->address, &to->host, &caller, &port);
	if (r == 0) *address_port((struct sockaddr *)&call->address) = port;
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
