#include "carried.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/memory.h"
#include "calls/socket_calls.h"

enum { CARRIED_PAUSE_MS = 20 };

struct carried {
	TAILQ_ENTRY(carried) entry;
	struct carried_list *list;
	struct socket_call *call;
	struct sockaddr_storage address;
	socklen_t size;
	struct event *writable, *again, *late;
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

static void carried_release(struct carried *carried, int64_t result) {
	event_free(carried->writable);
	event_free(carried->again);
	event_free(carried->late);
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

/* An error that a tool leaves in a socket's queue never goes away (ip(7), IP_RECVERR), and poll(2) tells of it each
 * time: after a look in vain there is a pause. */
static void on_writable(evutil_socket_t fd, short what, void *argument) {
	static const struct timeval pause = {.tv_usec = CARRIED_PAUSE_MS * 1000};
	struct carried *carried = argument;
	(void)fd, (void)what;
	int64_t result = try_once(carried->call, (struct sockaddr *)&carried->address, carried->size);
	if (must_wait(carried->call, result))
		evtimer_add(carried->again, &pause);
	else
		carried_end(carried, result);
}

static void on_again(evutil_socket_t fd, short what, void *argument) {
	const struct carried *carried = argument;
	(void)fd, (void)what;
	event_add(carried->writable, NULL);
}

static void on_late(evutil_socket_t fd, short what, void *argument) {
	struct carried *carried = argument;
	(void)fd, (void)what;
	int64_t result = try_once(carried->call, (struct sockaddr *)&carried->address, carried->size);
	/* the first connect(2)'s own word */
	carried_end(carried, result == -EALREADY ? -EINPROGRESS : result);
}

static void wait_for(struct event_base *base, struct carried *carried) {
	struct timeval limit = {0};
	socklen_t size = sizeof limit;
	const bool limited = getsockopt(carried->call->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, &size) == 0 &&
			     (limit.tv_sec > 0 || limit.tv_usec > 0);
	carried->writable = mem_expect(event_new(base, carried->call->fd, EV_WRITE, on_writable, carried));
	carried->again = mem_expect(evtimer_new(base, on_again, carried));
	carried->late = mem_expect(evtimer_new(base, on_late, carried));
	event_add(carried->writable, NULL);
	if (limited) evtimer_add(carried->late, &limit);
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
