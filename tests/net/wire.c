#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "support/patience.h"

enum { CONNECTIONS_MAX = 256 };

static void set_patience(int fd) {
	const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

int wire_dial(uint16_t port) {
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	set_patience(fd);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

int wire_send(int fd, const void *bytes, size_t size) {
	for (size_t sent = 0; sent < size;) {
		ssize_t n = send(fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);

		if (n <= 0) return errno; /* the peer is gone; what it said before is still to be read */
		sent += (size_t)n;
	}
	return 0;
}

void wire_say(int fd, const char *format, ...) {
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	int size = vasprintf(&text, format, arguments);
	va_end(arguments);
	assert_true(size >= 0);
	wire_send(fd, text, (size_t)size);
	free(text);
}

char *wire_read_all(int fd, size_t *ret_size) {
	struct string all = {0};
	char bytes[16384];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) string_append_bytes(&all, bytes, (size_t)n);
	if (n < 0 && errno == EAGAIN) fail_msg("the peer neither sends nor ends");
	if (ret_size) *ret_size = all.size;
	return string_steal(&all);
}

char *wire_read_head(int fd) {
	struct string head = {0};
	char c;
	ssize_t n = 0;

	while ((head.size < 4 || memcmp(head.data + head.size - 4, "\r\n\r\n", 4) != 0) &&
	       (n = recv(fd, &c, 1, 0)) == 1)
		string_append_char(&head, c);
	if (n < 0 && errno == EAGAIN) fail_msg("no whole head came: %s", head.data ? head.data : "");
	return string_steal(&head);
}

char *wire_read_bytes(int fd, size_t size) {
	char *bytes = mem_alloc(size + 1, 1);
	size_t got = 0;
	ssize_t n = 0;

	while (got < size && (n = recv(fd, bytes + got, size - got, 0)) > 0) got += (size_t)n;
	if (n < 0 && errno == EAGAIN) fail_msg("%zu bytes were to come, %zu came", size, got);
	return bytes;
}

char *wire_read_response(int fd) {
	CLEANUP_FREE char *head = wire_read_head(fd);
	const char *length = strcasestr(head, "\r\nContent-Length: ");
	CLEANUP_FREE char *body =
		wire_read_bytes(fd, length ? strtoul(length + strlen("\r\nContent-Length: "), NULL, 10) : 0);

	return string_format("%s%s", head, body);
}

int wire_read_end(int fd) {
	char byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	return n == 0 ? 0 : n < 0 ? errno : EMSGSIZE;
}

int wire_thread(pthread_t *ret_thread, void *(*run)(void *argument), void *argument) {
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int r = pthread_create(ret_thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

struct server {
	int listener, stop[2];
	uint16_t port;
	pthread_t thread;
	serve *serve;
	void *argument;
	pthread_mutex_t lock;
	unsigned accepted, joined;
	pthread_t threads[CONNECTIONS_MAX];
	int fds[CONNECTIONS_MAX];
};

struct connection {
	struct server *server;
	unsigned index;
};

static void *connection_main(void *argument) {
	struct connection *connection = argument;
	struct server *server = connection->server;
	int fd = server->fds[connection->index];

	server->serve(fd, server->argument);
	pthread_mutex_lock(&server->lock);
	fd_close(fd);
	server->fds[connection->index] = -1;
	pthread_mutex_unlock(&server->lock);
	free(connection);
	return NULL;
}

static void *server_main(void *argument) {
	struct server *server = argument;
	struct pollfd polled[2] = {{.fd = server->listener, .events = POLLIN},
				   {.fd = server->stop[0], .events = POLLIN}};

	while (poll(polled, 2, -1) > 0 && polled[1].revents == 0) {
		struct connection *connection = mem_new(struct connection);
		int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

		assert_true(fd >= 0);
		set_patience(fd);
		pthread_mutex_lock(&server->lock);
		assert_true(server->accepted < CONNECTIONS_MAX);
		*connection = (struct connection){server, server->accepted++};
		server->fds[connection->index] = fd;
		assert_int_equal(pthread_create(&server->threads[connection->index], NULL, connection_main, connection),
				 0);
		pthread_mutex_unlock(&server->lock);
	}
	return NULL;
}

struct server *server_new(serve *serve_connection, void *argument) {
	struct server *server = mem_new(struct server);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;

	*server = (struct server){.serve = serve_connection, .argument = argument};
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(server->listener, 256), 0);
	assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
	server->port = ntohs(address.sin_port);
	assert_int_equal(pipe(server->stop), 0);
	pthread_mutex_init(&server->lock, NULL);
	assert_int_equal(wire_thread(&server->thread, server_main, server), 0);
	return server;
}

uint16_t server_port(const struct server *server) {
	return server->port;
}

unsigned server_accepted(struct server *server) {
	pthread_mutex_lock(&server->lock);
	unsigned accepted = server->accepted;
	pthread_mutex_unlock(&server->lock);
	return accepted;
}

void server_join(struct server *server) {
	for (; server->joined < server->accepted; server->joined++) pthread_join(server->threads[server->joined], NULL);
}

void server_free(struct server *server) {
	fd_close(server->stop[1]);
	pthread_join(server->thread, NULL);
	pthread_mutex_lock(&server->lock);
	for (unsigned i = 0; i < server->accepted; i++)
		if (server->fds[i] >= 0) shutdown(server->fds[i], SHUT_RDWR);
	pthread_mutex_unlock(&server->lock);
	server_join(server);
	fd_close(server->listener);
	fd_close(server->stop[0]);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

uint16_t wire_closed_port(void) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	return ntohs(address.sin_port);
}
