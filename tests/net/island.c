#include "island.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "support/cmocka.h"
#include "support/passing.h"

struct wish {
	int domain, type, protocol;
};

static int lo_up(void) {
	struct ifreq request = {.ifr_name = "lo"};
	CLEANUP_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0) return -errno;
	request.ifr_flags |= IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

/* ip route add local 0.0.0.0/0 dev lo */
static int all_is_local(unsigned char family) {
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr out;
		unsigned interface;
	} request = {
		.head = {.nlmsg_len = sizeof request,
			 .nlmsg_type = RTM_NEWROUTE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE},
		.route = {.rtm_family = family,
			  .rtm_table = RT_TABLE_LOCAL,
			  .rtm_protocol = RTPROT_STATIC,
			  .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
			  .rtm_type = RTN_LOCAL},
		.out = {.rta_len = RTA_LENGTH(sizeof(unsigned)), .rta_type = RTA_OIF},
		.interface = if_nametoindex("lo"),
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
	} reply = {0};
	CLEANUP_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 || send(fd, &request, sizeof request, 0) < 0 || recv(fd, &reply, sizeof reply, 0) < 0) return -errno;
	return reply.error.error;
}

static _Noreturn void live(int channel, pid_t parent) {
	struct wish wish;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) _exit(1);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 || lo_up() < 0 || all_is_local(AF_INET) < 0 ||
	    all_is_local(AF_INET6) < 0)
		_exit(2);
	if (write(channel, "", 1) != 1) _exit(3);
	while (recv(channel, &wish, sizeof wish, 0) == sizeof wish) {
		int fd = socket(wish.domain, wish.type | SOCK_CLOEXEC, wish.protocol);

		if (passing_send(channel, "", 1, &fd, fd >= 0) < 0) _exit(4);
		fd_close(fd);
	}
	_exit(0);
}

void island_make(struct island *island) {
	int ends[2];
	char byte;
	const pid_t self = getpid();

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	island->pid = fork();
	assert_true(island->pid >= 0);
	if (island->pid == 0) {
		close(ends[0]);
		live(ends[1], self);
	}
	close(ends[1]);
	island->channel = ends[0];
	if (read(island->channel, &byte, 1) != 1) fail_msg("no network namespace is to be had here");
}

void island_remove(struct island *island) {
	close(island->channel);
	assert_int_equal(waitpid(island->pid, NULL, 0), island->pid);
}

int island_socket(struct island *island, int domain, int type, int protocol) {
	const struct wish wish = {domain, type, protocol};
	int fds[PASSING_MAX];
	size_t count;
	char byte;

	assert_int_equal(send(island->channel, &wish, sizeof wish, 0), sizeof wish);
	assert_int_equal(passing_receive(island->channel, &byte, 1, fds, &count), 1);
	assert_int_equal(count, 1);
	return fds[0];
}

static void copies_add(struct island_copies *copies, int fd) {
	assert_true(copies->count < sizeof copies->fds / sizeof *copies->fds);
	copies->fds[copies->count] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	assert_true(copies->fds[copies->count++] >= 0);
}

void island_copies_close(struct island_copies *copies) {
	while (copies->count > 0) close(copies->fds[--copies->count]);
}

void island_fetch(void *context, enum spare kind, unsigned count) {
	struct island_store *store = context;
	const struct spare_shape *shape = &spare_shapes[kind];
	int fds[PASSING_MAX];
	const int on = 1; /* as the portal makes them */

	assert_true(count <= PASSING_MAX);
	for (unsigned i = 0; i < count; i++) {
		fds[i] = island_socket(store->island, shape->domain, shape->type | SOCK_NONBLOCK, shape->protocol);
		if (shape->domain == AF_INET6) setsockopt(fds[i], IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof on);
		if (store->copies) copies_add(store->copies, fds[i]);
	}
	spares_add(store->spares, kind, fds, count);
}
