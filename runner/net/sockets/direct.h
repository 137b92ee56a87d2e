/*
 * direct: `direct: true`: a tool gets the host's connected socket in the place of its own (design section 7, Network).
 *
 * Promises: only a TCP connection that the gate has made, whose verdict says so, for a socket that is new: not bound,
 * without a duplicate, without an epoll registration (they would keep the old one); else nothing is done and it is
 * relayed. From then on no byte goes through us: the history has neither their number nor what they were, but target,
 * grant, and how long it lasted, to within LIMIT_DIRECT_LOOK_MS. It ends with its grant (tethers.h). What the socket
 * can still be used for says docs/threat-model.md; the filter has TRAPS_DIRECT.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "net/gate/gate.h"

struct direct;
struct socket_call;

struct direct_options {
	struct event_base *base;
	struct gate *gate; /* borrowed, outlives it */
	pid_t init;        /* process 1 of the sandbox */
};

struct direct *direct_new(const struct direct_options *options);

/* True: the call has ended and the result's socket is taken over. False: both are as they were. */
bool direct_hand_over(struct direct *direct, struct socket_call *call, const struct gate_result *result);

bool direct_is_cut(const struct direct *direct); /* tethers_are_cut */
void direct_free(struct direct *direct);         /* when the sandbox has ended */
