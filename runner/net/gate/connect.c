#include "connect.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"

enum { ATTEMPT_DELAY_MS = 250 /* RFC 8305 section 5 */ };

struct attempt {
	struct connector *connector;
	int fd;
	struct event *event;
};

struct connector {
	struct event_base *base;
	struct addresses addresses;
	int type;
	struct attempt attempts[LIMIT_ADDRESSES];
	size_t started, failed;
	struct event *next; /* starts the next attempt */
	int code;
	connect_done *done;
	void *argument;
};

static void attempt_close(struct attempt *attempt) {
	if (attempt->event) event_free(attempt->event);
	attempt->event = NULL;
	fd_close(fd_steal(&attempt->fd));
}

static void connector_free(struct connector *connector) {
	for (size_t i = 0; i < connector->started; i++) attempt_close(&connector->attempts[i]);
	event_free(connector->next);
	free(connector);
}

static void connector_finish(struct connector *connector, int fd) {
	connect_done *done = connector->done;
	void *argument = connector->argument;
	int code = connector->code;

	connector_free(connector);
	done(argument, fd, fd >= 0 ? 0 : code);
}

/* "No way there" of a family that the host doesn't have says less than what another address answered. */
static bool says_more(int code, int than) {
	bool routeless = code == ENETUNREACH || code == EAFNOSUPPORT || code == EADDRNOTAVAIL;

	return than == 0 || !routeless;
}

/* A connect to a free ephemeral port of loopback can meet itself (RFC 9293 3.5, simultaneous open). */
static bool is_connected_to_itself(const struct attempt *attempt) {
	const struct connector *connector = attempt->connector;
	struct sockaddr_storage own = {0};
	socklen_t size = sizeof own;
	struct address here, there;
	const struct address *to = &connector->addresses.items[attempt - connector->attempts];

	return getsockname(attempt->fd, (struct sockaddr *)&own, &size) == 0 &&
	       address_read((struct sockaddr *)&own, size, &here) && address_read(&to->any, to->size, &there) &&
	       address_equal(&here, &there);
}

static void attempt_failed(struct attempt *attempt, int code) {
	struct connector *connector = attempt->connector;

	attempt_close(attempt);
	if (says_more(code, connector->code)) connector->code = code;
	connector->failed++;
	event_active(connector->next, EV_TIMEOUT, 0);
}

static void attempt_ready(evutil_socket_t fd, short what, void *argument) {
	struct attempt *attempt = argument;
	int code = 0;
	socklen_t size = sizeof code;

	(void)what;
	if (getsockopt((int)fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0) code = errno;
	if (code == 0 && is_connected_to_itself(attempt)) code = ECONNREFUSED;
	if (code != 0) {
		attempt_failed(attempt, code);
		return;
	}
	connector_finish(attempt->connector, fd_steal(&attempt->fd));
}

/* Over the loopback a connect that doesn't wait has ended when it says that it is under way. */
static bool is_settled(int fd) {
	struct pollfd polled = {.fd = fd, .events = POLLOUT};

	return poll(&polled, 1, 0) == 1;
}

static void attempt_start(struct attempt *attempt, const struct address *address) {
	const int type = attempt->connector->type, on = 1;

	attempt->fd = socket(address->any.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (attempt->fd < 0) {
		attempt_failed(attempt, errno);
		return;
	}
	/* The door passes on what the tool sent as it comes; a dead peer of an idle tunnel is found in the end. */
	if (type == SOCK_STREAM) {
		setsockopt(attempt->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		setsockopt(attempt->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	}
	if (connect(attempt->fd, &address->any, address->size) < 0 && errno != EINPROGRESS) {
		attempt_failed(attempt, errno);
		return;
	}
	attempt->event = event_new(attempt->connector->base, attempt->fd, EV_WRITE, attempt_ready, attempt);
	if (!attempt->event) mem_exhausted();
	if (is_settled(attempt->fd))
		event_active(attempt->event, EV_WRITE, 0);
	else if (event_add(attempt->event, NULL) < 0)
		attempt_failed(attempt, ENOMEM);
}

static void connector_next(evutil_socket_t fd, short what, void *argument) {
	struct connector *connector = argument;
	const struct timeval delay = {.tv_usec = ATTEMPT_DELAY_MS * 1000};

	(void)fd, (void)what;
	if (connector->failed == connector->addresses.count) {
		connector_finish(connector, -1);
		return;
	}
	if (connector->started == connector->addresses.count) return;

	struct attempt *attempt = &connector->attempts[connector->started];
	const struct address *address = &connector->addresses.items[connector->started++];

	*attempt = (struct attempt){.connector = connector, .fd = -1};
	if (connector->started < connector->addresses.count) event_add(connector->next, &delay);
	attempt_start(attempt, address);
}

struct connector *connect_start(struct event_base *base, const struct addresses *addresses, int type,
				connect_done *done, void *argument) {
	struct connector *connector = mem_new(struct connector);

	*connector = (struct connector){
		.base = base, .addresses = *addresses, .type = type, .done = done, .argument = argument};
	addresses_interleave(&connector->addresses);
	if (!(connector->next = evtimer_new(base, connector_next, connector))) mem_exhausted();
	if (addresses->count == 0) {
		connector->code = EADDRNOTAVAIL;
		event_active(connector->next, EV_TIMEOUT, 0);
	} else {
		connector_next(-1, 0, connector);
	}
	return connector;
}

void connect_cancel(struct connector *connector) {
	connector_free(connector);
}
