/*
 * network: all of a sandbox's network that is ours: the gate, its doors, what stands for names and ports inside, and
 * the held calls that lead there (design section 7, Network).
 *
 * Promises: makes the parts that the scene wants, hands each of the broker's pushes and each held call to the one that
 * it is for, takes them down in the order that they need. Decides nothing itself.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "calls/socket_calls.h"
#include "mounts/portal.h"
#include "net/gate/denied.h"
#include "net/gate/gate.h"
#include "sandbox/scene.h"
#include "servers.h"
#include "session/session.h"

struct network;

/* All are borrowed. */
struct network_options {
	struct event_base *base;
	const struct scene *scene;
	struct session *session;
	struct denied *denied; /* one for each kind of permission: what was refused of ipc:connect is added */
	struct servers *servers;
	struct portal *const *portal; /* the living one is there; NULL while it is started again */
};

struct network *network_new(const struct network_options *options);

/* Ask the portal for what has to be there before the tool runs (after portal_enter); network_begin, when it is. */
void network_open(struct network *network, pid_t init);
int network_begin(struct network *network, struct error *error);

/* What the filter traps of sockets: `listener` is borrowed until network_stop, `curtain` as in traps.h. */
void network_listen(struct network *network, int listener, dev_t curtain);
bool network_takes(const struct network *network);                                   /* network_take, from then on */
void network_take(struct network *network, uint64_t id, struct socket_taken *taken); /* taken over */

/* The broker's pushes. */
void network_view(struct network *network, const struct view *view);
void network_ended(struct network *network, const struct session_ended *ended);
bool network_is_cut(const struct network *network); /* no connection or listener is left of what has ended */
void network_sleep(struct network *network);        /* held calls are interrupted */

struct gate *network_gate(const struct network *network); /* or NULL; until network_free */

/* Nothing goes in or out any more. Before the filter's listener is closed and the session is. */
void network_stop(struct network *network);
void network_free(struct network *network);
