/*
 * fetch HOST PORT [any | addrconfig | mapped]: looks HOST up by getaddrinfo(3), prints the addresses, connects to each
 * in turn until one answers, asks for / and prints the last line of what comes.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
	const char *name;
	int family, flags;
} ways[] = {
	{"any", AF_UNSPEC, 0}, {"addrconfig", AF_UNSPEC, AI_ADDRCONFIG}, {"mapped", AF_INET6, AI_V4MAPPED | AI_ALL}};

static int ask(int fd) {
	static const char request[] = "GET / HTTP/1.0\r\n\r\n";
	char bytes[4096];
	size_t size = 0;
	ssize_t got;
	if (write(fd, request, sizeof request - 1) < 0) return 1;
	while ((got = read(fd, bytes + size, sizeof bytes - 1 - size)) > 0) size += (size_t)got;
	bytes[size] = '\0';
	const char *body = strstr(bytes, "\r\n\r\n");
	printf("%s", body ? body + 4 : bytes);
	return got < 0 || !body;
}

int main(int argc, char **argv) {
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *first = NULL;
	if (argc < 3) return 2;
	for (size_t i = 0; argc > 3 && i < sizeof ways / sizeof *ways; i++) {
		if (strcmp(ways[i].name, argv[3]) != 0) continue;
		hints.ai_family = ways[i].family;
		hints.ai_flags = ways[i].flags;
	}
	int r = getaddrinfo(argv[1], argv[2], &hints, &first);
	if (r != 0) {
		printf("%s: %s\n", argv[1], gai_strerror(r));
		return 1;
	}
	for (const struct addrinfo *at = first; at; at = at->ai_next) {
		char text[256];
		getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
		printf("%s\n", text);
	}
	for (const struct addrinfo *at = first; at; at = at->ai_next) {
		int fd = socket(at->ai_family, SOCK_STREAM, 0);
		if (connect(fd, at->ai_addr, at->ai_addrlen) == 0) return ask(fd);
		printf("connect: %s\n", strerror(errno));
		close(fd);
	}
	return 1;
}
