#include "origin.h"

#include "base/memory.h"

bool origin_is_open(const struct origin *origin) {
	return stream_is_open(&origin->stream);
}

bool origin_is_for(const struct origin *origin, const struct host *host, uint16_t port) {
	return origin_is_open(origin) && origin->port == port && host_equal(&origin->host, host);
}

bool origin_has_answered(const struct origin *origin) {
	return origin->stream.received > origin->received;
}

bool origin_is_spoiled(struct origin *origin) {
	return !stream_fill(&origin->stream, 1) || stream_unread(&origin->stream) > 0 || origin->stream.ended;
}

static void origin_end_lease(struct origin *origin, const char *error) {
	if (origin->lease) gate_lease_end(STEAL(origin->lease), origin->stream.sent, origin->stream.received, error);
}

void origin_close(struct origin *origin) {
	if (!origin_is_open(origin)) return;
	origin_end_lease(origin, NULL);
	stream_close(&origin->stream);
}

void origin_abort(struct origin *origin, const char *error) {
	if (!origin_is_open(origin)) return;
	origin_end_lease(origin, error);
	stream_abort(&origin->stream);
}
