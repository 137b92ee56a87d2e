#include "stub_tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "net/parse/dns.h"
#include "net/streams/stream.h"
#include "schema/limits.h"

enum { PORT = 53, SIZE_SIZE = 2 /* before each message: RFC 1035 4.2.2 */, BACKLOG = 16 };

struct stub_stream {
	LIST_ENTRY(stub_stream) entry;
	struct stub_tcp *tcp;
	struct stream stream;
	struct event *idle;
	bool asked; /* and waits for the answer */
	bool over;  /* to be closed by the next step */
};

struct stub_tcp {
	struct stub_tcp_options options;
	struct spares_wait *wait;
	int listener;
	struct event *acceptable;
	bool open;
	LIST_HEAD(, stub_stream) streams;
	size_t count;
};

/* It is in no list any more. */
static void stub_stream_free(struct stub_stream *stream) {
	stream->tcp->count--;
	stream_close(&stream->stream);
	event_free(stream->idle);
	free(stream);
}

static void close_stream(struct stub_stream *stream) {
	if (stream->asked) stream->tcp->options.gone(stream->tcp->options.context, stream);
	LIST_REMOVE(stream, entry);
	stub_stream_free(stream);
}

static void wait_again(struct stub_stream *stream) {
	const struct timeval delay = {.tv_sec = LIMIT_DNS_STREAM_MS / 1000};

	evtimer_add(stream->idle, &delay);
}

/* True when a whole question was there. */
static bool take_question(struct stub_stream *stream) {
	struct evbuffer *in = stream->stream.in;
	uint8_t bytes[LIMIT_DNS_QUERY], head[SIZE_SIZE];

	if (evbuffer_copyout(in, head, SIZE_SIZE) < SIZE_SIZE) return false;
	const size_t size = (size_t)(head[0] << 8 | head[1]);
	stream->over = size > sizeof bytes;
	if (stream->over || evbuffer_get_length(in) < SIZE_SIZE + size) return false;
	evbuffer_drain(in, SIZE_SIZE);
	evbuffer_remove(in, bytes, size);
	stream->asked = true;
	wait_again(stream);
	stream->tcp->options.question(stream->tcp->options.context, stream, bytes, size);
	return true;
}

static void step(void *argument) {
	struct stub_stream *stream = argument;

	for (int i = 0; i < LIMIT_DNS_TURN; i++) {
		if (stream->over || !stream_flush(&stream->stream)) goto close;
		if (stream->asked || stream_unsent(&stream->stream) > 0) return;
		if (!stream_fill(&stream->stream, SIZE_SIZE + LIMIT_DNS_QUERY)) goto close;
		if (take_question(stream)) continue;
		if (stream->over || stream->stream.ended) goto close;
		return;
	}
	stream_wake_soon(&stream->stream);
	return;
close:
	close_stream(stream);
}

void stub_stream_answer(struct stub_stream *stream, const uint8_t *bytes, size_t size) {
	const uint8_t head[SIZE_SIZE] = {(uint8_t)(size >> 8), (uint8_t)size};

	stream->asked = false;
	evbuffer_add(stream->stream.out, head, sizeof head);
	evbuffer_add(stream->stream.out, bytes, size);
	wait_again(stream);
	stream_wake_soon(&stream->stream);
}

void stub_stream_end(struct stub_stream *stream) {
	stream->asked = false;
	stream->over = true;
	stream_wake_soon(&stream->stream);
}

static void on_idle(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	close_stream(argument);
}

static void on_acceptable(evutil_socket_t fd, short what, void *argument) {
	struct stub_tcp *tcp = argument;
	const int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (peer < 0) return;
	if (tcp->count == LIMIT_DNS_STREAMS) {
		fd_close(peer);
		return;
	}
	struct stub_stream *stream = mem_new(struct stub_stream);
	stream->tcp = tcp;
	stream->idle = evtimer_new(tcp->options.base, on_idle, stream);
	if (!stream->idle) mem_exhausted();
	LIST_INSERT_HEAD(&tcp->streams, stream, entry);
	tcp->count++;
	stream_open(&stream->stream, tcp->options.base, peer, step, stream);
	wait_again(stream);
	stream_wake_soon(&stream->stream);
}

static int listen_on(struct stub_tcp *tcp, int fd) {
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int on = 1;

	if (fd < 0) return fd;
	tcp->listener = fd;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0) return -errno;
	if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, BACKLOG) < 0) return -errno;
	tcp->acceptable = event_new(tcp->options.base, fd, EV_READ | EV_PERSIST, on_acceptable, tcp);
	if (!tcp->acceptable || event_add(tcp->acceptable, NULL) < 0) mem_exhausted();
	return 0;
}

static void on_spare(void *argument) {
	struct stub_tcp *tcp = argument;
	const int r = listen_on(tcp, spares_take(tcp->options.spares, SPARE_TCP4));

	tcp->wait = NULL;
	tcp->open = true;
	if (r < 0) log_debug("the sandbox's name server over TCP: %s", strerror(-r));
	tcp->options.opened(tcp->options.context);
}

struct stub_tcp *stub_tcp_new(const struct stub_tcp_options *options) {
	struct stub_tcp *tcp = mem_new(struct stub_tcp);

	*tcp = (struct stub_tcp){.options = *options, .listener = -1};
	LIST_INIT(&tcp->streams);
	tcp->wait = spares_when(options->spares, SPARE_TCP4, on_spare, tcp);
	return tcp;
}

bool stub_tcp_is_open(const struct stub_tcp *tcp) {
	return tcp->open;
}

void stub_tcp_free(struct stub_tcp *tcp) {
	struct stub_stream *stream;

	if (!tcp) return;
	spares_cancel(tcp->wait);
	while ((stream = LIST_FIRST(&tcp->streams))) {
		LIST_REMOVE(stream, entry);
		stub_stream_free(stream);
	}
	if (tcp->acceptable) event_free(tcp->acceptable);
	fd_close(tcp->listener);
	free(tcp);
}
