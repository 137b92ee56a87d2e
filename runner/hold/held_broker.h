/*
 * held_broker: the broker's side of the hold queue (held.h): who makes a held call and by which name rules know what it
 * needs, as the broker is asked; and what its verdicts leave.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "calls/promptly.h"
#include "held.h"
#include "live.h"
#include "net/gate/denied.h"
#include "sandbox/scene.h"
#include "session/session.h"

struct held_broker { /* all borrowed */
	struct session *session;
	struct live *live;
	struct scene *scene;
	struct promptly *promptly;
	struct denied *denied; /* one for each kind of permission: what was refused is added */
	pid_t init;
	bool full; /* nothing more is given by patterns, and that was said */
};

/* Fills in all that held asks; it is borrowed for as long as held lives. */
void held_broker_answer(struct held_broker *broker, struct held_options *options);
