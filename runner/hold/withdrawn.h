/*
 * withdrawn: what grants had given and give no longer, and which processes of the sandbox still hold it.
 *
 * Promises: it is collected as it is taken from the sandbox, until nobody holds it any more. When the view without it
 * is in force, who holds a folder of it is ended, since all that lies in there could be read through it for ever; who
 * holds files alone is named, or ended, too, where the user wants it. The user is told, and the broker when it wants to
 * know (session_settled): only when all is so. Of what was allowed for a call alone as many files stay open, unnamed,
 * as there were calls; who holds more is ended. The loop is never held up for long.
 */
#pragma once

#include <event2/event.h>

#include "live.h"
#include "mounts/holders.h"
#include "plan/steps.h"
#include "session/session.h"

struct withdrawn;

struct withdrawn_options { /* all borrowed */
	struct event_base *base;
	struct live *live;
	struct session *session;
	pid_t init;
};

struct withdrawn *withdrawn_new(const struct withdrawn_options *options);

/* Such steps are about to be carried out: of what they take since the host has moved it, where it is now is noted,
 * while that can be told. A denial of that name withdraws it. */
void withdrawn_foresee(struct withdrawn *withdrawn, const struct steps *steps);

/* As struct live_options' changed and taken: by what steps were carried out, and which mounts went with them. */
void withdrawn_follow(struct withdrawn *withdrawn, const struct plan *plan, const struct steps *steps);
/* `calls`: what was there for so many calls alone is looked for at once, without any word of the broker's. */
void withdrawn_add(struct withdrawn *withdrawn, const char *path, const struct portal_taken *taken, size_t calls);

/* What is masked at the path is another file or folder of the host's now, and the mask lies on it: who has it open to
 * write, by the name that it had before or in the moment before the mask, is ended. */
void withdrawn_replaced(struct withdrawn *withdrawn, const char *path);

/* The broker's push: grants ended, and what was told of the view before it says what goes. */
void withdrawn_end(struct withdrawn *withdrawn, const struct session_ended *ended);

/* Has the broker told of an end, and that is not so yet? For any thread. */
bool withdrawn_is_awaited(struct withdrawn *withdrawn);

/* Call back, later and once, when what is known now is in force, and nobody holds what that takes. */
void withdrawn_when(struct withdrawn *withdrawn, void (*done)(void *argument), void *argument);

/* Nothing of the sandbox is left: all of that is so. */
void withdrawn_gone(struct withdrawn *withdrawn);

void withdrawn_free(struct withdrawn *withdrawn); /* when live calls nobody back any more */
