#include "stream.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"

enum { STREAM_BUFFER = 32 * 1024 };

struct stream {
	int from, to;
	struct event *readable, *writable;
	bool on, ended;
	struct string inserted;
	size_t inserted_start;
	void (*seen)(void *context, const char *bytes, size_t size);
	void *context;
	size_t start, end;
	char buffer[STREAM_BUFFER];
};

static bool is_full(const struct stream *stream) {
	return stream->end > stream->start || stream->inserted_start < stream->inserted.size;
}

static void arm(struct stream *stream) {
	bool full = is_full(stream);
	if (stream->on && full)
		event_add(stream->writable, NULL);
	else
		event_del(stream->writable);
	if (stream->on && !full && !stream->ended)
		event_add(stream->readable, NULL);
	else
		event_del(stream->readable);
}

static bool is_transient(void) {
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void fill(struct stream *stream) {
	ssize_t got = read(stream->from, stream->buffer, sizeof stream->buffer);
	if (got > 0) {
		stream->start = 0;
		stream->end = (size_t)got;
	} else if (got == 0 || !is_transient()) { /* EIO: the pty's other side is closed */
		stream->ended = true;
	}
}

/* All bytes from *start to `end`, as far as they can be taken now; `end` when nobody is there to read them. */
static bool put_all(struct stream *stream, const char *bytes, size_t *start, size_t end, bool ours) {
	while (*start < end) {
		ssize_t put = write(stream->to, bytes + *start, end - *start);
		if (put < 0 && errno == EINTR) continue;
		if (put < 0 && is_transient()) return false;
		if (put < 0) put = (ssize_t)(end - *start);
		if (!ours && stream->seen) stream->seen(stream->context, bytes + *start, (size_t)put);
		*start += (size_t)put;
	}
	return true;
}

static void flush(struct stream *stream) {
	if (!put_all(stream, stream->inserted.data, &stream->inserted_start, stream->inserted.size, true)) return;
	string_finish(&stream->inserted);
	stream->inserted_start = 0;
	put_all(stream, stream->buffer, &stream->start, stream->end, false);
}

static void on_ready(evutil_socket_t fd, short what, void *argument) {
	struct stream *stream = argument;
	(void)fd;
	if (what & EV_READ) fill(stream);
	flush(stream);
	arm(stream);
}

struct stream *stream_new(struct event_base *base, int from, int to) {
	struct stream *stream = mem_new(struct stream);
	stream->from = from;
	stream->to = to;
	stream->readable = event_new(base, from, EV_READ, on_ready, stream);
	stream->writable = event_new(base, to, EV_WRITE, on_ready, stream);
	return stream;
}

void stream_follow(struct stream *stream, void (*seen)(void *context, const char *bytes, size_t size), void *context) {
	stream->seen = seen;
	stream->context = context;
}

void stream_insert(struct stream *stream, const char *bytes, size_t size) {
	stream->inserted.size = stream->inserted_start = 0;
	string_append_bytes(&stream->inserted, bytes, size);
	arm(stream);
}

void stream_run(struct stream *stream, bool on) {
	stream->on = on;
	arm(stream);
}

void stream_pass(struct stream *stream) {
	if (!stream->on || stream->ended) return;
	if (!is_full(stream)) fill(stream);
	flush(stream);
	arm(stream);
}

bool stream_has_more(const struct stream *stream) {
	struct pollfd polled = {.fd = stream->from, .events = POLLIN};
	return is_full(stream) || (!stream->ended && poll(&polled, 1, 0) > 0 && (polled.revents & POLLIN));
}

bool stream_drain(struct stream *stream, int timeout_ms) {
	for (;;) {
		struct pollfd polled = {.fd = stream->to, .events = POLLOUT};
		flush(stream);
		if (is_full(stream)) {
			if (poll(&polled, 1, timeout_ms) <= 0) return true;
			continue;
		}
		if (stream->ended) return false;
		fill(stream);
		if (stream->start == stream->end && !stream->ended) return true;
	}
}

void stream_free(struct stream *stream) {
	if (!stream) return;
	event_free(stream->readable);
	event_free(stream->writable);
	string_finish(&stream->inserted);
	free(stream);
}
