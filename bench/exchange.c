#include "exchange.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"

enum { PIECE = 128 * 1024 };

void exchange_die(const char *what) {
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, errno ? strerror(errno) : "failed");
	exit(1);
}

void exchange_no_delay(int fd) {
	const int on = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int exchange_dial(const struct sockaddr *address, socklen_t size) {
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, address, size) < 0) exchange_die("connect");
	exchange_no_delay(fd);
	return fd;
}

void exchange_send(int fd, const void *bytes, size_t size) {
	for (size_t sent = 0; sent < size;) {
		ssize_t n = send(fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
		if (n <= 0) exchange_die("send");
		sent += (size_t)n;
	}
}

size_t exchange_read_head(int fd, char head[EXCHANGE_HEAD_MAX]) {
	size_t size = 0;
	do {
		if (size == EXCHANGE_HEAD_MAX - 1) exchange_die("a head that is too long");
		ssize_t n = recv(fd, head + size, EXCHANGE_HEAD_MAX - 1 - size, 0);
		if (n <= 0) return 0;
		size += (size_t)n;
		head[size] = '\0';
	} while (!strstr(head, "\r\n\r\n"));
	return size;
}

size_t exchange_behind_head(const char head[EXCHANGE_HEAD_MAX], size_t size) {
	return size - (size_t)(strstr(head, "\r\n\r\n") + 4 - head);
}

void exchange_move(int fd, bool out, size_t size) {
	static char bytes[PIECE];
	while (size > 0) {
		size_t want = size < PIECE ? size : PIECE;
		ssize_t n = out ? send(fd, bytes, want, MSG_NOSIGNAL) : recv(fd, bytes, want, 0);
		if (n <= 0) exchange_die(out ? "send" : "recv");
		size -= (size_t)n;
	}
}

static size_t read_ok(int fd, char head[EXCHANGE_HEAD_MAX], const char *what) {
	size_t got = exchange_read_head(fd, head);
	if (got == 0 || strncmp(head + strlen("HTTP/1.1"), " 200", 4) != 0) exchange_die(what);
	return got;
}

void exchange_tunnel(int fd, const char *authority, const char *authorization) {
	char head[EXCHANGE_HEAD_MAX];
	CLEANUP_FREE char *said = authorization ? string_format("Proxy-Authorization: %s\r\n", authorization) : NULL;
	CLEANUP_FREE char *text =
		string_format("CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", authority, authority, said ? said : "");
	exchange_send(fd, text, strlen(text));
	read_ok(fd, head, "CONNECT");
}

void exchange_get_small(int fd, const char *url_prefix, const char *authority) {
	static const size_t body = 5; /* of the origin's answer */
	char head[EXCHANGE_HEAD_MAX];
	int size = snprintf(head, sizeof head,
			    "GET %s/small HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\nUser-Agent: bench\r\n\r\n", url_prefix,
			    authority);
	exchange_send(fd, head, (size_t)size);
	size_t got = read_ok(fd, head, "GET"), behind = exchange_behind_head(head, got);
	if (behind < body) exchange_move(fd, false, body - behind);
}

void exchange_download(int fd, const char *authority, size_t size) {
	char head[EXCHANGE_HEAD_MAX];
	CLEANUP_FREE char *text = string_format("GET /%zu HTTP/1.1\r\nHost: %s\r\n\r\n", size, authority);
	exchange_send(fd, text, strlen(text));
	size_t got = read_ok(fd, head, "GET");
	exchange_move(fd, false, size - exchange_behind_head(head, got));
}

void exchange_upload(int fd, const char *authority, size_t size) {
	char head[EXCHANGE_HEAD_MAX];
	CLEANUP_FREE char *text =
		string_format("POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %zu\r\n\r\n", authority, size);
	exchange_send(fd, text, strlen(text));
	exchange_move(fd, true, size);
	read_ok(fd, head, "POST");
}
