/*
 * The network of a real sandbox, as a portal makes it and as we then use it from outside: addresses, sockets, the pool
 * of them, and who listens. Inside runs a shell, with python3 for what a shell can't.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/string.h"
#include "box.h"
#include "net/sockets/diag.h"
#include "net/streams/spares.h"
#include "schema/limits.h"
#include "support/cmocka.h"

static struct box box;

static int setup(void **state) {
	struct plan plan;
	(void)state;
	box_make(&box);
	box_plan(&box, &plan);
	box_add(&box, &plan, MOUNT_WRITE, "shared");
	box_host(&box, "mkdir shared");
	box_open(&box, &plan);
	portal_network(box.portal, NULL, NULL);
	box_wait(&box);
	return 0;
}

static int teardown(void **state) {
	(void)state;
	if (box.launch) box_close(&box);
	box_remove(&box);
	return 0;
}

struct got {
	int fds[SPARES_FETCH_MAX];
	size_t count;
	int code;
};

static void on_sockets(void *argument, int code, const char *text, int *fds, size_t count) {
	struct got *got = argument;
	(void)text;
	got->code = code;
	got->count = count;
	memcpy(got->fds, fds, count * sizeof *fds);
}

static struct got make(enum spare kind, unsigned count) {
	struct got got = {.code = -1};
	portal_sockets(box.portal, kind, count, on_sockets, &got);
	portal_wait(box.portal, NULL);
	return got;
}

static int make_one(enum spare kind) {
	struct got got = make(kind, 1);
	assert_int_equal(got.code, 0);
	assert_int_equal(got.count, 1);
	return got.fds[0];
}

static struct sockaddr_storage address(const char *text, uint16_t port) {
	struct sockaddr_storage storage = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&storage;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&storage;
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
	}
	return storage;
}

static socklen_t size_of(const struct sockaddr_storage *storage) {
	return storage->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static int bind_to(int fd, const char *text, uint16_t port) {
	struct sockaddr_storage storage = address(text, port);
	const int on = 1; /* what is left of connections that were there doesn't matter */
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
	return bind(fd, (struct sockaddr *)&storage, size_of(&storage)) < 0 ? -errno : 0;
}

static int connect_to(int fd, const char *text, uint16_t port) {
	struct sockaddr_storage storage = address(text, port);
	return connect(fd, (struct sockaddr *)&storage, size_of(&storage)) < 0 ? -errno : 0;
}

/* What comes of a connect that was begun. */
static int end_of(int fd) {
	struct pollfd polled = {.fd = fd, .events = POLLOUT};
	int code = 0;
	socklen_t size = sizeof code;
	assert_int_equal(poll(&polled, 1, 30000), 1);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size), 0);
	return -code;
}

static enum spare tcp_for(const char *text) {
	return strchr(text, ':') ? SPARE_TCP6 : SPARE_TCP4;
}

static void sockets_are_the_sandboxs(void **state) {
	(void)state;
	uint64_t own = 0, other = 0;
	socklen_t size = sizeof own;
	CLEANUP_FD int outside = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(getsockopt(outside, SOL_SOCKET, SO_NETNS_COOKIE, &own, &size), 0);
	for (size_t kind = 0; kind < SPARE_COUNT; kind++) {
		struct got got = make((enum spare)kind, SPARES_FETCH_MAX);
		assert_int_equal(got.code, 0);
		assert_int_equal(got.count, SPARES_FETCH_MAX);
		for (size_t i = 0; i < got.count; i++) {
			int domain = 0, type = 0;
			size = sizeof other;
			assert_int_equal(getsockopt(got.fds[i], SOL_SOCKET, SO_NETNS_COOKIE, &other, &size), 0);
			assert_true(other != 0 && other != own);
			size = sizeof domain;
			assert_int_equal(getsockopt(got.fds[i], SOL_SOCKET, SO_DOMAIN, &domain, &size), 0);
			assert_int_equal(domain, spare_shapes[kind].domain);
			assert_int_equal(getsockopt(got.fds[i], SOL_SOCKET, SO_TYPE, &type, &size), 0);
			assert_int_equal(type, spare_shapes[kind].type);
			assert_true(fcntl(got.fds[i], F_GETFL) & O_NONBLOCK);
			assert_true(fcntl(got.fds[i], F_GETFD) & FD_CLOEXEC);
			fd_close(got.fds[i]);
		}
	}
	assert_int_equal(make(SPARE_TCP4, 0).code, EINVAL);
	assert_int_equal(make(SPARE_TCP4, SPARES_FETCH_MAX + 1).code, EINVAL);
	assert_int_equal(make((enum spare)SPARE_COUNT, 1).code, EINVAL);
}

/* The portal isn't needed for it: we own the user namespace of the network. */
static void we_bind_below_1024_ourselves(void **state) {
	(void)state;
	static const struct {
		const char *address;
		uint16_t port;
	} places[] = {{"127.0.0.1", 53},     {"127.0.0.1", 443}, {"198.18.0.7", 443}, {"::1", 53},
		      {"fd53:6278::7", 443}, {"9.9.9.9", 80},    {"2001:db8::1", 22}};
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		CLEANUP_FD int fd = make_one(tcp_for(places[i].address));
		assert_int_equal(bind_to(fd, places[i].address, places[i].port), 0);
		assert_int_equal(listen(fd, 1), 0);
	}
	CLEANUP_FD int udp = make_one(SPARE_UDP4);
	assert_int_equal(bind_to(udp, "127.0.0.1", 53), 0);
}

static void every_address_is_the_sandboxs_own(void **state) {
	(void)state;
	static const char *const places[] = {"198.18.0.2",      "198.19.255.254", "8.8.8.8",        "10.0.0.1",
					     "169.254.169.254", "fd53:6278::2",   "2606:4700::1111"};
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		CLEANUP_FD int listener = make_one(tcp_for(places[i]));
		assert_int_equal(bind_to(listener, places[i], 443), 0);
		assert_int_equal(listen(listener, 1), 0);
		CLEANUP_FREE char *line =
			string_format("python3 -c 'import socket; s = socket.create_connection((\"%s\", 443)); "
				      "print(s.getpeername()[0], s.getsockname()[0])'",
				      places[i]);
		CLEANUP_FREE char *expected =
			string_format("%s %s", places[i], strchr(places[i], ':') ? "fd53:6278::1" : "198.18.0.1");
		box_expect(&box, line, expected);
		fd_close_p(&listener);
		/* and without a listener it is refused at once, not unreachable, not lost */
		CLEANUP_FD int fd = make_one(tcp_for(places[i]));
		assert_int_equal(connect_to(fd, places[i], 443), -EINPROGRESS);
		assert_int_equal(end_of(fd), -ECONNREFUSED);
	}
}

static void what_is_my_address_has_an_answer(void **state) {
	(void)state;
	box_expect(&box,
		   "python3 -c '\nimport socket\n"
		   "for family, there in (socket.AF_INET, \"8.8.8.8\"), (socket.AF_INET6, \"2001:4860:4860::8888\"):\n"
		   "\ts = socket.socket(family, socket.SOCK_DGRAM)\n"
		   "\ts.connect((there, 53))\n"
		   "\tprint(s.getsockname()[0])'",
		   "198.18.0.1\nfd53:6278::1");
	box_expect(
		&box,
		"python3 -c '\nimport socket\n"
		"for there in \"127.0.0.1\", \"::1\":\n"
		"\tl = socket.create_server((there, 0), family=socket.AF_INET6 if \":\" in there else socket.AF_INET)\n"
		"\ts = socket.create_connection(l.getsockname()[:2])\n"
		"\tprint(s.getsockname()[0])'",
		"127.0.0.1\n::1");
}

/* glibc's AI_ADDRCONFIG, Go, Java look for one before they ask for A or AAAA. */
static void an_address_that_is_no_loopback_is_seen(void **state) {
	(void)state;
	box_expect(&box,
		   "python3 -c '\nimport socket\n"
		   "for literal in \"192.0.2.1\", \"2001:db8::1\":\n"
		   "\tprint(socket.getaddrinfo(literal, 1, type=socket.SOCK_STREAM, "
		   "flags=socket.AI_ADDRCONFIG)[0][4][0])'",
		   "192.0.2.1\n2001:db8::1");
}

/* Made again, as by a portal that took a dead one's place, it is what it was. */
static void the_network_can_be_made_again(void **state) {
	(void)state;
	box_restart(&box, NULL);
	portal_network(box.portal, NULL, NULL);
	box_wait(&box);
	CLEANUP_FD int fd = make_one(SPARE_TCP4);
	assert_int_equal(bind_to(fd, "198.18.0.9", 443), 0);
}

static uint64_t capabilities_of(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", pid);
	FILE *file = fopen(path, "re");
	char line[256];
	uint64_t bits = 0;
	assert_non_null(file);
	while (fgets(line, sizeof line, file))
		if (string_starts(line, "CapPrm:")) bits = strtoull(line + strlen("CapPrm:"), NULL, 16);
	fclose(file);
	return bits;
}

static void the_portal_drops_the_right_to_change_the_network(void **state) {
	(void)state;
	enum { NET_ADMIN = 12 /* CAP_NET_ADMIN */ };
	assert_true(capabilities_of(portal_pid(box.portal)) != 0);
	assert_false(capabilities_of(portal_pid(box.portal)) & UINT64_C(1) << NET_ADMIN);
}

/* The pool, with the portal behind it */

struct pool {
	struct spares *spares;
	size_t fetches, served;
	int order[64];
};

struct errand {
	struct pool *pool;
	enum spare kind;
};

static void on_fetched(void *argument, int code, const char *text, int *fds, size_t count) {
	struct errand *errand = argument;
	if (code != 0) fail_msg("%s", text);
	spares_add(errand->pool->spares, errand->kind, fds, count);
	free(errand);
}

static void fetch(void *context, enum spare kind, unsigned count) {
	struct pool *pool = context;
	struct errand *errand = mem_new(struct errand);
	*errand = (struct errand){.pool = pool, .kind = kind};
	pool->fetches++;
	portal_sockets(box.portal, kind, count, on_fetched, errand);
}

static void use_one(void *argument) {
	struct pool *pool = argument;
	CLEANUP_FD int fd = spares_take(pool->spares, SPARE_TCP4);
	assert_true(fd >= 0);
	assert_int_equal(bind_to(fd, "198.18.0.2", 443), 0);
	pool->served++;
}

static void a_burst_is_served_without_a_round_trip_each(void **state) {
	(void)state;
	enum { BURST = 800 }; /* all may have come before the first is used: fewer than a process may have open */
	struct pool pool = {0};
	const struct spares_options options = {.base = box.base, .fetch = fetch, .context = &pool};
	pool.spares = spares_new(&options);
	assert_int_equal(spares_cookie(pool.spares), 0);
	for (size_t i = 0; i < BURST; i++) spares_when(pool.spares, SPARE_TCP4, use_one, &pool);
	assert_int_equal(pool.served, 0);
	assert_in_range(pool.fetches, BURST / SPARES_FETCH_MAX,
			BURST / SPARES_FETCH_MAX + LIMIT_SPARES / SPARES_FETCH_MAX + 1);
	while (pool.served < BURST) assert_int_equal(event_base_loop(box.base, EVLOOP_ONCE), 0);
	assert_true(spares_cookie(pool.spares) != 0);
	portal_wait(box.portal, NULL);
	int fd = spares_take(pool.spares, SPARE_TCP4); /* kept in reserve */
	assert_true(fd >= 0);
	fd_close(fd);
	portal_wait(box.portal, NULL);
	spares_free(pool.spares);
}

/* Who listens */

static struct diag *diag_inside(void) {
	struct diag *diag = NULL;
	struct error error = ERROR_NONE;
	if (diag_new(make_one(SPARE_DIAG), -1, &diag, &error) < 0) fail_msg("%s", error.message);
	return diag;
}

static bool listens(struct diag *diag, const char *text, uint16_t port) {
	struct sockaddr_storage storage = address(text, port);
	return diag_listens(diag, (struct sockaddr *)&storage);
}

static void listeners_inside_are_seen(void **state) {
	(void)state;
	struct diag *diag = diag_inside();
	uint16_t ports[8] = {0};
	CLEANUP_FD int outside = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind_to(outside, "127.0.0.1", 0), 0);
	assert_int_equal(listen(outside, 1), 0);
	struct sockaddr_in there = {0};
	socklen_t size = sizeof there;
	assert_int_equal(getsockname(outside, (struct sockaddr *)&there, &size), 0);
	assert_false(listens(diag, "127.0.0.1", ntohs(there.sin_port))); /* the host's, not ours */
	box_expect(&box, "mkfifo shared/fifo", "");
	box_send(&box, "python3 -c '\nimport socket, sys\n"
		       "keep = []\n"
		       "def put(family, where, only=True, listening=True):\n"
		       "\ts = socket.socket(family, socket.SOCK_STREAM)\n"
		       "\ts.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
		       "\tif family == socket.AF_INET6: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only)\n"
		       "\ts.bind(where)\n"
		       "\tif listening: s.listen()\n"
		       "\tkeep.append(s)\n"
		       "put(socket.AF_INET, (\"127.0.0.1\", 7001))\n"
		       "put(socket.AF_INET, (\"0.0.0.0\", 7002))\n"
		       "put(socket.AF_INET6, (\"::1\", 7003))\n"
		       "put(socket.AF_INET6, (\"::\", 7004), only=False)\n"
		       "put(socket.AF_INET6, (\"::\", 7005), only=True)\n"
		       "put(socket.AF_INET, (\"127.0.0.1\", 7006), listening=False)\n"
		       "keep.append(socket.create_connection((\"127.0.0.1\", 7001)))\n"
		       "print(\"ready\", flush=True)\n"
		       "sys.stdin.readline()' <>shared/fifo >shared/said &");
	box_expect(&box, "until grep -qs ready shared/said; do :; done; echo ok", "ok");
	static const struct {
		const char *address;
		uint16_t port;
		bool listens;
	} expected[] = {
		{"127.0.0.1", 7001, true},
		{"127.0.0.2", 7001, false},
		{"::1", 7001, false},
		{"::ffff:127.0.0.1", 7001, true},
		{"::ffff:127.0.0.2", 7001, false},
		{"127.0.0.1", 7002, true},
		{"127.9.9.9", 7002, true},
		{"198.18.0.1", 7002, true},
		{"::1", 7002, false},
		{"::1", 7003, true},
		{"127.0.0.1", 7003, false},
		{"127.0.0.1", 7004, true},
		{"::1", 7004, true},
		{"::ffff:127.0.0.1", 7004, true},
		{"127.0.0.1", 7005, false},
		{"::1", 7005, true},
		{"127.0.0.1", 7006, false},
		{"127.0.0.1", 7007, false},
		{"127.0.0.1", 0, false},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
		if (listens(diag, expected[i].address, expected[i].port) != expected[i].listens)
			fail_msg("%s port %u: not %d", expected[i].address, expected[i].port, expected[i].listens);
	assert_int_equal(diag_ports(diag, ports, ARRAY_LENGTH(ports)), 5);
	for (uint16_t i = 0; i < 5; i++) assert_int_equal(ports[i], 7001 + i);
	assert_int_equal(diag_ports(diag, ports, 2), 2);
	box_expect(&box, "echo >shared/fifo; wait; echo gone", "gone");
	assert_false(listens(diag, "127.0.0.1", 7001));
	assert_int_equal(diag_ports(diag, ports, ARRAY_LENGTH(ports)), 0);
	diag_free(diag);
}

static bool bound(struct diag *diag, const char *name) {
	CLEANUP_FREE char *path = path_join(box.home, name);
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_true(S_ISSOCK(status.st_mode));
	return diag_bound(diag, status.st_dev, status.st_ino, NULL);
}

static void who_bound_a_unix_socket_is_told(void **state) {
	(void)state;
	struct diag *diag = diag_inside();
	box_host(&box, "cd shared && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"hosts\")'");
	box_expect(&box, "rm -f shared/fifo shared/said; mkfifo shared/fifo", "");
	box_send(&box,
		 "python3 -c '\nimport socket, sys\n"
		 "stream = socket.socket(socket.AF_UNIX)\nstream.bind(\"shared/own\")\nstream.listen()\n"
		 "datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\ndatagrams.bind(\"shared/datagrams\")\n"
		 "abstract = socket.socket(socket.AF_UNIX)\nabstract.bind(\"\\0abstract\")\n"
		 "gone = socket.socket(socket.AF_UNIX)\ngone.bind(\"shared/gone\")\ngone.close()\n"
		 "print(\"ready\", flush=True)\n"
		 "sys.stdin.readline()' <>shared/fifo >shared/said &");
	box_expect(&box, "until grep -qs ready shared/said; do :; done; echo ok", "ok");
	assert_true(bound(diag, "shared/own"));
	assert_true(bound(diag, "shared/datagrams"));
	assert_false(bound(diag, "shared/gone"));
	assert_false(bound(diag, "shared/hosts"));
	/* as many as make the kernel's list more than a datagram */
	box_expect(&box,
		   "mkfifo shared/hold; python3 -c '\nimport socket\n"
		   "keep = [socket.socketpair() for i in range(400)]\n"
		   "s = socket.socket(socket.AF_UNIX)\ns.bind(\"shared/late\")\n"
		   "open(\"shared/told\", \"w\").write(\"x\")\nopen(\"shared/hold\").read()' & "
		   "until test -s shared/told; do :; done; echo ok",
		   "ok");
	assert_true(bound(diag, "shared/late"));
	assert_true(bound(diag, "shared/own"));
	assert_false(bound(diag, "shared/hosts"));
	box_expect(&box, "echo >shared/hold; echo >shared/fifo; wait; echo gone", "gone");
	assert_false(bound(diag, "shared/own"));
	diag_free(diag);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_are_the_sandboxs),
		cmocka_unit_test(we_bind_below_1024_ourselves),
		cmocka_unit_test(every_address_is_the_sandboxs_own),
		cmocka_unit_test(what_is_my_address_has_an_answer),
		cmocka_unit_test(an_address_that_is_no_loopback_is_seen),
		cmocka_unit_test(the_portal_drops_the_right_to_change_the_network),
		cmocka_unit_test(a_burst_is_served_without_a_round_trip_each),
		cmocka_unit_test(listeners_inside_are_seen),
		cmocka_unit_test(who_bound_a_unix_socket_is_told),
		cmocka_unit_test(the_network_can_be_made_again),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
