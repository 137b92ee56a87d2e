/*
 * Theory of operation. The request is written, then heads are read until one is final. Each look at the socket leaves
 * the bytes in it (MSG_PEEK); of those that belong to a head exactly as many are taken.
 */
#include "upstream.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "net/parse/http_head.h"

enum { REASON_COLUMNS = 80 };

struct handshake {
	int fd;
	struct event *event; /* to write, then to read */
	struct event_base *base;
	struct string request;
	size_t sent;
	struct string head;    /* what was taken of the one that is coming in */
	size_t scanned, taken; /* `taken`: of all heads */
	char *proxy, *target, *user;
	handshake_done *done;
	void *argument;
};

void handshake_cancel(struct handshake *handshake) {
	event_free(handshake->event);
	string_finish(&handshake->request);
	string_finish(&handshake->head);
	free(handshake->proxy);
	free(handshake->target);
	free(handshake->user);
	free(handshake);
}

/* Takes the message over. */
static void handshake_finish(struct handshake *handshake, int code, char *message) {
	handshake_done *done = handshake->done;
	void *argument = handshake->argument;
	CLEANUP_FREE char *own = message;

	handshake_cancel(handshake);
	done(argument, code, own);
}

static void handshake_fail(struct handshake *handshake, int code, const char *why) {
	handshake_finish(handshake, code, string_format("the upstream proxy %s: %s", handshake->proxy, why));
}

/* Replies that say what is to be done. The others are told as they are. */
static char *explain(const struct handshake *handshake, int status) {
	CLEANUP_FREE char *user = handshake->user ? text_visible_cut(handshake->user, REASON_COLUMNS) : NULL;

	if (status == 407 || status == 401) /* some say 401 where RFC 9110 15.5.8 has 407 */
		return user ? string_format("it does not take the user %s with the password of the policy's "
					    "`upstream` (%d)",
					    user, status)
			    : string_format("it wants a user and a password (%d): upstream: "
					    "http://USER:PASSWORD@HOST:PORT in the policy",
					    status);
	if (status == 403 || status == 405)
		return string_format("it refuses to connect to %s (%d); many proxies connect to port 443 alone",
				     handshake->target, status);
	if (status == 502 || status == 503) return string_format("it can't reach %s (%d)", handshake->target, status);
	if (status == 504) return string_format("it had no answer from %s in time (504)", handshake->target);
	return NULL;
}

static int code_of(int status) {
	switch (status) {
	case 401:
	case 403:
	case 405:
	case 407:
		return EACCES;
	case 502:
	case 503:
		return EHOSTUNREACH;
	case 504:
		return ETIMEDOUT;
	default:
		return ECONNREFUSED;
	}
}

static void handshake_refused(struct handshake *handshake, const struct http_head *head) {
	CLEANUP_FREE char *why = explain(handshake, head->status);

	if (!why) {
		CLEANUP_FREE char *reason = string_copy_bytes(head->reason.data, head->reason.size);
		CLEANUP_FREE char *shown = text_visible_cut(reason, REASON_COLUMNS);

		why = string_format("it answers %d %s", head->status, shown);
	}
	handshake_fail(handshake, code_of(head->status), why);
}

/* A whole head. False when the handshake is over. */
static bool head_read(struct handshake *handshake) {
	struct error error = ERROR_NONE;
	struct http_head head;

	if (http_response_head_parse(handshake->head.data, handshake->head.size, &head, &error) < 0) {
		handshake_fail(handshake, EPROTO, error.message);
		return false;
	}
	if (head.status < 200 && head.status != 101) { /* RFC 9110 15.2: another follows */
		handshake->head.size = handshake->scanned = 0;
		return true;
	}
	if (head.status >= 200 && head.status < 300)
		handshake_finish(handshake, 0, string_copy("connected")); /* lengths mean nothing here: 9.3.6 */
	else
		handshake_refused(handshake, &head);
	return false;
}

/* Takes what belongs to the head. 1: it is whole; 0: there is no more now; negative: over. */
static int head_take(struct handshake *handshake) {
	struct error error = ERROR_NONE;
	char bytes[LIMIT_HEADER];
	size_t before = handshake->head.size;
	ssize_t seen = recv(handshake->fd, bytes, sizeof bytes - handshake->taken, MSG_PEEK);
	long end;

	if (seen < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
	if (seen <= 0) {
		handshake_fail(handshake, seen < 0 ? errno : ECONNRESET,
			       seen < 0 ? strerror(errno) : "it closed the connection without an answer");
		return -1;
	}
	string_append_bytes(&handshake->head, bytes, (size_t)seen);
	end = http_head_scan(handshake->head.data, handshake->head.size, &handshake->scanned, &error);
	if (end > 0) handshake->head.size = (size_t)end;
	handshake->taken += handshake->head.size - before;
	if (end >= 0 && handshake->taken >= LIMIT_HEADER)
		end = error_set(&error, E2BIG, "a head of more than %d bytes", LIMIT_HEADER);
	if (end < 0) {
		handshake_fail(handshake, EPROTO, error.message);
		return -1;
	}
	(void)!recv(handshake->fd, bytes, handshake->head.size - before, 0); /* they are there */
	return end > 0;
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct handshake *handshake = argument;

	(void)fd, (void)what;
	while (head_take(handshake) > 0)
		if (!head_read(handshake)) return;
}

static void handshake_watch(struct handshake *handshake, short what, event_callback_fn ready) {
	if (handshake->event) event_free(handshake->event);
	handshake->event = event_new(handshake->base, handshake->fd, what | EV_PERSIST, ready, handshake);
	if (!handshake->event || event_add(handshake->event, NULL) < 0) mem_exhausted();
}

static void on_writable(evutil_socket_t fd, short what, void *argument) {
	struct handshake *handshake = argument;
	ssize_t n = send((int)fd, handshake->request.data + handshake->sent, handshake->request.size - handshake->sent,
			 MSG_NOSIGNAL);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
	if (n < 0) {
		handshake_fail(handshake, errno, strerror(errno));
		return;
	}
	handshake->sent += (size_t)n;
	if (handshake->sent == handshake->request.size) handshake_watch(handshake, EV_READ, on_readable);
}

struct handshake *handshake_start(struct event_base *base, int fd, const struct upstream *upstream,
				  const struct host *host, uint16_t port, handshake_done *done, void *argument) {
	struct handshake *handshake = mem_new(struct handshake);

	*handshake = (struct handshake){.fd = fd,
					.base = base,
					.proxy = host_port_format(&upstream->host, upstream->port),
					.target = host_port_format(host, port),
					.user = string_copy_or_null(upstream->user),
					.done = done,
					.argument = argument};
	string_appendf(&handshake->request, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", handshake->target,
		       handshake->target);
	if (upstream->credentials)
		string_appendf(&handshake->request, "Proxy-Authorization: Basic %s\r\n", upstream->credentials);
	string_append(&handshake->request, "\r\n");
	handshake_watch(handshake, EV_WRITE, on_writable);
	return handshake;
}
