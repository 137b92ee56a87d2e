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
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "net/proxy.h"

enum { PIECE = 128 * 1024, HEAD_MAX = 4096, MEGABYTE = 1000 * 1000 };
enum { BATCH = 50, SETTLE_US = 20 * 1000 }; /* connections are closed between the measurements, not in them */

_Noreturn static void die(const char *what) {
	fprintf(stderr, "proxy_load: %s: %s\n", what, errno ? strerror(errno) : "failed");
	exit(1);
}

static double now_us(void) {
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void no_delay(int fd) {
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void send_all(int fd, const void *bytes, size_t size) {
	for (size_t sent = 0; sent < size;) {
		ssize_t n = send(fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);

		if (n <= 0) die("send");
		sent += (size_t)n;
	}
}

/* Up to the empty line. Both sides send nothing behind a head before they got an answer, so whole reads will do. */
static size_t read_head(int fd, char head[HEAD_MAX]) {
	size_t size = 0;
	ssize_t n;

	do {
		if (size == HEAD_MAX - 1) die("a head that is too long");
		if ((n = recv(fd, head + size, HEAD_MAX - 1 - size, 0)) <= 0) return 0;
		size += (size_t)n;
		head[size] = '\0';
	} while (!strstr(head, "\r\n\r\n"));
	return size;
}

static void move_bytes(int fd, bool out, size_t size) {
	static char bytes[PIECE];

	while (size > 0) {
		size_t want = size < PIECE ? size : PIECE;
		ssize_t n = out ? send(fd, bytes, want, MSG_NOSIGNAL) : recv(fd, bytes, want, 0);

		if (n <= 0) die(out ? "send" : "recv");
		size -= (size_t)n;
	}
}

/* How many bytes of the body came with the head. */
static size_t behind_head(const char head[HEAD_MAX], size_t size) {
	return size - (size_t)(strstr(head, "\r\n\r\n") + 4 - head);
}

/* The origin: GET /small, GET /N (N bytes), POST with Content-Length. */

static void *origin_serve(void *argument) {
	static const char small[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
	int fd = *(int *)argument;
	char head[HEAD_MAX];
	size_t got;

	free(argument);
	no_delay(fd);
	while ((got = read_head(fd, head)) > 0) {
		const char *length = strstr(head, "Content-Length: ");

		if (strncmp(head, "GET /small", 10) == 0) {
			send_all(fd, small, sizeof small - 1);
		} else if (length) {
			move_bytes(fd, false, strtoul(length + 16, NULL, 10) - behind_head(head, got));
			send_all(fd, small, sizeof small - 1);
		} else {
			size_t size = strtoul(head + strlen("GET /"), NULL, 10);
			CLEANUP_FREE char *text = string_format("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", size);

			send_all(fd, text, strlen(text));
			move_bytes(fd, true, size);
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
		die("listen");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static int run_origin(void) {
	int listener = listen_and_print();

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pthread_t thread;

		if (fd < 0) die("accept");
		if (pthread_create(&thread, NULL, origin_serve, mem_copy(&fd, sizeof fd)) != 0) die("a thread");
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
	struct event_base *base = event_base_new();
	struct gate *gate = gate_new(base, &judge);
	struct proxy *proxy = proxy_new(base, gate, "default");
	struct error error = ERROR_NONE;

	if (proxy_listen(proxy, listen_and_print(), &error) < 0) die(error.message);
	return event_base_dispatch(base);
}

/* The load */

struct route {
	uint16_t origin, proxy;
};

static int dial(uint16_t port) {
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) die("connect");
	no_delay(fd);
	return fd;
}

static int dial_route(const struct route *route) {
	int fd = dial(route->proxy ? route->proxy : route->origin);
	char head[HEAD_MAX];

	if (route->proxy == 0) return fd;
	int size = snprintf(head, sizeof head, "CONNECT localhost:%d HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
			    route->origin, route->origin);
	send_all(fd, head, (size_t)size);
	if (read_head(fd, head) == 0 || strncmp(head + 8, " 200", 4) != 0) die("CONNECT");
	return fd;
}

static void get_small(int fd, const char *url_prefix, uint16_t origin) {
	char head[HEAD_MAX];
	int size = snprintf(head, sizeof head,
			    "GET %s/small HTTP/1.1\r\nHost: localhost:%d\r\nAccept: */*\r\nUser-Agent: "
			    "bench\r\n\r\n",
			    url_prefix, origin);

	send_all(fd, head, (size_t)size);
	size_t got = read_head(fd, head);
	if (got == 0 || strncmp(head + 8, " 200", 4) != 0) die("GET");
	if (behind_head(head, got) < 5) move_bytes(fd, false, 5 - behind_head(head, got));
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
	int fds[BATCH];

	for (size_t i = 0; i < count; i += BATCH) {
		size_t batch = count - i < BATCH ? count - i : BATCH;

		for (size_t k = 0; k < batch; k++) {
			double start = now_us();

			fds[k] = dial_route(route);
			times[i + k] = now_us() - start;
			get_small(fds[k], "", route->origin); /* it is one that works */
		}
		for (size_t k = 0; k < batch; k++) fd_close(fds[k]);
		usleep(SETTLE_US);
	}
	print_median(times, count);
	free(times);
}

static void run_request(const struct route *route, size_t count) {
	double *times = mem_array(double, count);
	CLEANUP_FREE char *prefix =
		route->proxy ? string_format("http://localhost:%d", route->origin) : string_copy("");
	int fd = dial(route->proxy ? route->proxy : route->origin);

	for (size_t i = 0; i < count; i++) {
		double start = now_us();

		get_small(fd, prefix, route->origin);
		times[i] = now_us() - start;
	}
	print_median(times, count);
	fd_close(fd);
	free(times);
}

static void run_transfer(const struct route *route, bool upload, size_t megabytes) {
	size_t size = megabytes * MEGABYTE;
	int fd = dial_route(route);
	char head[HEAD_MAX];
	double start = now_us();
	int written = upload ? snprintf(head, sizeof head, "POST / HTTP/1.1\r\nContent-Length: %zu\r\n\r\n", size)
			     : snprintf(head, sizeof head, "GET /%zu HTTP/1.1\r\n\r\n", size);

	send_all(fd, head, (size_t)written);
	if (upload) move_bytes(fd, true, size);
	size_t got = read_head(fd, head);
	if (got == 0) die("no answer");
	if (!upload) move_bytes(fd, false, size - behind_head(head, got));
	printf("%.0f\n", (double)size / (now_us() - start));
	fd_close(fd);
}

static uint16_t port_argument(const char *text) {
	unsigned long long port = 0;

	if (string_to_u64(text, &port) < 0 || port > UINT16_MAX) die("a port is expected");
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
