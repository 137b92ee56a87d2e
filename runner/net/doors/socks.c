/* SOCKS5 without authentication (RFC 1928): CONNECT by name or address. SOCKS4, BIND and UDP are refused. */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "client.h"
#include "net/parse/socks_head.h"

enum { SOCKS_MESSAGE_MAX = 4 + 1 + 255 + 2 };

enum socks_state { SOCKS_GREETING, SOCKS_REQUEST, SOCKS_HELD, SOCKS_CLOSING };

struct socks {
	struct client *client;
	enum socks_state state;
};

static void socks_send(struct socks *socks, const void *bytes, size_t size) {
	if (evbuffer_add(socks->client->stream.out, bytes, size) < 0) mem_exhausted();
}

static void socks_close_soon(struct socks *socks) {
	socks->state = SOCKS_CLOSING;
	client_set_phase(socks->client, CLIENT_CLOSING);
}

/* The bound address is not the client's business: 0.0.0.0:0. */
static void socks_reply(struct socks *socks, enum socks_code code) {
	const uint8_t reply[] = {5, (uint8_t)code, 0, 1, 0, 0, 0, 0, 0, 0};

	socks_send(socks, reply, sizeof reply);
	if (code != SOCKS_SUCCEEDED) socks_close_soon(socks);
}

static enum socks_code code_of(const struct gate_result *result) {
	if (result->outcome == GATE_DENIED) return SOCKS_NOT_ALLOWED;
	switch (result->code) {
	case ECONNREFUSED:
		return SOCKS_REFUSED;
	case ENETUNREACH:
		return SOCKS_NETWORK_UNREACHABLE;
	case EHOSTUNREACH:
		return SOCKS_HOST_UNREACHABLE;
	case ETIMEDOUT:
		return SOCKS_TTL_EXPIRED;
	default:
		return SOCKS_FAILED;
	}
}

static void socks_run(struct client *client);

static void socks_cut(void *argument) {
	client_abort(((struct socks *)argument)->client);
}

static void socks_answered(struct client *client, const struct gate_result *result) {
	struct socks *socks = client->state;

	if (result->outcome != GATE_CONNECTED) {
		socks_reply(socks, code_of(result));
		socks_run(client);
		return;
	}
	socks_reply(socks, SOCKS_SUCCEEDED);
	client_tunnel(client, result->fd, gate_lease_new(client->proxy->gate, result, "socks", socks_cut, socks), true);
}

/* Returns false when the client has ended or nothing can be done now. */
static bool greeting_step(struct socks *socks, const uint8_t *bytes, size_t size) {
	static const uint8_t open_method[] = {5, 0}, no_method[] = {5, 0xff}, version4_refused[8] = {0, 0x5b};
	bool is_open = false;
	int used = socks_greeting_parse(bytes, size, &is_open);

	if (used == 0) return false;
	if (used < 0) {
		if (bytes[0] == 4) socks_send(socks, version4_refused, sizeof version4_refused);
		socks_close_soon(socks);
		return true;
	}
	evbuffer_drain(socks->client->stream.in, (size_t)used);
	socks_send(socks, is_open ? open_method : no_method, 2);
	if (is_open)
		socks->state = SOCKS_REQUEST;
	else
		socks_close_soon(socks);
	return true;
}

static bool request_step(struct socks *socks, const uint8_t *bytes, size_t size) {
	struct client *client = socks->client;
	enum socks_code code = SOCKS_FAILED;
	struct host host;
	uint16_t port = 0;
	int used = socks_request_parse(bytes, size, &host, &port, &code);

	if (used == 0) return false;
	if (used < 0 || code != SOCKS_SUCCEEDED) {
		socks_reply(socks, code);
		return true;
	}
	evbuffer_drain(client->stream.in, (size_t)used);
	socks->state = SOCKS_HELD;
	client_open_gate(client, &host, port, socks_answered);
	return true;
}

static bool closing_step(struct socks *socks) {
	struct stream *stream = &socks->client->stream;

	if (stream_unsent(stream) > 0) return false;
	shutdown(stream->fd, SHUT_WR);
	evbuffer_drain(stream->in, stream_unread(stream));
	if (stream_fill(stream, SOCKS_MESSAGE_MAX) && !stream->ended) return stream_unread(stream) > 0;
	client_end(socks->client);
	return false;
}

static bool socks_step(struct socks *socks) {
	struct client *client = socks->client;
	struct stream *stream = &client->stream;
	const uint8_t *bytes;
	size_t size;

	if (!stream_flush(stream)) {
		client_end(client);
		return false;
	}
	if (socks->state == SOCKS_CLOSING) return closing_step(socks);
	if (socks->state == SOCKS_HELD) {
		client_watch_held(client);
		return false;
	}
	if (!stream_fill(stream, SOCKS_MESSAGE_MAX)) {
		client_end(client);
		return false;
	}
	size = stream_unread(stream) < SOCKS_MESSAGE_MAX ? stream_unread(stream) : SOCKS_MESSAGE_MAX;
	bytes = size ? evbuffer_pullup(stream->in, (ev_ssize_t)size) : NULL;
	if (bytes && (socks->state == SOCKS_GREETING ? greeting_step : request_step)(socks, bytes, size)) return true;
	if (stream->ended && socks->state != SOCKS_HELD) client_end(client);
	return false;
}

static void socks_run(struct client *client) {
	while (!client->ended && !client->tunnel && socks_step(client->state)) continue;
}

static void *socks_begin(struct client *client) {
	struct socks *socks = mem_new(struct socks);

	socks->client = client;
	return socks;
}

const struct door DOOR_SOCKS = {.begin = socks_begin, .run = socks_run, .finish = free};
