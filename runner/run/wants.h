/*
 * wants: what the profile has the user asked about is asked before the tool starts, all together, instead of again and
 * again while it runs (docs/protocol.md, `want`).
 *
 * Promises: only what there is is asked about, looked at for LIMIT_LOOK_MS at most; a profile without such rules costs
 * nothing; where nobody can be asked nothing waits. What the user allows is in the view that the sandbox starts with,
 * and so is a variable that a grant for one use gives.
 */
#pragma once

#include <event2/event.h>

#include "base/error.h"
#include "runner/options.h"
#include "schema/view.h"
#include "session/session.h"
#include "terminal/hangup.h"
#include "terminal/outlets.h"

struct wants_options {
	struct event_base *base;
	struct hangup *hangup;         /* watched here meanwhile */
	struct session *session;       /* opened, and served by nobody else yet */
	const struct run_options *run; /* its `terminal` asks */
	const struct outlets *outlets; /* borrowed; without a terminal it is asked elsewhere */
	struct denied *denied;         /* one for each kind of permission: what the user denied, and each variable that
					  is denied, is added */
};

/* *view is replaced by each that comes meanwhile. -ECONNRESET: the broker has gone, and the session with it;
 * -ECANCELED: `sbx kill`; -EPIPE: the terminal has hung up. */
int wants_ask(const struct wants_options *options, struct view **view, struct error *error);
