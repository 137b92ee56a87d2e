/*
 * withdrawn: what grants had given and give no longer, and which processes of the sandbox still hold it.
 *
 * Promises: it is collected as it is taken from the sandbox, until nobody holds it any more. Who does is looked for
 * when the view without it is in force; the user is told, the broker when it wants to know (session_settled), and where
 * the user wants it they are ended first.
 */
#pragma once

#include <event2/event.h>

#include "holders.h"
#include "live.h"
#include "session.h"
#include "steps.h"

struct withdrawn;

struct withdrawn_options { /* all borrowed */
	struct event_base *base;
	struct live *live;
	struct session *session;
	pid_t init;
};

struct withdrawn *withdrawn_new(const struct withdrawn_options *options);

/* As struct live_options' changed and taken: by what steps were carried out, and which mounts went with them. */
void withdrawn_follow(struct withdrawn *withdrawn, const struct steps *steps);
void withdrawn_add(struct withdrawn *withdrawn, const struct strings *paths, const uint64_t *mounts, size_t count);

/* The broker's push: grants ended, and what was told of the view before it says what goes. */
void withdrawn_end(struct withdrawn *withdrawn, const struct session_ended *ended);

void withdrawn_free(struct withdrawn *withdrawn); /* when live calls nobody back any more */
