/*
 * Theory of operation. One client connection carries requests one after the other:
 *
 *     HEAD ──parsed──► HELD ──connected──► EXCHANGE ──response done──► HEAD
 *       │                │ denied, failed                     │ can't be kept
 *       └──malformed─────┴──────────► reply ──► HEAD or CLOSING ◄──┘
 *     CONNECT: HELD ──connected──► tunnel (client_tunnel), and no way back
 *
 * `http_run` steps until nothing moves; it is called whenever the client's or the origin's socket can do more. In
 * EXCHANGE the request's body goes up and the response comes down at the same time, each at most WINDOW bytes ahead of
 * its receiver: what doesn't fit stays in the sender's socket. What is sent is written from the parsed head and the
 * unframed body, never copied from raw bytes (N4). A connection to the origin is kept for the next request to the same
 * host and port, which then needs no new verdict: its lease is cut when the grant ends.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "client.h"
#include "http_reply.h"
#include "net/parse/http_response.h"
#include "origin.h"

enum { WINDOW = 64 * 1024, TURN_STEPS = 16 };

enum http_state { HTTP_HEAD, HTTP_HELD, HTTP_EXCHANGE, HTTP_CLOSING };

struct http {
	struct client *client;
	enum http_state state;
	size_t scanned; /* of the client's bytes, or of the origin's in EXCHANGE */
	struct http_request request;
	int minor;
	struct string forward; /* the head for the origin */
	struct origin origin;
	struct http_body up, down;
	bool up_failed; /* the origin takes no more of the body: maybe it has answered already */
	bool answering; /* the final response's head is on its way */
	enum http_framing client_framing;
	bool keep_client, keep_origin;
};

static struct evbuffer *client_out(struct http *http) {
	return http->client->stream.out;
}

static void buffer_add(struct evbuffer *buffer, const void *bytes, size_t size) {
	if (evbuffer_add(buffer, bytes, size) < 0) mem_exhausted();
}

/* A payload in the framing of the side that it goes to. */
static void buffer_add_framed(struct evbuffer *buffer, struct slice payload, enum http_framing framing) {
	if (payload.size == 0) return;
	if (framing == HTTP_FRAMING_CHUNKED) evbuffer_add_printf(buffer, "%zx\r\n", payload.size);
	buffer_add(buffer, payload.data, payload.size);
	if (framing == HTTP_FRAMING_CHUNKED) buffer_add(buffer, "\r\n", 2);
}

static void http_next(struct http *http) {
	http->state = HTTP_HEAD;
	http->scanned = 0;
	client_set_phase(http->client, CLIENT_IDLE);
}

static void http_close_soon(struct http *http) {
	http->state = HTTP_CLOSING;
	origin_close(&http->origin);
	client_set_phase(http->client, CLIENT_CLOSING);
}

/* Takes the reply over. */
static void http_reply(struct http *http, struct http_reply reply, bool keep) {
	CLEANUP_STRING struct string text = {0};

	http_reply_write(&reply, keep, !http->request.head, &text);
	buffer_add(client_out(http), text.data, text.size);
	http_reply_finish(&reply);
	if (keep)
		http_next(http);
	else
		http_close_soon(http);
}

static void http_refuse(struct http *http, const struct error *error) {
	http->request.head = false;
	http_reply(http, http_reply_refused(error), false);
}

static void http_bad_origin(struct http *http, const char *why) {
	CLEANUP_FREE char *target = host_port_format(&http->request.host, http->request.port);

	origin_abort(&http->origin, why);
	if (http->answering)
		client_abort(http->client);
	else
		http_reply(http, http_reply_bad_origin(target, why), false);
}

static void http_run(struct client *client);

static void origin_ready(void *argument) {
	struct http *http = argument;

	if (http->state == HTTP_EXCHANGE)
		http_run(http->client);
	else if (origin_is_open(&http->origin) && origin_is_spoiled(&http->origin))
		origin_close(&http->origin);
}

static void origin_cut(void *argument) {
	struct http *http = argument;
	struct http_reply reply = {403, string_copy("sbx: the grant for this connection has ended\n")};

	origin_abort(&http->origin, "the grant has ended");
	if (http->state != HTTP_EXCHANGE) {
		http_reply_finish(&reply);
		return;
	}
	if (http->answering) {
		http_reply_finish(&reply);
		client_abort(http->client);
		return;
	}
	http_reply(http, reply, false);
	http_run(http->client);
}

static void exchange_begin(struct http *http) {
	struct origin *origin = &http->origin;

	http->state = HTTP_EXCHANGE;
	http->scanned = 0;
	http->up = http_body_begin(http->request.framing, http->request.length);
	http->up_failed = http->answering = false;
	origin->received = origin->stream.received;
	buffer_add(origin->stream.out, http->forward.data, http->forward.size);
	client_set_phase(http->client, CLIENT_BUSY);
}

static void tunnel_begin(struct http *http, int far, struct gate_lease *lease) {
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	buffer_add(client_out(http), established, sizeof established - 1);
	client_tunnel(http->client, far, lease, true);
}

static void http_answered(struct client *client, const struct gate_result *result) {
	struct http *http = client->state;
	bool body_is_read = http->request.framing == HTTP_FRAMING_NONE;
	struct gate_lease *lease;

	if (result->outcome != GATE_CONNECTED) {
		http_reply(http, http_reply_result(result, client->proxy->profile),
			   http->request.keep_alive && body_is_read);
		http_run(client);
		return;
	}
	lease = gate_lease_new(client->proxy->gate, result, http->request.tunnel ? "connect" : "http", origin_cut,
			       http);
	if (http->request.tunnel) {
		tunnel_begin(http, result->fd, lease);
		return;
	}
	http->origin = (struct origin){.lease = lease, .host = http->request.host, .port = http->request.port};
	stream_open(&http->origin.stream, client->proxy->base, result->fd, origin_ready, http);
	exchange_begin(http);
	http_run(client);
}

static void http_ask(struct http *http) {
	http->state = HTTP_HELD;
	origin_close(&http->origin);
	client_open_gate(http->client, &http->request.host, http->request.port, http_answered);
}

/* Parses the complete head of `size` bytes and starts what it asks for. */
static void request_begin(struct http *http, const char *bytes, size_t size) {
	struct http_head head;
	struct error error = ERROR_NONE;

	http->request = (struct http_request){0};
	if (http_request_head_parse(bytes, size, &head, &error) < 0 ||
	    http_request_read(&head, &http->request, &error) < 0) {
		http_refuse(http, &error);
		return;
	}
	http->minor = head.minor;
	http->forward.size = 0;
	if (!http->request.tunnel) http_request_write(&head, &http->request, &http->forward);
	http->request.authority = http->request.path = (struct slice){0}; /* they end with the bytes */
	evbuffer_drain(http->client->stream.in, size);
	if (!http->request.tunnel && origin_is_for(&http->origin, &http->request.host, http->request.port) &&
	    !origin_is_spoiled(&http->origin)) {
		http->origin.used = true;
		exchange_begin(http);
	} else {
		http_ask(http);
	}
}

/* Each step returns true when it changed the state, so that the next one may have something to do. */

static bool head_step(struct http *http) {
	struct stream *stream = &http->client->stream;
	struct error error = ERROR_NONE;
	const char *bytes;
	size_t size;
	long head;

	if (!stream_fill(stream, LIMIT_HEADER)) {
		client_end(http->client);
		return false;
	}
	size = stream_unread(stream) < LIMIT_HEADER ? stream_unread(stream) : LIMIT_HEADER;
	bytes = size ? (const char *)evbuffer_pullup(stream->in, (ev_ssize_t)size) : NULL;
	head = size ? http_head_scan(bytes, size, &http->scanned, &error) : 0;
	if (head == 0) {
		if (size > 0 && http->client->phase == CLIENT_IDLE) client_set_phase(http->client, CLIENT_OPENING);
		if (stream->ended && stream_unsent(stream) == 0) client_end(http->client);
		return false;
	}
	http->scanned = 0;
	if (head < 0)
		http_refuse(http, &error);
	else
		request_begin(http, bytes, (size_t)head);
	return true;
}

/* Moves a piece of a body from one side to the other. Returns its size, 0 when there is none, negative when malformed.
 */
static long body_move(struct http_body *body, struct stream *from, struct stream *to, enum http_framing framing,
		      struct error *error) {
	size_t size = evbuffer_get_contiguous_space(from->in);
	struct slice payload;
	long used;

	if (size == 0) return 0;
	used = http_body_step(body, (const char *)evbuffer_pullup(from->in, (ev_ssize_t)size), size, &payload, error);
	if (used < 0) return used;
	buffer_add_framed(to->out, payload, framing);
	evbuffer_drain(from->in, (size_t)used);
	if (http_body_is_done(body) && framing == HTTP_FRAMING_CHUNKED) buffer_add(to->out, "0\r\n\r\n", 5);
	return used;
}

static bool upload(struct http *http) {
	struct stream *client = &http->client->stream, *origin = &http->origin.stream;
	struct error error = ERROR_NONE;
	long moved = 1;

	while (!http->up_failed && !http_body_is_done(&http->up) && moved > 0 && stream_unsent(origin) < WINDOW) {
		if (!stream_fill(client, WINDOW) || (stream_unread(client) == 0 && client->ended)) {
			origin_abort(&http->origin, "the request's body was cut off");
			client_abort(http->client);
			return false;
		}
		if ((moved = body_move(&http->up, client, origin, http->request.framing, &error)) < 0) {
			origin_abort(&http->origin, "the request's body was malformed");
			if (http->answering)
				client_abort(http->client);
			else
				http_refuse(http, &error);
			return false;
		}
	}
	if (!http->up_failed && !stream_flush(origin)) {
		http->up_failed = true;
		origin->code = 0;
		origin->ready.readable = true; /* an early answer may wait there */
	}
	return true;
}

/* 101: the rest of both connections are raw bytes. */
static void exchange_to_tunnel(struct http *http) {
	struct stream *origin = &http->origin.stream;
	struct gate_lease *lease = STEAL(http->origin.lease);
	int far = stream_detach(origin);

	if (evbuffer_add_buffer(client_out(http), origin->in) < 0) mem_exhausted();
	stream_close(origin);
	client_tunnel(http->client, far, lease, false);
}

static void response_begin(struct http *http, const struct http_head *head, const struct http_response *response) {
	CLEANUP_STRING struct string text = {0};
	bool up_done = http_body_is_done(&http->up) && !http->up_failed;

	http->client_framing = http_response_client_framing(response, http->minor);
	http->keep_client = http->request.keep_alive && up_done && http->client_framing != HTTP_FRAMING_CLOSE;
	http->keep_origin = response->keep_alive && up_done;
	if (response->interim && http->minor == 0) return; /* RFC 9110 15.2 */
	http_response_write(head, response, http->client_framing, http->keep_client, &text);
	buffer_add(client_out(http), text.data, text.size);
	if (response->interim) return;
	http->answering = true;
	http->down = http_body_begin(response->framing, response->length);
}

/* The origin ended before it answered. A kept connection may just have been closed as the request left. */
static void exchange_unanswered(struct http *http) {
	if (http->origin.used && http->request.repeatable && !origin_has_answered(&http->origin))
		http_ask(http);
	else
		http_bad_origin(http, "it closed the connection without an answer");
}

/* Returns 1 when a head was taken, 0 when more bytes are needed, -1 when the exchange is over. */
static int response_head_step(struct http *http) {
	struct stream *origin = &http->origin.stream;
	size_t size = stream_unread(origin) < LIMIT_HEADER ? stream_unread(origin) : LIMIT_HEADER;
	const char *bytes = size ? (const char *)evbuffer_pullup(origin->in, (ev_ssize_t)size) : NULL;
	struct http_response response;
	struct http_head head;
	struct error error = ERROR_NONE;
	long end = size ? http_head_scan(bytes, size, &http->scanned, &error) : 0;

	if (end == 0 && !origin->ended) return 0;
	if (end == 0) {
		exchange_unanswered(http);
		return -1;
	}
	http->scanned = 0;
	if (end < 0 || http_response_head_parse(bytes, (size_t)end, &head, &error) < 0 ||
	    http_response_read(&head, &http->request, &response, &error) < 0) {
		http_bad_origin(http, error.message);
		return -1;
	}
	response_begin(http, &head, &response);
	evbuffer_drain(origin->in, (size_t)end);
	if (!response.switches) return 1;
	exchange_to_tunnel(http);
	return -1;
}

/* Returns as response_head_step does. */
static int response_body_step(struct http *http) {
	struct stream *origin = &http->origin.stream;
	struct error error = ERROR_NONE;
	long moved = body_move(&http->down, origin, &http->client->stream, http->client_framing, &error);

	if (moved < 0) {
		http_bad_origin(http, error.message);
		return -1;
	}
	if (moved > 0 || !origin->ended) return moved > 0;
	if (http->down.framing != HTTP_FRAMING_CLOSE) {
		http_bad_origin(http, "it ended in the middle of its answer");
		return -1;
	}
	http->down.state = HTTP_BODY_DONE;
	return 1;
}

static bool response_is_done(const struct http *http) {
	return http->answering && http_body_is_done(&http->down);
}

/* False when the exchange is over. */
static bool download(struct http *http) {
	struct stream *client = &http->client->stream, *origin = &http->origin.stream;
	int moved = 1;

	while (!response_is_done(http) && moved > 0 && stream_unsent(client) < WINDOW) {
		if (!stream_fill(origin, WINDOW) && stream_unread(origin) == 0) {
			if (http->answering || origin_has_answered(&http->origin))
				http_bad_origin(http, strerror(origin->code));
			else
				exchange_unanswered(http);
			return false;
		}
		moved = http->answering ? response_body_step(http) : response_head_step(http);
		if (moved < 0) return false;
	}
	if (!stream_flush(client)) {
		origin_abort(&http->origin, "the client is gone");
		client_end(http->client);
		return false;
	}
	return true;
}

static void exchange_finish(struct http *http) {
	if (!http_body_is_done(&http->up) || http->up_failed)
		origin_abort(&http->origin, "the request's body was not wanted");
	else if (!http->keep_origin || origin_is_spoiled(&http->origin))
		origin_close(&http->origin);
	if (http->keep_client)
		http_next(http);
	else
		http_close_soon(http);
}

static bool exchange_step(struct http *http) {
	uint64_t before = http->client->stream.sent + http->origin.stream.sent;

	if (!upload(http) || !download(http)) return true;
	if (response_is_done(http)) {
		exchange_finish(http);
		return true;
	}
	return http->client->stream.sent + http->origin.stream.sent > before;
}

/* All was said: end our way, then wait for the client to read it, throwing away what it still sends. A close with
 * unread bytes would reset the connection and could destroy the answer (RFC 9112 9.6). */
static bool closing_step(struct http *http) {
	struct stream *stream = &http->client->stream;

	if (stream_unsent(stream) > 0) return false;
	shutdown(stream->fd, SHUT_WR);
	if (stream_fill(stream, WINDOW) && !stream->ended) {
		bool more = stream_unread(stream) > 0;

		evbuffer_drain(stream->in, stream_unread(stream));
		return more;
	}
	client_end(http->client);
	return false;
}

static bool http_step(struct http *http) {
	struct client *client = http->client;

	if (http->state != HTTP_EXCHANGE && !stream_flush(&client->stream)) {
		client_end(client);
		return false;
	}
	switch (http->state) {
	case HTTP_HEAD:
		return head_step(http);
	case HTTP_HELD:
		client_watch_held(client);
		return false;
	case HTTP_EXCHANGE:
		return exchange_step(http);
	case HTTP_CLOSING:
		return closing_step(http);
	}
	return false;
}

static void http_run(struct client *client) {
	for (int i = 0; i < TURN_STEPS; i++)
		if (client->ended || client->tunnel || !http_step(client->state)) return;
	if (!client->ended && !client->tunnel) stream_wake_soon(&client->stream);
}

static void *http_begin(struct client *client) {
	struct http *http = mem_new(struct http);

	http->client = client;
	return http;
}

static void http_finish(void *state) {
	struct http *http = state;

	origin_abort(&http->origin, "the client is gone");
	string_finish(&http->forward);
	free(http);
}

const struct door DOOR_HTTP = {.begin = http_begin, .run = http_run, .finish = http_finish};
