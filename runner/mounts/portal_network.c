/*
 * Theory of operation. rtnetlink(7), one request and its acknowledgement at a time. An address with a prefix on lo
 * makes the whole prefix local for IPv4, but not for IPv6, hence that route of its own. The routes for all addresses go
 * to the local table, where the kernel looks first: no other route has a say.
 *
 * System calls: setns, socket, sendto, recv, capset.
 */
#include "portal_network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/memory.h"

enum { LOOPBACK_INDEX = 1 /* lo is the first of each network */, MESSAGE_MAX = 256, REPLY_MAX = 8192 };

/* In the order in which they can be made: a route's preferred source has to be there. */
static const struct {
	int family;
	const char *address; /* NULL: a route for `prefix` */
	const char *prefix;
	unsigned char bits;
} parts[] = {
	{AF_INET, "198.18.0.1", NULL, 15},   {AF_INET, NULL, "0.0.0.0", 0}, {AF_INET6, "fd53:6278::1", NULL, 64},
	{AF_INET6, NULL, "fd53:6278::", 64}, {AF_INET6, NULL, "::", 0},
};

static const char *source_of(int family) {
	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
		if (parts[i].family == family && parts[i].address) return parts[i].address;
	return NULL;
}

struct message {
	struct nlmsghdr head;
	union {
		struct ifinfomsg link;
		struct ifaddrmsg address;
		struct rtmsg route;
	};
	char attributes[MESSAGE_MAX];
};

static struct message message_new(uint16_t type, size_t size) {
	return (struct message){.head = {.nlmsg_type = type,
					 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
					 .nlmsg_len = (uint32_t)NLMSG_LENGTH(size)}};
}

static void add_attribute(struct message *message, uint16_t type, const void *bytes, size_t size) {
	const size_t at = NLMSG_ALIGN(message->head.nlmsg_len);
	const struct rtattr head = {.rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(size)};
	memcpy((char *)message + at, &head, sizeof head);
	memcpy((char *)message + at + RTA_LENGTH(0), bytes, size);
	message->head.nlmsg_len = (uint32_t)(at + RTA_LENGTH(size));
}

static void add_text_address(struct message *message, uint16_t type, int family, const char *text) {
	struct in6_addr address = {0};
	inet_pton(family, text, &address);
	add_attribute(message, type, &address, family == AF_INET ? sizeof(struct in_addr) : sizeof address);
}

/* 0 or a negative errno: what the kernel says to it. */
static int ask(int netlink, const struct message *message) {
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	_Alignas(struct nlmsghdr) char bytes[REPLY_MAX];
	const struct nlmsghdr *reply = (const struct nlmsghdr *)bytes;
	if (sendto(netlink, message, message->head.nlmsg_len, 0, (const struct sockaddr *)&kernel, sizeof kernel) < 0)
		return -errno;
	ssize_t size = recv(netlink, bytes, sizeof bytes, 0);
	if (size < 0) return -errno;
	struct nlmsgerr said;
	if ((size_t)size < NLMSG_LENGTH(sizeof said) || reply->nlmsg_type != NLMSG_ERROR) return -EBADMSG;
	memcpy(&said, NLMSG_DATA(reply), sizeof said);
	return said.error == -EEXIST ? 0 : said.error;
}

static int bring_up(int netlink) {
	struct message message = message_new(RTM_NEWLINK, sizeof message.link);
	message.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	message.link = (struct ifinfomsg){.ifi_index = LOOPBACK_INDEX, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	return ask(netlink, &message);
}

static int add_address(int netlink, int family, const char *address, unsigned char bits) {
	struct message message = message_new(RTM_NEWADDR, sizeof message.address);
	message.address = (struct ifaddrmsg){.ifa_family = (unsigned char)family,
					     .ifa_prefixlen = bits,
					     .ifa_flags = IFA_F_NODAD, /* a tentative one is no route's source yet */
					     .ifa_index = LOOPBACK_INDEX};
	add_text_address(&message, IFA_LOCAL, family, address);
	add_text_address(&message, IFA_ADDRESS, family, address);
	return ask(netlink, &message);
}

static int add_local_route(int netlink, int family, const char *prefix, unsigned char bits) {
	const uint32_t loopback = LOOPBACK_INDEX;
	struct message message = message_new(RTM_NEWROUTE, sizeof message.route);
	message.route = (struct rtmsg){.rtm_family = (unsigned char)family,
				       .rtm_dst_len = bits,
				       .rtm_table = RT_TABLE_LOCAL,
				       .rtm_protocol = RTPROT_BOOT,
				       .rtm_scope = RT_SCOPE_HOST,
				       .rtm_type = RTN_LOCAL};
	if (bits > 0) add_text_address(&message, RTA_DST, family, prefix);
	add_text_address(&message, RTA_PREFSRC, family, source_of(family));
	add_attribute(&message, RTA_OIF, &loopback, sizeof loopback);
	return ask(netlink, &message);
}

/* Not built in, or turned off (net.ipv6.conf.lo.disable_ipv6: EACCES). */
static bool is_absent(int code) {
	return code == -EOPNOTSUPP || code == -EAFNOSUPPORT || code == -EACCES || code == -ENODEV;
}

int network_make(const struct spaces *spaces, struct error *error) {
	int r = spaces_enter_network(spaces, error);
	if (r < 0) return r;
	CLEANUP_FD int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (netlink < 0) return error_errno(error, "making a netlink socket inside");
	r = bring_up(netlink);
	for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(parts); i++) {
		r = parts[i].address ? add_address(netlink, parts[i].family, parts[i].address, parts[i].bits)
				     : add_local_route(netlink, parts[i].family, parts[i].prefix, parts[i].bits);
		if (parts[i].family == AF_INET6 && is_absent(r)) {
			r = 0;
			break;
		}
	}
	return r < 0 ? error_set(error, -r, "giving the sandbox's loopback its addresses: %s", strerror(-r))
		     : spaces_drop_network(error);
}
