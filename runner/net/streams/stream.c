/*
 * Theory of operation. A read shorter than asked means that the socket has no more now, a write shorter than given that
 * it takes no more: that is waited for (readiness.h). What comes after is told by poll(2) whenever it is asked, the
 * peer's end too. The latter is waited for besides, since it matters also while nothing is read.
 */
#include "stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "socket_abort.h"

enum { READ_BYTES = 16 * 1024, READ_BYTES_MAX = 64 * 1024 };

static void stream_hung_up(evutil_socket_t fd, short what, void *argument) {
	struct stream *stream = argument;

	(void)fd, (void)what;
	stream->hung_up = true;
	stream->ready.wake(stream->ready.argument);
}

void stream_open(struct stream *stream, struct event_base *base, int fd, void (*wake)(void *), void *argument) {
	*stream = (struct stream){.fd = fd};
	stream->in = mem_expect(evbuffer_new());
	stream->out = mem_expect(evbuffer_new());
	stream->hangs = mem_expect(event_new(base, fd, EV_CLOSED, stream_hung_up, stream));
	readiness_watch(&stream->ready, base, fd, wake, argument);
	event_add(stream->hangs, NULL);
}

bool stream_is_open(const struct stream *stream) {
	return stream->hangs != NULL;
}

int stream_detach(struct stream *stream) {
	if (!stream->hangs) return -1;
	event_free(STEAL(stream->hangs));
	readiness_end(&stream->ready);
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
	stream->ready.readable = stream->ready.writable = false;
	return false;
}

bool stream_fill(struct stream *stream, size_t limit) {
	size_t want = READ_BYTES;

	while (stream->ready.readable && !stream->ended && stream_unread(stream) < limit) {
		struct evbuffer_iovec space;

		if (evbuffer_reserve_space(stream->in, (ev_ssize_t)want, &space, 1) < 1) mem_exhausted();
		size_t size = space.iov_len < READ_BYTES_MAX ? space.iov_len : READ_BYTES_MAX;
		ssize_t n = recv(stream->fd, space.iov_base, size, 0);

		if (n < 0 && errno == EINTR) continue;
		if (n < 0 && errno != EAGAIN) return stream_fail(stream, errno);
		if (n < 0) {
			readiness_not_readable(&stream->ready);
			break;
		}
		if (n == 0) {
			stream->ended = true;
			break;
		}
		space.iov_len = (size_t)n;
		evbuffer_commit_space(stream->in, &space, 1);
		stream->received += (size_t)n;
		if (n < (ssize_t)size) readiness_not_readable(&stream->ready);
		want = READ_BYTES_MAX; /* it sends in bulk */
	}
	return true;
}

bool stream_flush(struct stream *stream) {
	while (stream->ready.writable && stream_unsent(stream) > 0) {
		int n = evbuffer_write(stream->out, stream->fd);

		if (n < 0 && errno == EINTR) continue;
		if (n < 0 && errno != EAGAIN) return stream_fail(stream, errno);
		if (n < 0)
			readiness_not_writable(&stream->ready);
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
	readiness_wake_soon(&stream->ready);
}
