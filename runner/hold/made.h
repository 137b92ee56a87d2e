/*
 * made: names that came to be while the sandbox ran, in trees that it may write, and that a rule masks: made by the
 * host, or by a tool that changed a path while it was judged; those of a pattern (`**` + `/hooks`) also brought in a
 * folder that was moved.
 *
 * Promises: a name that was masked by its path and missing is told and recorded as soon as a plan that masks it is in
 * force, once, and not if it was allowed; past a number only at the end. Nothing is moved or deleted, for it may be the
 * user who has made it. What patterns mask is found by one bounded walk (walk.h) when the sandbox has ended; the
 * broker's word counts where it can be asked. What is left out is logged.
 */
#pragma once

#include "base/memory.h"
#include "finds/finds.h"
#include "plan/plan.h"
#include "sandbox/layout.h"
#include "session/session.h"

struct made;

struct made_options { /* all borrowed */
	const struct finds *finds;
	struct session *session;
	const struct strings *allowed; /* names that may be made by what the user has said since (keeper.h) */
};

struct made *made_new(const struct made_options *options);
void made_follow(struct made *made, const struct plan *plan); /* it is in force; the first one, too */
/* When the sandbox has ended, with the last view and plan: adds them to `ret_paths`. */
void made_find(const struct made *made, const struct view *view, const struct plan *plan,
	       const struct layout_judge *judge, struct strings *ret_paths);
const struct strings *made_told(const struct made *made); /* borrowed: what is on record */
void made_free(struct made *made);
