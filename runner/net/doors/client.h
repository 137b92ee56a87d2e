/*
 * client: one connection to the proxy, from accept to close, whichever door it takes.
 *
 * Promises: the deadline of its phase ends it; at the proxy's limit the oldest that has no request under way makes
 * room, so half-open ones can't keep others out (N12). client_end may be called at any point, also twice: the
 * connection is gone at once, the memory after the current callback.
 */
#pragma once

#include <sys/queue.h>

#include "net/gate/tunnel.h"
#include "net/streams/pipes.h"
#include "net/streams/stream.h"
#include "proxy_limits.h"

TAILQ_HEAD(clients, client);

struct proxy {
	struct event_base *base;
	struct gate *gate;
	char *profile;
	struct proxy_limits limits;
	struct pipes pipes;
	struct clients clients; /* oldest first */
	struct clients ended;   /* to be freed by `reaper` */
	size_t client_count;
	struct event *reaper;
	struct proxy_listener *listeners;
	struct event *resume; /* listens again after a pause */
};

enum client_phase {
	CLIENT_OPENING, /* a request is not complete yet */
	CLIENT_IDLE,    /* kept open, no request begun */
	CLIENT_BUSY,    /* held, or being served */
	CLIENT_LEAVING, /* held, and has ended its way: gone, or half-closed and answered in a moment */
	CLIENT_CLOSING, /* what it still sends is thrown away, so that it can read the last answer */
	CLIENT_PHASES,
};

/* A door: what is done with the client's bytes. */
struct door {
	void *(*begin)(struct client *client); /* returns its state */
	void (*run)(struct client *client);    /* the socket can do more */
	void (*finish)(void *state);
};
extern const struct door DOOR_HTTP, DOOR_SOCKS;

struct client {
	TAILQ_ENTRY(client) entry;
	struct proxy *proxy;
	struct stream stream;
	enum client_phase phase;
	struct event *deadline;
	int64_t due_ms, armed_ms; /* when the phase ends, when the timer fires; 0 = never */
	const struct door *door;  /* NULL before the first byte */
	void *state;              /* the door's own */
	struct gate_call *call;   /* asked, not answered yet */
	void (*answered)(struct client *client, const struct gate_result *result);
	struct host host; /* it asked for */
	uint16_t port;
	struct tunnel *tunnel; /* once it is one */
	char *process;         /* "curl (412)", or NULL */
	bool ended;
};

void client_new(struct proxy *proxy, int fd); /* takes the socket */
void client_free(struct client *client);      /* one that has ended, by the proxy's reaper */
void client_end(struct client *client);
void client_abort(struct client *client); /* with a reset */
void client_set_phase(struct client *client, enum client_phase phase);

/* Ask the gate for the client. */
void client_open_gate(struct client *client, const struct host *host, uint16_t port,
		      void (*answered)(struct client *client, const struct gate_result *result));

/* While it is held: a client that hung up gets a moment, then it is ended and the gate need not ask any more; one
 * that reset the connection is ended at once. */
void client_watch_held(struct client *client);

/* It becomes a tunnel: from now on bytes go between the client and `far` (taken), after what the stream holds unread
 * and unsent. The door is finished; the lease is taken over. `heard`: what the client says first must ask for the host
 * that the gate was asked for (tunnel.h). */
void client_tunnel(struct client *client, int far, struct gate_lease *lease, bool heard);
