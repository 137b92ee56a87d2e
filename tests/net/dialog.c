#include "dialog.h"

#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "support/cmocka.h"
#include "wire.h"

void contains(const char *text, const char *part) {
	if (!strstr(text, part)) fail_msg("\"%s\" is not in \"%s\"", part, text);
}

void lacks(const char *text, const char *part) {
	if (strstr(text, part)) fail_msg("\"%s\" is in \"%s\"", part, text);
}

void say_get(int fd, uint16_t port, const char *path) {
	wire_say(fd, "GET http://localhost:%d%s HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", port, path, port);
}

void expect_response(int fd, const char *part) {
	CLEANUP_FREE char *response = wire_read_response(fd);

	contains(response, part);
}

void serve_echo(int fd, void *argument) {
	char bytes[4096];
	ssize_t n;

	(void)argument;
	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) wire_send(fd, bytes, (size_t)n);
	wire_say(fd, "end");
}

int open_tunnel(struct fixture *fixture, uint16_t port) {
	int fd = wire_dial(fixture_port(fixture));

	wire_say(fd, "CONNECT localhost:%d HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", port, port);
	CLEANUP_FREE char *head = wire_read_head(fd);
	contains(head, "HTTP/1.1 200 ");
	return fd;
}
