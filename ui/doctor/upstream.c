/* Does the proxy answer that connections are to go out through? */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/memory.h"
#include "doctor/doctor.h"
#include "schema/upstream.h"

enum { PATIENCE_MS = 3000 };

static int connect_in_time(const struct addrinfo *to) {
	CLEANUP_FD int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	int code = 0;
	socklen_t size = sizeof code;
	if (fd < 0) return -errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen) == 0) return 0;
	if (errno != EINPROGRESS) return -errno;
	if (poll(&ready, 1, PATIENCE_MS) <= 0) return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0) return -errno;
	return -code;
}

/* NULL when it does; else why not, as half a sentence. */
static char *try_upstream(const struct upstream *upstream) {
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char port[8];
	int r = -ENOENT;
	snprintf(port, sizeof port, "%u", upstream->port);
	int code = getaddrinfo(upstream->host.name, port, &hints, &found);
	if (code != 0) return string_format("its name can't be resolved: %s", gai_strerror(code));
	for (const struct addrinfo *to = found; to && r < 0; to = to->ai_next) r = connect_in_time(to);
	freeaddrinfo(found);
	return r < 0 ? string_copy(strerror(-r)) : NULL;
}

void doctor_upstream(struct doctor_finding *finding, const char *text) {
	CLEANUP_UPSTREAM struct upstream upstream = {0};
	if (!text || upstream_parse(text, &upstream, NULL) < 0) {
		doctor_find(finding, DOCTOR_OK,
			    string_copy("the policy sets none: connections go out directly, but those of profiles that "
					"set one"),
			    NULL);
		return;
	}
	CLEANUP_FREE char *why = try_upstream(&upstream);
	if (!why) {
		doctor_find(finding, DOCTOR_OK,
			    string_format("connections go out through %s, which takes connections", text), NULL);
		return;
	}
	doctor_find(finding, DOCTOR_WARN, string_format("connections go out through %s: %s", text, why),
		    "Correct `upstream:` in the policy, or say `upstream: none` in the profiles that need no proxy.");
}
