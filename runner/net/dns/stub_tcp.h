/*
 * stub_tcp: the name server's TCP side (RFC 7766), for answers that were too long for a datagram.
 *
 * Promises: 127.0.0.1:53 of the sandbox's network, where resolvers turn that were told TC. LIMIT_DNS_STREAMS
 * connections, one question of each at a time; who sends none for LIMIT_DNS_STREAM_MS, or reads no answer, is closed.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/streams/spares.h"

struct stub_tcp;
struct stub_stream; /* one connection */

struct stub_tcp_options {
	struct event_base *base;
	struct spares *spares; /* borrowed */
	void *context;
	void (*opened)(void *context); /* it listens, or never will */
	/* Each is answered by one stub_stream_answer or stub_stream_end, now or later, but after `gone`. `bytes` are
	 * borrowed. */
	void (*question)(void *context, struct stub_stream *stream, const uint8_t *bytes, size_t size);
	void (*gone)(void *context, struct stub_stream *stream);
};

struct stub_tcp *stub_tcp_new(const struct stub_tcp_options *options); /* `opened` follows from the loop */
bool stub_tcp_is_open(const struct stub_tcp *tcp);                     /* `opened` was called */
void stub_tcp_free(struct stub_tcp *tcp);                              /* without calling back */

void stub_stream_answer(struct stub_stream *stream, const uint8_t *bytes, size_t size);
void stub_stream_end(struct stub_stream *stream); /* what it asked is no question */
