/*
 * proxy_load: origin, gate and load generator for bench/proxy.sh.
 *
 *     proxy_load origin                    serve on a loopback port, which is printed
 *     proxy_load gate                      the proxy with a judge that allows everything, likewise
 *     proxy_load connect ORIGIN PROXY N    µs until a connection (through a tunnel) stands: median of N
 *     proxy_load request ORIGIN PROXY N    µs of a GET over a kept connection (absolute-form): median of N
 *     proxy_load download ORIGIN PROXY N   MB/s of N megabytes (through a tunnel)
 *     proxy_load upload ORIGIN PROXY N     likewise the other way
 *
 * ORIGIN and PROXY are ports of 127.0.0.1; PROXY 0 is a direct connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/string.h"
#include "exchange.h"
#include "net/doors/proxy.h"

enum { MEGABYTE = 1000 * 1000 };
enum { BATCH = 50, SETTLE_US = 20 * 1000 }; /* connections are closed between the measurements, not in them */

static double now_us(void) {
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The origin: GET /small, GET /N (N bytes), POST with Content-Length. */

static void *origin_serve(void *argument) {
	static const char small[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
	int fd = *(int *)argument;
	char head[EXCHANGE_HEAD_MAX];
	size_t got;

	free(argument);
	exchange_no_delay(fd);
	while ((got = exchange_read_head(fd, head)) > 0) {
		const char *length = strstr(head, "Content-Length: ");

		if (strncmp(head, "GET /small", 10) == 0) {
			exchange_send(fd, small, sizeof small - 1);
		} else if (length) {
			exchange_move(fd, false, strtoul(length + 16, NULL, 10) - exchange_behind_head(head, got));
			exchange_send(fd, small, sizeof small - 1);
		} else {
			size_t size = strtoul(head + strlen("GET /"), NULL, 10);
			CLEANUP_FREE char *text = string_format("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", size);

			exchange_send(fd, text, strlen(text));
			exchange_move(fd, true, size);
		}
	}
	fd_close(fd);
	return NULL;
}

static int listen_and_print(void) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		exchange_die("listen");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static int run_origin(void) {
	int listener = listen_and_print();

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pthread_t thread;

		if (fd < 0) exchange_die("accept");
		if (pthread_create(&thread, NULL, origin_serve, mem_copy(&fd, sizeof fd)) != 0)
			exchange_die("a thread");
		pthread_detach(thread);
	}
}

/* The gate */

static uint64_t allow(void *context, const char *target, const struct gate_caller *caller,
		      void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct verdict verdict = {.effect = EFFECT_ALLOW, .module = "rules", .private_allowed = true};

	(void)context, (void)target, (void)caller;
	done(argument, &verdict);
	return 0;
}

static int run_gate(void) {
	const struct gate_judge judge = {.check = allow};
	struct event_base *base = loop_new();
	struct gate *gate = gate_new(base, &judge);
	struct proxy *proxy = proxy_new(base, gate, "default");
	struct error error = ERROR_NONE;

	if (proxy_listen(proxy, listen_and_print(), &error) < 0) exchange_die(error.message);
	return event_base_dispatch(base);
}

/* The load */

struct route {
	uint16_t origin, proxy;
};

static int dial(uint16_t port) {
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	return exchange_dial((const struct sockaddr *)&address, sizeof address);
}

/* Of the origin. Freed by the caller. */
static char *authority_of(const struct route *route) {
	return string_format("localhost:%d", route->origin);
}

static int dial_route(const struct route *route) {
	int fd = dial(route->proxy ? route->proxy : route->origin);
	CLEANUP_FREE char *authority = authority_of(route);

	if (route->proxy != 0) exchange_tunnel(fd, authority, NULL);
	return fd;
}

static int by_size(const void *a, const void *b) {
	double difference = *(const double *)a - *(const double *)b;

	return difference < 0 ? -1 : difference > 0;
}

static void print_median(double *times, size_t count) {
	qsort(times, count, sizeof *times, by_size);
	printf("%.1f\n", times[count / 2]);
}

static void run_connect(const struct route *route, size_t count) {
	double *times = mem_array(double, count);
	CLEANUP_FREE char *authority = authority_of(route);
	int fds[BATCH];

	for (size_t i = 0; i < count; i += BATCH) {
		size_t batch = count - i < BATCH ? count - i : BATCH;

		for (size_t k = 0; k < batch; k++) {
			double start = now_us();

			fds[k] = dial_route(route);
			times[i + k] = now_us() - start;
			exchange_get_small(fds[k], "", authority); /* it is one that works */
		}
		for (size_t k = 0; k < batch; k++) fd_close(fds[k]);
		usleep(SETTLE_US);
	}
	print_median(times, count);
	free(times);
}

static void run_request(const struct route *route, size_t count) {
	double *times = mem_array(double, count);
	CLEANUP_FREE char *authority = authority_of(route);
	CLEANUP_FREE char *prefix = route->proxy ? string_format("http://%s", authority) : string_copy("");
	int fd = dial(route->proxy ? route->proxy : route->origin);

	for (size_t i = 0; i < count; i++) {
		double start = now_us();

		exchange_get_small(fd, prefix, authority);
		times[i] = now_us() - start;
	}
	print_median(times, count);
	fd_close(fd);
	free(times);
}

static void run_transfer(const struct route *route, bool upload, size_t megabytes) {
	size_t size = megabytes * MEGABYTE;
	int fd = dial_route(route);
	CLEANUP_FREE char *authority = authority_of(route);
	double start = now_us();

	if (upload)
		exchange_upload(fd, authority, size);
	else
		exchange_download(fd, authority, size);
	printf("%.0f\n", (double)size / (now_us() - start));
	fd_close(fd);
}

static uint16_t port_argument(const char *text) {
	unsigned long long port = 0;

	if (string_to_u64(text, &port) < 0 || port > UINT16_MAX) exchange_die("a port is expected");
	return (uint16_t)port;
}

int main(int argc, char **argv) {
	unsigned long long count = 0;
	struct route route;

	if (argc == 2 && strcmp(argv[1], "origin") == 0) return run_origin();
	if (argc == 2 && strcmp(argv[1], "gate") == 0) return run_gate();
	if (argc != 5 || string_to_u64(argv[4], &count) < 0 || count == 0) {
		fputs("usage: proxy_load origin | gate | connect|request|download|upload ORIGIN PROXY N\n", stderr);
		return 2;
	}
	route = (struct route){port_argument(argv[2]), port_argument(argv[3])};
	if (strcmp(argv[1], "connect") == 0)
		run_connect(&route, (size_t)count);
	else if (strcmp(argv[1], "request") == 0)
		run_request(&route, (size_t)count);
	else
		run_transfer(&route, strcmp(argv[1], "upload") == 0, (size_t)count);
	return 0;
}
