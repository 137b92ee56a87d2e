/*
 * dial: from a host that is allowed to a socket that is connected to it: by `hosts:`, by the host's resolver, or
 * through the upstream proxy.
 *
 * Promises: what a name or the tool's own figures lead to is no private or special address (N6), nor one of this
 * machine's (R24), unless that is allowed or `hosts:` gave it; no address is connected to that a denial names, whatever
 * the name that leads there; what goes through the upstream proxy isn't looked up
 * here, and the proxy alone decides where it leads. LIMIT_CONNECT_MS for all of it. `done` is called once, never from
 * inside dial_start, and not after dial_cancel.
 */
#pragma once

#include "gate_private.h"

struct dial;

struct dial_wish {
	const struct host *host; /* copied */
	uint16_t port;
	int type; /* SOCK_STREAM, SOCK_DGRAM */
	bool private_allowed;
	bool ipv4_only; /* localhost is 127.0.0.1 */
};

struct dial_result {
	int fd;                       /* connected, non-blocking; the callee's. Or -1 */
	const char *address;          /* ADDRESS:PORT that a name led to; borrowed; NULL: it was judged as the host */
	const struct verdict *denial; /* of the address that it leads to; borrowed; or NULL */
	bool refused;                 /* by its address */
	bool by_upstream;             /* the proxy, or the way to it, failed */
	int code;
	const char *message; /* a sentence; borrowed */
};

typedef void dial_done(void *argument, const struct dial_result *result);
struct dial *dial_start(struct gate *gate, const struct dial_wish *wish, dial_done *done, void *argument);
void dial_cancel(struct dial *dial);
/* What denies addresses may be another by now: where it leads is judged once more before it is done. */
void dial_doubt(struct dial *dial);
