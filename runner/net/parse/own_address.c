#include "own_address.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* rtnetlink(7): the route to one address. */
struct route_query {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr to;
	unsigned char address[sizeof(struct in6_addr)];
};

static struct route_query query_of(const struct sockaddr *address) {
	static const size_t mapped_at = sizeof(struct in6_addr) - sizeof(struct in_addr);
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
	struct route_query query = {.head = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
				    .to = {.rta_type = RTA_DST}};
	size_t size = sizeof ipv4.sin_addr;
	if (address->sa_family == AF_INET) {
		memcpy(&ipv4, address, sizeof ipv4);
		memcpy(query.address, &ipv4.sin_addr, size);
	} else {
		memcpy(&ipv6, address, sizeof ipv6);
		const bool mapped = IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr);
		if (!mapped) size = sizeof ipv6.sin6_addr;
		memcpy(query.address, ipv6.sin6_addr.s6_addr + (mapped ? mapped_at : 0), size);
	}
	query.route.rtm_family = size == sizeof ipv4.sin_addr ? AF_INET : AF_INET6;
	query.route.rtm_dst_len = (unsigned char)(size * 8);
	query.to.rta_len = (unsigned short)RTA_LENGTH(size);
	query.head.nlmsg_len = (unsigned)(NLMSG_LENGTH(sizeof query.route) + RTA_SPACE(size));
	return query;
}

/* An RTN_… of rtnetlink(7), or -errno. */
static int route_type(const struct sockaddr *address) {
	const struct route_query query = query_of(address);
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	CLEANUP_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0 || send(fd, &query, query.head.nlmsg_len, 0) < 0) return -errno;
	const ssize_t size = recv(fd, &answer, sizeof answer, MSG_DONTWAIT); /* it was answered while it was sent */
	if (size < 0) return -errno;
	if (!NLMSG_OK(&answer.head, (size_t)size)) return -EBADMSG;
	if (answer.head.nlmsg_type == NLMSG_ERROR) return ((struct nlmsgerr *)NLMSG_DATA(&answer.head))->error;
	if (answer.head.nlmsg_type != RTM_NEWROUTE) return -EBADMSG;
	return ((struct rtmsg *)NLMSG_DATA(&answer.head))->rtm_type;
}

bool address_is_own(const struct sockaddr *address) {
	switch (route_type(address)) {
	case RTN_UNICAST:
	case RTN_UNREACHABLE:
	case -ENETUNREACH:
	case -EHOSTUNREACH:
		return false;
	default:
		return true;
	}
}
