/*
 * stream: a non-blocking socket with a buffer each way, for the doors' parsers.
 *
 * Promises: reads and writes happen in stream_fill and stream_flush alone, at once where the socket can, so a
 * request costs the loop nothing; `wake` runs from the loop when the socket can do more or the peer hung up. Reading is
 * bounded by the caller; what is not read stays in the socket (back-pressure).
 */
#pragma once

#include <event2/buffer.h>
#include <stdbool.h>
#include <stdint.h>

#include "readiness.h"

struct stream {
	int fd;
	struct readiness ready;
	struct event *hangs;
	struct evbuffer *in, *out;
	bool hung_up; /* the peer has ended its way, maybe with bytes before it that are not read yet */
	bool ended;   /* and all was read */
	int code;     /* errno of a failed read or write */
	uint64_t received, sent;
	void (*wake)(void *argument);
	void *argument;
};

/* Takes the socket over. Zeroed memory is a stream that is not open. */
void stream_open(struct stream *stream, struct event_base *base, int fd, void (*wake)(void *), void *argument);
bool stream_is_open(const struct stream *stream);
void stream_close(struct stream *stream);
void stream_abort(struct stream *stream); /* with a reset, so that the peer knows it is not whole */
int stream_detach(struct stream *stream); /* gives the socket back; the buffers stay until stream_close */

/* The peer has reset the connection: seen without reading, where libevent tells of an error as of readiness. */
bool stream_is_reset(const struct stream *stream);

/* Read until `in` holds `limit` bytes or the socket has no more. False on failure (`code`). */
bool stream_fill(struct stream *stream, size_t limit);
bool stream_flush(struct stream *stream); /* write what `out` holds, as far as it goes. False on failure */

size_t stream_unread(const struct stream *stream);
size_t stream_unsent(const struct stream *stream);
void stream_wake_soon(struct stream *stream); /* run `wake` from the loop, after others had their turn */
