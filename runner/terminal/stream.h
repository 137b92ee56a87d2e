/*
 * stream: bytes from one non-blocking descriptor to another, one buffer, with back pressure.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

struct stream;

struct stream *stream_new(struct event_base *base, int from, int to); /* borrows both; paused at first */
void stream_run(struct stream *stream, bool on);
/* Who follows what was written of it. */
void stream_follow(struct stream *stream, void (*seen)(void *context, const char *bytes, size_t size), void *context);
/* Bytes of ours, before all that comes; what is left of those before them is dropped. */
void stream_insert(struct stream *stream, const char *bytes, size_t size);
/* Some of what is there now, as far as it can be taken; nothing while paused. */
void stream_pass(struct stream *stream);
bool stream_has_more(const struct stream *stream);        /* something is there now */
bool stream_drain(struct stream *stream, int timeout_ms); /* what is there now, blocking; false when the end was met */
void stream_free(struct stream *stream);
