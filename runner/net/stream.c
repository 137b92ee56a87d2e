/*
 * Theory of operation. One edge-triggered event watches the socket for all directions. A read shorter than asked or a
 * write shorter than given means that the socket has no more now and a new edge will come (epoll(7), Q9), unless the
 * peer's end was seen already: no edge follows that one, so it is read until the end shows.
 */
#include "stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "socket_abort.h"

enum { READ_BYTES = 16 * 1024, READ_BYTES_MAX = 64 * 1024 };

static void stream_ready(evutil_socket_t fd, short what, void *argument) {
	struct stream *stream = argument;

	(void)fd;
	if (what & EV_READ) stream->readable = true;
	if (what & EV_WRITE) stream->writable = true;
	if (what & EV_CLOSED) stream->readable = stream->hung_up = true;
	stream->wake(stream->argument);
}

void stream_open(struct stream *stream, struct event_base *base, int fd, void (*wake)(void *), void *argument) {
	const short what = EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST;

	/* What there is to read shows as the first edge. */
	*stream = (struct stream){.fd = fd, .writable = true, .wake = wake, .argument = argument};
	stream->in = evbuffer_new();
	stream->out = evbuffer_new();
	stream->event = event_new(base, fd, what, stream_ready, stream);
	if (!stream->in || !stream->out || !stream->event || event_add(stream->event, NULL) < 0) mem_exhausted();
}

bool stream_is_open(const struct stream *stream) {
	return stream->event != NULL;
}

int stream_detach(struct stream *stream) {
	if (!stream->event) return -1;
	event_free(stream->event);
	stream->event = NULL;
	return fd_steal(&stream->fd);
}

static void stream_finish(struct stream *stream) {
	if (stream->in) evbuffer_free(stream->in);
	if (stream->out) evbuffer_free(stream->out);
	stream->in = stream->out = NULL;
}

void stream_close(struct stream *stream) {
	fd_close(stream_detach(stream));
	stream_finish(stream);
}

void stream_abort(struct stream *stream) {
	socket_abort(stream_detach(stream));
	stream_finish(stream);
}

bool stream_is_reset(const struct stream *stream) {
	int code = 0;
	socklen_t size = sizeof code;

	return getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0 || code != 0;
}

static bool stream_fail(struct stream *stream, int code) {
	stream->code = code;
	stream->readable = stream->writable = false;
	return false;
}

bool stream_fill(struct stream *stream, size_t limit) {
	size_t want = READ_BYTES;

	while (stream->readable && !stream->ended && stream_unread(stream) < limit) {
		struct evbuffer_iovec space;

		if (evbuffer_reserve_space(stream->in, (ev_ssize_t)want, &space, 1) < 1) mem_exhausted();
		size_t size = space.iov_len < READ_BYTES_MAX ? space.iov_len : READ_BYTES_MAX;
		ssize_t n = recv(stream->fd, space.iov_base, size, 0);

		if (n < 0 && errno == EINTR) continue;
		if (n < 0 && errno != EAGAIN) return stream_fail(stream, errno);
		if (n < (ssize_t)size && !stream->hung_up) stream->readable = false;
		if (n < 0) {
			stream->readable = false;
			break;
		}
		if (n == 0) {
			stream->ended = true;
			break;
		}
		space.iov_len = (size_t)n;
		evbuffer_commit_space(stream->in, &space, 1);
		stream->received += (size_t)n;
		want = READ_BYTES_MAX; /* it sends in bulk */
	}
	return true;
}

bool stream_flush(struct stream *stream) {
	while (stream->writable && stream_unsent(stream) > 0) {
		int n = evbuffer_write(stream->out, stream->fd);

		if (n < 0 && errno == EINTR) continue;
		if (n < 0 && errno != EAGAIN) return stream_fail(stream, errno);
		if (n < 0)
			stream->writable = false;
		else
			stream->sent += (size_t)n;
	}
	return stream->code == 0;
}

size_t stream_unread(const struct stream *stream) {
	return evbuffer_get_length(stream->in);
}

size_t stream_unsent(const struct stream *stream) {
	return evbuffer_get_length(stream->out);
}

void stream_wake_soon(struct stream *stream) {
	event_active(stream->event, 0, 0);
}
