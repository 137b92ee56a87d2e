#include "carried.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "../socket_calls.h"
#include "base/memory.h"

struct carried {
	TAILQ_ENTRY(carried) entry;
	struct carried_list *list;
	struct socket_call *call;
	struct sockaddr_storage address;
	socklen_t size;
	struct event *writable;
};

/* SIGPIPE would be ours; what the tool's flags say of waiting is done here. */
static int64_t send_once(const struct socket_call *call, const struct sockaddr *address, socklen_t size) {
	ssize_t sent =
		sendto(call->fd, call->data, call->size, call->flags | MSG_DONTWAIT | MSG_NOSIGNAL, address, size);
	return sent < 0 ? -errno : sent;
}

static int64_t try_once(const struct socket_call *call, const struct sockaddr *address, socklen_t size) {
	if (call->kind == SOCKET_CALL_SEND) return send_once(call, address, size);
	return socket_call_connect(call, address, size);
}

static bool must_wait(const struct socket_call *call, int64_t result) {
	if (!call->blocking) return false;
	if (call->kind == SOCKET_CALL_SEND) return result == -EAGAIN;
	return result == -EINPROGRESS || result == -EALREADY;
}

/* A connect(2) over the loopback has ended when it says that it is under way, and is asked how at once. */
static bool is_settled(const struct socket_call *call) {
	struct pollfd polled = {.fd = call->fd, .events = POLLOUT};
	return call->kind == SOCKET_CALL_CONNECT && poll(&polled, 1, 0) == 1;
}

/* The event goes first: the registration of a duplicate that was closed lasts as long as the tool's own (epoll(7)). */
static void carried_release(struct carried *carried, int64_t result) {
	event_free(carried->writable);
	socket_call_answer(carried->call, result);
	free(carried);
}

static void carried_end(struct carried *carried, int64_t result) {
	TAILQ_REMOVE(carried->list, carried, entry);
	carried_release(carried, result);
}

static void on_interrupted(void *argument) {
	carried_end(argument, -EINTR);
}

static void on_writable(evutil_socket_t fd, short what, void *argument) {
	struct carried *carried = argument;
	(void)fd;
	const bool late = what & EV_TIMEOUT;
	int64_t result = try_once(carried->call, (struct sockaddr *)&carried->address, carried->size);
	if (must_wait(carried->call, result) && !late) return;
	if (late && result == -EALREADY) result = -EINPROGRESS; /* the first connect(2)'s own word */
	carried_end(carried, result);
}

static void wait_for(struct event_base *base, struct carried *carried) {
	struct timeval limit = {0};
	socklen_t size = sizeof limit;
	const bool limited = getsockopt(carried->call->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, &size) == 0 &&
			     (limit.tv_sec > 0 || limit.tv_usec > 0);
	/* told once: what a tool leaves in a socket's queue of errors never goes away (ip(7), IP_RECVERR) */
	carried->writable = event_new(base, carried->call->fd, EV_WRITE | EV_PERSIST | EV_ET, on_writable, carried);
	if (!carried->writable || event_add(carried->writable, limited ? &limit : NULL) < 0) mem_exhausted();
	socket_call_on_interrupt(carried->call, on_interrupted, carried);
}

void carried_out(struct event_base *base, struct carried_list *list, struct socket_call *call,
		 const struct sockaddr *address, socklen_t size) {
	int64_t result = try_once(call, address, size);
	if (must_wait(call, result) && is_settled(call)) result = try_once(call, address, size);
	if (!must_wait(call, result)) {
		socket_call_answer(call, result);
		return;
	}
	struct carried *carried = mem_new(struct carried);
	*carried = (struct carried){.list = list, .call = call, .size = size};
	memcpy(&carried->address, address, size);
	TAILQ_INSERT_TAIL(list, carried, entry);
	wait_for(base, carried);
}

void carried_end_all(struct carried_list *list) {
	struct carried *carried;
	while ((carried = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, carried, entry);
		carried_release(carried, -EINTR);
	}
}
