/*
 * answers: what the doorbells are told: what the sandbox sees, by the reconciler (live.h), and how a call that they
 * hold comes out, by the hold queue (held.h).
 *
 * Promises: nothing but the two decides. A trapped call is told of the path that its links lead to, and goes on only
 * when what the broker has said until then is carried out.
 */
#pragma once

#include <stdbool.h>

#include "curtain/curtain.h"
#include "held.h"
#include "live.h"
#include "session/session.h"
#include "traps.h"
#include "withdrawn.h"

struct answers {                 /* all borrowed but the curtain */
	struct curtain *curtain; /* NULL: there is none, or it has ended */
	struct live *live;
	struct held *held;
	struct session *session;
	struct withdrawn *withdrawn;
	bool traps_opens; /* the filter stops at each open (TRAPS_OPENS) */
};

/* Fill in what each asks; the answers are borrowed for as long as it lives. */
void answers_for_curtain(struct answers *answers, struct curtain_options *options);
void answers_for_traps(struct answers *answers, struct traps_options *options);

/* As the option `seen` of struct live_options. */
void answers_show(struct traps *traps, const struct sights *sights);
