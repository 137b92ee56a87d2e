/*
 * native_load: the client of bench/native.sh, in a sandbox or outside, and a bare relay to compare with.
 *
 *     native_load relay ORIGIN   every connection to a loopback port, which is printed, leads to the port ORIGIN
 *     native_load                does jobs
 *
 * A job is a line of words with tabs between them on stdin; its answer "BEGIN END OUTCOME" on stdout (sides.sh), where
 * OUTCOME is what is named here, in ns:
 *
 *     lookup COUNT               the name is looked up: p50 p99
 *     connect CLIENTS COUNT      a connection stands (through the proxy's tunnel): p50 p99 of COUNT, by so many threads
 *     kept CLIENTS COUNT         a request over a connection that stands
 *     new CLIENTS COUNT          a request with a connection of its own
 *     download BYTES COUNT       so many bytes over a connection of their own: the median
 *     upload BYTES COUNT
 *
 * $BENCH_ORIGIN is the origin's host:port, looked up once but for `lookup`; $BENCH_PROXY an HTTP proxy's address:port,
 * or empty; $BENCH_AUTHORIZATION what it wants to be told (Proxy-Authorization).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/string.h"
#include "exchange.h"
#include "load.h"
#include "net/streams/pipes.h"
#include "net/streams/relay.h"

enum { WORDS_MAX = 3, CLIENTS_MAX = 64, BACKLOG = 1024, LINE_MAX_BYTES = 256, SETTLE_US = 20 * 1000 };

/* Where to */

struct route {
	char *authority, *host, *port;
	struct sockaddr_storage address; /* that is dialled: the proxy's, or the origin's */
	socklen_t size;
	bool proxied;
	const char *authorization; /* for the proxy; or NULL */
};

static void look_up(const char *host, const char *port, struct sockaddr_storage *ret_address, socklen_t *ret_size) {
	const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int r = getaddrinfo(host, port, &wanted, &found);
	if (r != 0) exchange_die(gai_strerror(r));
	memcpy(ret_address, found->ai_addr, found->ai_addrlen);
	*ret_size = found->ai_addrlen;
	freeaddrinfo(found);
}

static void split(const char *authority, char **ret_host, char **ret_port) {
	const char *colon = strrchr(authority, ':');
	if (!colon) exchange_die("host:port is expected");
	*ret_host = string_copy_bytes(authority, (size_t)(colon - authority));
	*ret_port = string_copy(colon + 1);
}

static void route_init(struct route *route) {
	const char *origin = getenv("BENCH_ORIGIN"), *proxy = getenv("BENCH_PROXY");
	if (!origin) exchange_die("BENCH_ORIGIN is not set");
	*route = (struct route){.authority = string_copy(origin),
				.proxied = proxy && *proxy,
				.authorization = getenv("BENCH_AUTHORIZATION")};
	split(origin, &route->host, &route->port);
	if (!route->proxied) {
		look_up(route->host, route->port, &route->address, &route->size);
		return;
	}
	CLEANUP_FREE char *host = NULL, *port = NULL;
	split(proxy, &host, &port);
	look_up(host, port, &route->address, &route->size);
}

static int dial(const struct route *route) {
	int fd = exchange_dial((const struct sockaddr *)&route->address, route->size);
	if (route->proxied) exchange_tunnel(fd, route->authority, route->authorization);
	return fd;
}

/* By several clients */

struct client {
	const struct route *route;
	void (*work)(const struct client *client);
	size_t count;
	size_t batch; /* connections that it has at once */
	int64_t *times;
};

static void work_connect(const struct client *client) {
	int fds[CLIENTS_MAX];
	for (size_t i = 0; i < client->count; i += client->batch) {
		size_t batch = client->count - i < client->batch ? client->count - i : client->batch;
		for (size_t k = 0; k < batch; k++) {
			int64_t start = load_now_ns();
			fds[k] = dial(client->route);
			client->times[i + k] = load_now_ns() - start;
			exchange_get_small(fds[k], "", client->route->authority); /* it is one that works */
		}
		for (size_t k = 0; k < batch; k++) fd_close(fds[k]); /* between the measurements, not in them */
		usleep(SETTLE_US);
	}
}

static void work_kept(const struct client *client) {
	int fd = dial(client->route);
	exchange_get_small(fd, "", client->route->authority);
	for (size_t i = 0; i < client->count; i++) {
		int64_t start = load_now_ns();
		exchange_get_small(fd, "", client->route->authority);
		client->times[i] = load_now_ns() - start;
	}
	fd_close(fd);
}

static void work_new(const struct client *client) {
	for (size_t i = 0; i < client->count; i++) {
		int64_t start = load_now_ns();
		int fd = dial(client->route);
		exchange_get_small(fd, "", client->route->authority);
		fd_close(fd);
		client->times[i] = load_now_ns() - start;
	}
}

static void *client_run(void *argument) {
	const struct client *client = argument;
	client->work(client);
	return NULL;
}

static void answer(const char *outcome) {
	printf("0 0 %s\n", outcome);
	fflush(stdout);
}

static void answer_times(int64_t *times, size_t count) {
	char text[LINE_MAX_BYTES];
	load_sort(times, count);
	snprintf(text, sizeof text, "%lld %lld", (long long)times[count / 2], (long long)times[count * 99 / 100]);
	answer(text);
}

static void run_clients(const struct route *route, void (*work)(const struct client *client), size_t clients,
			size_t count) {
	struct client each[CLIENTS_MAX];
	pthread_t threads[CLIENTS_MAX];
	if (clients < 1 || clients > CLIENTS_MAX) exchange_die("so many clients");
	const size_t share = count / clients;
	if (share == 0) exchange_die("so few for so many clients");
	CLEANUP_FREE int64_t *times = mem_array(int64_t, share * clients);
	for (size_t i = 0; i < clients; i++) {
		each[i] = (struct client){route, work, share, CLIENTS_MAX / clients, times + i * share};
		if (pthread_create(&threads[i], NULL, client_run, &each[i]) != 0) exchange_die("a thread");
	}
	for (size_t i = 0; i < clients; i++) pthread_join(threads[i], NULL);
	answer_times(times, share * clients);
}

/* Jobs */

static void job_lookup(const struct route *route, const size_t numbers[2]) {
	CLEANUP_FREE int64_t *times = mem_array(int64_t, numbers[0] + 1);
	for (size_t i = 0; i < numbers[0]; i++) {
		struct sockaddr_storage address;
		socklen_t size;
		int64_t start = load_now_ns();
		look_up(route->host, route->port, &address, &size);
		times[i] = load_now_ns() - start;
	}
	answer_times(times, numbers[0]);
}

static void job_connect(const struct route *route, const size_t numbers[2]) {
	run_clients(route, work_connect, numbers[0], numbers[1]);
}

static void job_kept(const struct route *route, const size_t numbers[2]) {
	run_clients(route, work_kept, numbers[0], numbers[1]);
}

static void job_new(const struct route *route, const size_t numbers[2]) {
	run_clients(route, work_new, numbers[0], numbers[1]);
}

static void transfer(const struct route *route, const size_t numbers[2],
		     void (*move)(int fd, const char *authority, size_t size)) {
	CLEANUP_FREE int64_t *times = mem_array(int64_t, numbers[1] + 1);
	for (size_t i = 0; i < numbers[1]; i++) {
		int fd = dial(route);
		int64_t start = load_now_ns();
		move(fd, route->authority, numbers[0]);
		times[i] = load_now_ns() - start;
		fd_close(fd);
	}
	answer_times(times, numbers[1]);
}

static void job_download(const struct route *route, const size_t numbers[2]) {
	transfer(route, numbers, exchange_download);
}

static void job_upload(const struct route *route, const size_t numbers[2]) {
	transfer(route, numbers, exchange_upload);
}

static const struct job {
	const char *name;
	void (*run)(const struct route *route, const size_t numbers[2]);
} jobs[] = {
	{"lookup", job_lookup}, {"connect", job_connect},   {"kept", job_kept},
	{"new", job_new},       {"download", job_download}, {"upload", job_upload},
};

static void do_job(const struct route *route, char *line) {
	size_t numbers[WORDS_MAX - 1] = {0}, count = 0;
	char *rest = line;
	const char *name = strtok_r(rest, "\t\n", &rest), *word;
	while (name && count < ARRAY_LENGTH(numbers) && (word = strtok_r(rest, "\t\n", &rest))) {
		unsigned long long number;
		if (string_to_u64(word, &number) < 0 || number == 0) exchange_die("a number is expected");
		numbers[count++] = (size_t)number;
	}
	for (size_t i = 0; name && i < ARRAY_LENGTH(jobs); i++) {
		if (strcmp(jobs[i].name, name) != 0) continue;
		jobs[i].run(route, numbers);
		return;
	}
	exchange_die("no such job");
}

static int run_jobs(void) {
	struct route route;
	char line[LINE_MAX_BYTES];
	route_init(&route);
	while (fgets(line, sizeof line, stdin)) do_job(&route, line);
	return 0;
}

/* The relay */

struct pair {
	struct event_base *base;
	struct pipes pipes;
	struct sockaddr_in origin;
};

static void on_relayed(void *argument, int code) {
	(void)code;
	relay_free(*(struct relay **)argument);
	free(argument);
}

static void on_acceptable(evutil_socket_t listener, short what, void *argument) {
	struct pair *pair = argument;
	(void)what;
	int near = accept4((int)listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (near < 0) return;
	int far = exchange_dial((const struct sockaddr *)&pair->origin, sizeof pair->origin);
	exchange_no_delay(near);
	if (fd_nonblocking(far, true, NULL) < 0) exchange_die("a socket");
	struct relay **relay = mem_new(struct relay *);
	const struct relay_ends ends = {.near = near, .far = far};
	*relay = relay_new(pair->base, &pair->pipes, &ends, on_relayed, relay);
}

static int run_relay(const char *port) {
	unsigned long long number = 0;
	if (string_to_u64(port, &number) < 0 || number > UINT16_MAX) exchange_die("a port is expected");
	struct pair pair = {.base = loop_new(),
			    .origin = {.sin_family = AF_INET,
				       .sin_port = htons((uint16_t)number),
				       .sin_addr = {htonl(INADDR_LOOPBACK)}}};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		exchange_die("listen");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	pipes_init(&pair.pipes);
	event_add(event_new(pair.base, fd, EV_READ | EV_PERSIST, on_acceptable, &pair), NULL);
	return event_base_dispatch(pair.base);
}

int main(int argc, char **argv) {
	if (argc == 3 && strcmp(argv[1], "relay") == 0) return run_relay(argv[2]);
	if (argc == 1) return run_jobs();
	fputs("usage: native_load [relay ORIGIN]\n", stderr);
	return 2;
}
