/*
 * origin: the connection to a plain HTTP origin that a client's requests are forwarded on, kept for the next
 * request to the same host:port while its grant lives.
 */
#pragma once

#include "net/gate/gate.h"
#include "net/streams/stream.h"

struct origin {
	struct stream stream;
	struct gate_lease *lease;
	struct host host;
	uint16_t port;
	bool used;         /* has served a request before */
	uint64_t received; /* bytes when the current request began */
};

bool origin_is_open(const struct origin *origin);
bool origin_is_for(const struct origin *origin, const struct host *host, uint16_t port);
bool origin_has_answered(const struct origin *origin); /* something of the current request's response was read */

/* Nobody asked and it sends or ends: not to be used again. */
bool origin_is_spoiled(struct origin *origin);

/* End it and its lease, in order or with a reset. May be called when none is open. */
void origin_close(struct origin *origin);
void origin_abort(struct origin *origin, const char *error);
