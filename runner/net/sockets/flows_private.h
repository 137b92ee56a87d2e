/*
 * flows_private: what flows.c (listeners) and flow.c (what comes from one source) share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "flows.h"
#include "net/parse/address.h"
#include "schema/limits.h"

enum { DATAGRAM_MAX = 65535 /* RFC 768: the length field has 16 bits */, FLOW_TURN = 64 /* datagrams */ };

struct datagram {
	void *bytes;
	size_t size;
};

/* FLOW_REFUSED: for LIMIT_FLOW_REFUSED_MS what comes is dropped unasked. */
enum flow_stage { FLOW_ASKING, FLOW_OPEN, FLOW_REFUSED };

struct flow {
	TAILQ_ENTRY(flow) entry; /* of all of them */
	TAILQ_ENTRY(flow) near;  /* of the listener's; both: used last first */
	struct listener *listener;
	struct address source;
	enum flow_stage stage;
	int64_t used_ms; /* or refused at */
	/* FLOW_ASKING */
	struct gate_call *call;
	struct datagram waiting[LIMIT_FLOW_WAITING];
	size_t waiting_count, waiting_bytes;
	/* FLOW_OPEN */
	int fd; /* the host's */
	struct event *readable;
	struct gate_lease *lease;
	uint64_t sent, received;
};
TAILQ_HEAD(flow_list, flow);

struct listener {
	TAILQ_ENTRY(listener) entry; /* used last first */
	struct flows *flows;
	struct address address; /* what it stands at */
	struct address bound;   /* where it is */
	struct host host;
	uint16_t port;
	char *process;
	struct strings parents;
	int fd;
	struct event *readable;
	struct flow_list sources;
	int64_t used_ms;
	bool wanted; /* a socket is connected to it, as was last seen */
};
TAILQ_HEAD(listener_list, listener);

struct flows {
	struct flows_options options;
	struct listener_list listeners;
	struct flow_list all;
	size_t listener_count, flow_count, asking;
	int64_t idle_ms, unused_ms;
	struct event *sweep;
	uint8_t *buffer; /* of DATAGRAM_MAX bytes, from the first listener on */
};

int64_t flows_now(void); /* some milliseconds' precision, monotonic */

/* A datagram came from that source: passes it on, asks, keeps it or drops it. False: the listener is gone with it. */
bool flow_take(struct listener *listener, const struct address *source, const void *bytes, size_t size);
void flow_free(struct flow *flow, const char *error /* for the history, or NULL */);
void flow_release(struct flow *flow, const char *error); /* one that isn't in its listener's list any more */

void listener_touch(struct listener *listener); /* something went through it */
void listener_free(struct listener *listener, const char *error);

/* For tests: in the place of LIMIT_FLOW_IDLE_MS and LIMIT_FLOW_UNUSED_MS. */
void flows_set_idle(struct flows *flows, int64_t ms);
