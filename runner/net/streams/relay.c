/*
 * Theory of operation. Each way moves bytes socket → pipe → socket without copying them. The pipe is filled only when
 * it is empty: then EAGAIN of the first splice can only mean that the sender has nothing, and that of the second that
 * the receiver is full. What a socket can do is remembered (readiness.h), and it is waited for only where it had no
 * more. A way that moved TURN_BYTES yields to the loop. While somebody hears what near says, and where the kernel gives
 * no pipe of a useful size (pipes.h), bytes are read instead of spliced, and go through `pending`.
 */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "readiness.h"
#include "schema/limits.h"
#include "socket_abort.h"

enum { TURN_BYTES = 2 * 1024 * 1024, BULK_BYTES = 4 * 1024 * 1024, HEAR_BYTES = 4096, COPY_BYTES = 64 * 1024 };

struct ear {
	relay_heard *heard;
	void *argument;
	struct string said;
	bool holds;
};

struct side {
	int fd;
	struct readiness ready;
};

struct way {
	struct side *from, *to;
	struct way *back;         /* the other way */
	struct evbuffer *pending; /* goes before what is read; NULL when drained */
	struct ear *ear;          /* NULL when nobody hears (any more) */
	struct pipe pipe;
	size_t held;           /* bytes in the pipe */
	bool ended;            /* from's end was seen */
	bool closed;           /* and passed on */
	uint64_t moved, given; /* of that, what was pending at first */
};

struct relay {
	struct pipes *pipes;
	struct side near, far;
	struct way out, in; /* near → far, far → near */
	relay_done *done;
	void *argument;
};

static void way_drop_pipe(struct way *way, struct pipes *pipes) {
	if (way->pipe.out >= 0) pipes_give(pipes, &way->pipe, way->held == 0);
}

static void way_close_ear(struct way *way) {
	if (!way->ear) return;
	string_finish(&way->ear->said);
	free(STEAL(way->ear));
}

static void way_tell(struct way *way, const void *bytes, size_t size) {
	struct ear *ear = way->ear;
	enum relay_order order;

	string_append_bytes(&ear->said, bytes, size);
	order = ear->heard(ear->argument, ear->said.data, ear->said.size, way->ended);
	ear->holds = order == RELAY_HOLD;
	if (order == RELAY_PASS) way_close_ear(way);
}

static void way_add_pending(struct way *way, const void *bytes, size_t size) {
	if (!way->pending) way->pending = evbuffer_new();
	if (!way->pending || evbuffer_add(way->pending, bytes, size) < 0) mem_exhausted();
}

static int way_hear(struct way *way) {
	char bytes[HEAR_BYTES];
	size_t left = LIMIT_HEARD - way->ear->said.size;
	ssize_t n = recv(way->from->fd, bytes, left < sizeof bytes ? left : sizeof bytes, 0);

	if (n < 0) return -errno;
	if (n > 0) way_add_pending(way, bytes, (size_t)n);
	way->ended = n == 0;
	way_tell(way, bytes, (size_t)n);
	return 0;
}

/* What was read before the relay began. */
static void way_hear_pending(struct way *way) {
	size_t size = evbuffer_get_length(way->pending);

	if (size > LIMIT_HEARD) size = LIMIT_HEARD;
	if (size > 0) way_tell(way, evbuffer_pullup(way->pending, (ev_ssize_t)size), size);
}

static int way_write_pending(struct way *way) {
	int n;

	while (evbuffer_get_length(way->pending) > 0) {
		if ((n = evbuffer_write(way->pending, way->to->fd)) < 0) return -errno;
		way->moved += (size_t)n;
	}
	evbuffer_free(way->pending);
	way->pending = NULL;
	return 0;
}

static int way_write_pipe(struct way *way) {
	ssize_t n = splice(way->pipe.out, NULL, way->to->fd, NULL, way->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0) return -errno;
	way->held -= (size_t)n;
	way->moved += (size_t)n;
	return 0;
}

static int way_copy(struct way *way) {
	char bytes[COPY_BYTES];
	ssize_t n = recv(way->from->fd, bytes, sizeof bytes, 0);

	if (n < 0) return -errno;
	way->ended = n == 0;
	if (n > 0) way_add_pending(way, bytes, (size_t)n);
	return 0;
}

static int way_read(struct way *way, struct pipes *pipes) {
	ssize_t n;

	if (way->pipe.out < 0 && pipes_take(pipes, &way->pipe) < 0) return way_copy(way);
	if (way->moved >= BULK_BYTES) pipes_widen(pipes, &way->pipe);
	n = splice(way->from->fd, NULL, way->pipe.in, NULL, PIPE_BYTES_WIDE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0) return -errno;
	way->held = (size_t)n;
	way->ended = n == 0;
	return 0;
}

/* Moves what can be moved. 1 = there is more to do at once, 0 = wait for an edge, negative = the relay failed. */
static int way_pump(struct way *way, struct pipes *pipes) {
	uint64_t until = way->moved + TURN_BYTES;
	int r = 0;

	if (way->ear && way->pending && way->ear->said.size == 0) way_hear_pending(way);
	while (!way->closed) {
		if (way->moved >= until) return 1;
		if (way->ear && way->ear->holds) return 0;
		if (way->pending || way->held > 0) {
			if (!way->to->ready.writable) return 0;
			r = way->pending ? way_write_pending(way) : way_write_pipe(way);
			if (r == -EAGAIN) readiness_not_writable(&way->to->ready);
		} else if (way->ended) {
			way->closed = true;
			if (way->back->closed) break; /* both sockets are about to be closed */
			if (shutdown(way->to->fd, SHUT_WR) < 0 && errno != ENOTCONN) r = -errno;
		} else {
			if (!way->from->ready.readable) break;
			r = way->ear ? way_hear(way) : way_read(way, pipes);
			if (r == -EAGAIN) readiness_not_readable(&way->from->ready);
		}
		if (r < 0 && r != -EAGAIN && r != -EINTR) return r;
	}
	way_drop_pipe(way, pipes);
	return 0;
}

static bool way_has_read(const struct way *way) {
	const size_t pending = way->pending ? evbuffer_get_length(way->pending) : 0;

	return way->ended || way->held > 0 || way->moved + pending > way->given;
}

static void relay_pump(void *argument) {
	struct relay *relay = argument;
	int in = way_pump(&relay->in, relay->pipes), out;

	/* Whom far speaks to first asks for nothing by its own first bytes. */
	if (relay->out.ear && !relay->out.ear->holds && way_has_read(&relay->in)) way_close_ear(&relay->out);
	out = in < 0 ? 0 : way_pump(&relay->out, relay->pipes);
	if (out < 0 || in < 0)
		relay->done(relay->argument, -(out < 0 ? out : in));
	else if (relay->out.closed && relay->in.closed)
		relay->done(relay->argument, 0);
	else if (out > 0 || in > 0)
		readiness_wake_soon(&relay->near.ready);
}

static void side_init(struct side *side, struct event_base *base, int fd, struct relay *relay) {
	side->fd = fd;
	readiness_watch(&side->ready, base, fd, relay_pump, relay);
}

static void way_init(struct way *way, struct way *back, struct side *from, struct side *to, struct evbuffer *pending) {
	*way = (struct way){.from = from, .to = to, .back = back, .pipe = PIPE_NONE};
	if (!pending || evbuffer_get_length(pending) == 0) return;
	way->given = evbuffer_get_length(pending);
	if (!(way->pending = evbuffer_new()) || evbuffer_add_buffer(way->pending, pending) < 0) mem_exhausted();
}

struct relay *relay_new(struct event_base *base, struct pipes *pipes, const struct relay_ends *ends, relay_done *done,
			void *argument) {
	struct relay *relay = mem_new(struct relay);

	*relay = (struct relay){.pipes = pipes, .done = done, .argument = argument};
	side_init(&relay->near, base, ends->near, relay);
	side_init(&relay->far, base, ends->far, relay);
	way_init(&relay->out, &relay->in, &relay->near, &relay->far, ends->near_pending);
	way_init(&relay->in, &relay->out, &relay->far, &relay->near, ends->far_pending);
	if (ends->heard) {
		relay->out.ear = mem_new(struct ear);
		*relay->out.ear = (struct ear){.heard = ends->heard, .argument = argument};
	}
	if (relay->out.pending || relay->in.pending) readiness_wake_soon(&relay->near.ready);
	return relay;
}

void relay_release(struct relay *relay) {
	way_close_ear(&relay->out);
	readiness_wake_soon(&relay->near.ready);
}

uint64_t relay_sent(const struct relay *relay) {
	return relay->out.moved;
}

uint64_t relay_received(const struct relay *relay) {
	return relay->in.moved;
}

static void way_finish(struct way *way, struct pipes *pipes) {
	way_drop_pipe(way, pipes);
	way_close_ear(way);
	if (way->pending) evbuffer_free(way->pending);
}

static void side_finish(struct side *side, bool in_order) {
	readiness_end(&side->ready);
	if (in_order)
		fd_close(side->fd);
	else
		socket_abort(side->fd);
}

void relay_free(struct relay *relay) {
	bool in_order;

	if (!relay) return;
	in_order = relay->out.closed && relay->in.closed;
	way_finish(&relay->out, relay->pipes);
	way_finish(&relay->in, relay->pipes);
	side_finish(&relay->near, in_order);
	side_finish(&relay->far, in_order);
	free(relay);
}
