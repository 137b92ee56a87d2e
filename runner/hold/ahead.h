/*
 * ahead: what a tool asks for before it needs it (inside_door.h).
 *
 * Promises: decided by the broker like all else, and what was allowed of files, programs and sockets is in force when
 * the reply comes. Lexical: nothing of the host is looked at but what a rule asks about, as it lies when the question
 * is put (asked.h). A path is followed through the sandbox's own links alone (/bin).
 */
#pragma once

#include "base/memory.h"
#include "live.h"
#include "mounts/portal.h"
#include "net/gate/denied.h"
#include "net/gate/gate.h"
#include "session/inside_door.h"
#include "session/session.h"

struct ahead;

struct ahead_options { /* all borrowed */
	struct event_base *base;
	struct session *session;
	struct denied *denied; /* one for each kind of permission: what was refused is added */
	struct gate *gate;     /* or NULL; which keeps what was refused of net:access */
	pid_t init;
	bool has_network;
};

struct ahead *ahead_new(const struct ahead_options *options);
/* Ask the portal for the door; and begin to serve it when it is there, before the tool's first instruction. `live` is
 * borrowed. */
void ahead_open(struct ahead *ahead, struct portal *portal);
int ahead_begin(struct ahead *ahead, struct live *live, struct error *error);
void ahead_free(struct ahead *ahead); /* who waits is hung up on. Before live */
DEFINE_CLEANUP(struct ahead *, ahead_free);
