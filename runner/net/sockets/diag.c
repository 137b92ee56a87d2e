/*
 * Theory of operation. Whether something listens at an address is one exact request: the kernel looks the socket up as
 * it would for a connection that comes in over the loopback (from port 0, which no connection has), wildcards and
 * sockets for both families included. Lists are dumps, in many datagrams. The kernel answers while we send or receive,
 * so nothing is ever waited for: a socket with nothing to read is an error.
 *
 * A kernel without the modules tcp_diag and inet_diag (small ones, or those that load no modules) refuses all of that
 * with ENOENT, as it says that there is no such socket. So the first list decides which way TCP is asked about, for
 * good: by sock_diag or by the tables of proc_net.h. These don't tell whether a listener at :: is for IPv6 alone; it
 * counts as one for both families, which most are, and a connection that meets nobody is refused by the kernel.
 * udp_diag is a module of its own, so each list of UDP sockets that fails is read from the tables. There is no such way
 * without unix_diag: a path in /proc/net/unix is only what a process has called its socket.
 */
#include "diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "net/sockets/proc_net.h"
#include "schema/limits.h"

enum { REPLY_MAX = 32 * 1024 /* the most that the kernel puts in one */, LOOPBACK_INDEX = 1, DEVICE_MINOR_BITS = 20 };

struct diag {
	int netlink;
	int tables;        /* /proc/PID/net; -1: none */
	bool tcp_by_table; /* sock_diag has no TCP */
	uint32_t sequence; /* of the last request */
	_Alignas(struct nlmsghdr) char reply[REPLY_MAX];
};

/* One socket of a reply: `body` is what follows the netlink header. */
typedef void diag_each(void *argument, const void *body, size_t size);

static int send_request(struct diag *diag, uint16_t flags, const void *body, size_t size) {
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct nlmsghdr head = {.nlmsg_type = SOCK_DIAG_BY_FAMILY,
				.nlmsg_flags = NLM_F_REQUEST | flags,
				.nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
				.nlmsg_seq = ++diag->sequence};
	struct iovec parts[] = {{&head, NLMSG_HDRLEN}, {(void *)body, size}};
	const struct msghdr message = {.msg_name = (void *)&kernel,
				       .msg_namelen = sizeof kernel,
				       .msg_iov = parts,
				       .msg_iovlen = ARRAY_LENGTH(parts)};
	ssize_t sent;
	/* what an answer that was given up has left behind */
	while (recv(diag->netlink, diag->reply, 1, MSG_DONTWAIT | MSG_TRUNC) >= 0) {
	}
	do sent = sendmsg(diag->netlink, &message, MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* 1: the end, 0: go on, or what the kernel says. */
static int read_reply(struct diag *diag, diag_each *each, void *argument) {
	struct sockaddr_nl from = {0};
	socklen_t from_size = sizeof from;
	ssize_t size = recvfrom(diag->netlink, diag->reply, sizeof diag->reply, MSG_DONTWAIT | MSG_TRUNC,
				(struct sockaddr *)&from, &from_size);
	if (size < 0) return errno == EINTR ? 0 : -errno;
	if ((size_t)size > sizeof diag->reply) return -EMSGSIZE;
	if (from.nl_pid != 0) return 0; /* not the kernel's */
	for (size_t at = 0; (size_t)size - at >= NLMSG_HDRLEN;) {
		struct nlmsghdr head;
		memcpy(&head, diag->reply + at, sizeof head);
		if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > (size_t)size - at) return -EBADMSG;
		const char *body = diag->reply + at + NLMSG_HDRLEN;
		const size_t body_size = head.nlmsg_len - NLMSG_HDRLEN;
		if (head.nlmsg_seq != diag->sequence) return -EBADMSG;
		if (head.nlmsg_type == NLMSG_ERROR || head.nlmsg_type == NLMSG_DONE) {
			int code = 0;
			if (body_size >= sizeof code) memcpy(&code, body, sizeof code);
			return code < 0 ? code : 1;
		}
		if (head.nlmsg_type == SOCK_DIAG_BY_FAMILY) each(argument, body, body_size);
		if (!(head.nlmsg_flags & NLM_F_MULTI)) return 1;
		at += NLMSG_ALIGN(head.nlmsg_len);
		if (at > (size_t)size) break;
	}
	return 0;
}

static int ask(struct diag *diag, uint16_t flags, const void *body, size_t size, diag_each *each, void *argument) {
	int r = send_request(diag, flags, body, size);
	for (int i = 0; r == 0 && i < LIMIT_DIAG; i++) r = read_reply(diag, each, argument);
	return r > 0 ? 0 : r < 0 ? r : -E2BIG;
}

/* One family's table may lack, both don't. */
static int read_tables(struct diag *diag, const char *const tables[2],
		       bool (*each)(void *argument, const struct proc_net_row *row), void *argument) {
	int first = proc_net_read(diag->tables, tables[0], each, argument);
	int second = proc_net_read(diag->tables, tables[1], each, argument);
	return second == -ENOENT ? first : first < 0 ? first : second;
}

/* TCP */

static const char *const tcp_tables[] = {"tcp", "tcp6"}, *const udp_tables[] = {"udp", "udp6"};

static struct inet_diag_req_v2 about_listeners(int family) {
	return (struct inet_diag_req_v2){
		.sdiag_family = (uint8_t)family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = 1U << TCP_LISTEN,
		.id = {.idiag_if = LOOPBACK_INDEX, .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
}

static void note_listener(void *argument, const void *body, size_t size) {
	struct inet_diag_msg message;
	if (size < sizeof message) return;
	memcpy(&message, body, sizeof message);
	*(bool *)argument = message.idiag_state == TCP_LISTEN;
}

struct place {
	struct in6_addr address;
	uint16_t port;
	bool found;
};

/* Listeners are the first rows of a table (tcp_seq_start() of net/ipv4/tcp_ipv4.c). */
static bool note_place(void *argument, const struct proc_net_row *row) {
	struct place *place = argument;
	const struct in6_addr any4 = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
	const bool is_any = IN6_IS_ADDR_UNSPECIFIED(&row->local) ||
			    (IN6_IS_ADDR_V4MAPPED(&place->address) && IN6_ARE_ADDR_EQUAL(&row->local, &any4));
	if (row->state != TCP_LISTEN) return false;
	place->found = row->local_port == place->port && (is_any || IN6_ARE_ADDR_EQUAL(&row->local, &place->address));
	return !place->found;
}

static bool read_place(const struct sockaddr *address, struct place *ret) {
	*ret = (struct place){.address = {.s6_addr = {[10] = 0xff, [11] = 0xff}}};
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)address;
		memcpy(ret->address.s6_addr + 12, &in->sin_addr, sizeof in->sin_addr);
		ret->port = ntohs(in->sin_port);
	} else if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
		ret->address = in6->sin6_addr;
		ret->port = ntohs(in6->sin6_port);
	}
	return ret->port != 0;
}

static bool table_listens(struct diag *diag, const struct sockaddr *address) {
	struct place place;
	if (!read_place(address, &place)) return false;
	for (size_t i = 0; i < ARRAY_LENGTH(tcp_tables) && !place.found; i++)
		proc_net_read(diag->tables, tcp_tables[i], note_place, &place);
	return place.found;
}

bool diag_listens(struct diag *diag, const struct sockaddr *address) {
	bool listens = false;
	if (diag->tcp_by_table) return table_listens(diag, address);
	struct inet_diag_req_v2 request = about_listeners(address->sa_family);
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)address;
		request.id.idiag_sport = in->sin_port;
		request.id.idiag_src[0] = in->sin_addr.s_addr;
		request.id.idiag_dst[0] = htonl(INADDR_LOOPBACK);
	} else if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
		const struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
		request.id.idiag_sport = in6->sin6_port;
		memcpy(request.id.idiag_src, &in6->sin6_addr, sizeof in6->sin6_addr);
		memcpy(request.id.idiag_dst, IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) ? &mapped : &in6addr_loopback,
		       sizeof mapped);
	} else {
		return false;
	}
	return ask(diag, 0, &request, sizeof request, note_listener, &listens) == 0 && listens;
}

/* A bit for each port. */
static void note_port(void *argument, const void *body, size_t size) {
	struct inet_diag_msg message;
	if (size < sizeof message) return;
	memcpy(&message, body, sizeof message);
	const uint16_t port = ntohs(message.id.idiag_sport);
	((uint8_t *)argument)[port / 8] |= (uint8_t)(1U << port % 8);
}

static bool note_table_port(void *argument, const struct proc_net_row *row) {
	uint8_t *bits = argument;
	if (row->state != TCP_LISTEN) return false;
	bits[row->local_port / 8] |= (uint8_t)(1U << row->local_port % 8);
	return true;
}

static int ask_ports(struct diag *diag, uint8_t *bits) {
	const int families[] = {AF_INET, AF_INET6};
	int r = 0;
	if (diag->tcp_by_table) return read_tables(diag, tcp_tables, note_table_port, bits);
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(families); i++) {
		const struct inet_diag_req_v2 request = about_listeners(families[i]);
		r = ask(diag, NLM_F_DUMP, &request, sizeof request, note_port, bits);
	}
	return r;
}

size_t diag_ports(struct diag *diag, uint16_t *ports, size_t size) {
	uint8_t bits[(UINT16_MAX + 1) / 8] = {0};
	size_t count = 0;
	if (ask_ports(diag, bits) < 0) return 0;
	for (uint32_t port = 1; port <= UINT16_MAX && count < size; port++)
		if (bits[port / 8] & 1U << port % 8) ports[count++] = (uint16_t)port;
	return count;
}

/* UDP */

struct peers {
	void (*each)(void *argument, const struct sockaddr_storage *peer);
	void *argument;
};

static void note_peer(void *argument, const void *body, size_t size) {
	const struct peers *peers = argument;
	struct sockaddr_storage peer = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&peer;
	struct inet_diag_msg message;
	struct in6_addr address;
	if (size < sizeof message) return;
	memcpy(&message, body, sizeof message);
	memcpy(&address, message.id.idiag_dst, sizeof address);
	if (message.idiag_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&address)) {
		*in6 = (struct sockaddr_in6){
			.sin6_family = AF_INET6, .sin6_port = message.id.idiag_dport, .sin6_addr = address};
	} else {
		*in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = message.id.idiag_dport};
		memcpy(&in->sin_addr, address.s6_addr + (message.idiag_family == AF_INET ? 0 : 12), 4);
	}
	peers->each(peers->argument, &peer);
}

static bool note_table_peer(void *argument, const struct proc_net_row *row) {
	const struct peers *peers = argument;
	struct sockaddr_storage peer = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	if (row->state != TCP_ESTABLISHED) return true;
	if (IN6_IS_ADDR_V4MAPPED(&row->peer)) {
		*in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(row->peer_port)};
		memcpy(&in->sin_addr, row->peer.s6_addr + 12, sizeof in->sin_addr);
	} else {
		*(struct sockaddr_in6 *)&peer = (struct sockaddr_in6){
			.sin6_family = AF_INET6, .sin6_port = htons(row->peer_port), .sin6_addr = row->peer};
	}
	peers->each(peers->argument, &peer);
	return true;
}

bool diag_each_peer(struct diag *diag, void (*each)(void *argument, const struct sockaddr_storage *peer),
		    void *argument) {
	struct peers peers = {each, argument};
	const int families[] = {AF_INET, AF_INET6};
	int r = 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(families); i++) {
		const struct inet_diag_req_v2 request = {.sdiag_family = (uint8_t)families[i],
							 .sdiag_protocol = IPPROTO_UDP,
							 .idiag_states = 1U << TCP_ESTABLISHED};
		r = ask(diag, NLM_F_DUMP, &request, sizeof request, note_peer, &peers);
	}
	if (r < 0) r = read_tables(diag, udp_tables, note_table_peer, &peers);
	return r == 0;
}

/* Unix */

struct wanted {
	uint32_t device, inode; /* as the kernel puts them */
	bool found;
	char *name; /* of the one that was found, if it is a path */
};

static void note_bound(void *argument, const void *body, size_t size) {
	struct wanted *wanted = argument;
	const size_t head = sizeof(struct nlattr);
	const char *name = NULL;
	size_t name_size = 0;
	bool found = false;
	for (size_t at = NLMSG_ALIGN(sizeof(struct unix_diag_msg)); at < size && size - at >= head;) {
		struct nlattr attribute;
		struct unix_diag_vfs vfs;
		memcpy(&attribute, (const char *)body + at, sizeof attribute);
		if (attribute.nla_len < head || attribute.nla_len > size - at) return;
		if (attribute.nla_type == UNIX_DIAG_VFS && attribute.nla_len >= head + sizeof vfs) {
			memcpy(&vfs, (const char *)body + at + head, sizeof vfs);
			found |= vfs.udiag_vfs_dev == wanted->device && vfs.udiag_vfs_ino == wanted->inode;
		}
		if (attribute.nla_type == UNIX_DIAG_NAME) {
			name = (const char *)body + at + head;
			name_size = attribute.nla_len - head;
		}
		at += NLMSG_ALIGN(attribute.nla_len); /* as NLA_ALIGN, which has a sign */
	}
	wanted->found |= found;
	if (!found || !name || wanted->name) return;
	wanted->name = string_copy_bytes(name, strnlen(name, name_size));
}

/* No socket is in none of the states. */
bool diag_knows_unix(struct diag *diag) {
	const struct unix_diag_req request = {
		.sdiag_family = AF_UNIX, .udiag_states = 0, .udiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
	struct wanted wanted = {0};
	return ask(diag, NLM_F_DUMP, &request, sizeof request, note_bound, &wanted) == 0;
}

bool diag_bound(struct diag *diag, dev_t device, ino_t inode, char **ret_name) {
	const struct unix_diag_req request = {.sdiag_family = AF_UNIX,
					      .udiag_states = UINT32_MAX,
					      .udiag_show = UDIAG_SHOW_VFS | UDIAG_SHOW_NAME,
					      .udiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
	struct wanted wanted = {.device = major(device) << DEVICE_MINOR_BITS | minor(device), .inode = (uint32_t)inode};
	if (inode != wanted.inode) return false;
	const int r = ask(diag, NLM_F_DUMP, &request, sizeof request, note_bound, &wanted);
	const bool found = r == 0 && wanted.found && wanted.name;
	if (found && ret_name)
		*ret_name = wanted.name;
	else
		free(wanted.name);
	return found;
}

int diag_new(int netlink, int tables, struct diag **ret_diag, struct error *error) {
	CLEANUP_DIAG struct diag *diag = mem_new(struct diag);
	*diag = (struct diag){.netlink = netlink, .tables = tables};
	uint8_t bits[(UINT16_MAX + 1) / 8] = {0};
	int asked = ask_ports(diag, bits);
	diag->tcp_by_table = asked < 0;
	int r = asked < 0 ? ask_ports(diag, bits) : 0;
	if (r < 0)
		return error_set(error, EOPNOTSUPP, "asking the kernel who listens (sock_diag: %s; /proc/net: %s)",
				 strerror(-asked), strerror(-r));
	*ret_diag = STEAL(diag);
	return 0;
}

bool diag_reads_tables(const struct diag *diag) {
	return diag->tcp_by_table;
}

void diag_free(struct diag *diag) {
	if (!diag) return;
	fd_close(diag->netlink);
	fd_close(diag->tables);
	free(diag);
}
