/*
 * live: a running sandbox follows its view: view → plan → steps → portal.
 *
 * Promises: views are carried out one after the other, the newest wins when several came meanwhile; the plan that it
 * holds is what is in force (what could not be carried out is not in it); live_sight is lexical and makes no system
 * call.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/memory.h"
#include "mounts/portal.h"
#include "plan/plan.h"
#include "plan/sight.h"
#include "plan/steps.h"
#include "schema/view.h"

struct live;

struct live_options {
	struct event_base *base;
	/* The host's facts are taken anew when `fresh`. The view is borrowed. */
	/* -EAGAIN: not for this view: one that has more is on its way. */
	int (*plan)(void *context, const struct view *view, bool fresh, struct plan *ret_plan, struct error *error);
	/* portal_apply; with a plan portal_apply_again: the portal is a new one, and the steps were under way. */
	void (*apply)(void *context, struct plan *plan, const struct steps *steps, portal_applied_done *done,
		      void *argument);
	/* `plan` NULL: what is mounted begins to change; else `steps` are carried out and the plan is in force. */
	void (*changed)(void *context, const struct plan *plan, const struct steps *steps);
	/* The sights that live_sight answers from until the next call, for other threads, too; NULL: they are about to
	 * change, or depend on the thread that asks (live_once). May be NULL. */
	void (*seen)(void *context, const struct sights *sights);
	/* What was mounted at `path`, or came along with it, is detached, or exposed (steps.h) from now on: it may be
	 * held still (holders.h). live_plan is the one before. `calls`: it was there for so many calls alone. */
	void (*taken)(void *context, const char *path, const struct portal_taken *taken, size_t calls);
	/* A part of the newest view is not in force, after a second try. `open`: something is there that it takes away.
	 */
	void (*failed)(void *context, const char *why, bool open);
	void *context;
};

/* `view` and `plan` are what the sandbox was started with; both are taken over. */
struct live *live_new(const struct live_options *options, struct view *view, struct plan *plan);
void live_finish(struct live *live, struct plan *ret_plan); /* live_free, and what was in force */
void live_free(struct live *live);

struct sight live_sight(const struct live *live, const char *path);                  /* microseconds */
void live_show(const struct live *live);                                             /* `seen`, now */
const char *live_mask_below(const struct live *live, const char *folder);            /* sights_mask_below */
char *live_resolve(const struct live *live, const char *path, bool last);            /* sights_resolve */
char *live_name(const struct live *live, const struct need *need, const char *used); /* sights_name */
bool live_gives(const struct live *live, const struct need *need);                   /* is what is needed in force? */
/* Does the newest view give it by name? What it gives and the plan doesn't (a mask that only the runner knows of)
 * nothing but a rule or grant that names it opens. */
bool live_rules_give(const struct live *live, const struct need *need);
const struct plan *live_plan(const struct live *live); /* in force; borrowed until the next change */
const struct view *live_view(const struct live *live); /* the newest; likewise */

/* A new view, taken over. */
void live_update(struct live *live, struct view *view);

/* The broker judges paths (layout.h) otherwise than before, though the view may be the same: plan again. `less`: what
 * is not given any more goes, or the sandbox has to end. */
void live_judge_again(struct live *live, bool less);

/* The host has changed: plan again with fresh facts, soon (several within LIMIT_REPLAN_MS are one). */
void live_refresh(struct live *live);
void live_refresh_now(struct live *live); /* likewise, in the next turn */
void live_hide(struct live *live); /* likewise, since it has made what is to be hidden: or the sandbox has to end */
bool live_hid(const struct live *live); /* the plan in force was made for that */

/* A new portal has stepped in (portal_enter, again): all is made whole. */
void live_restore(struct live *live);

/* Call back, later and once, when everything that is known now is in force or can't be. */
void live_when(struct live *live, void (*applied)(void *argument), void *argument);

/* A question about the path is put, and settled: what comes to its place in between is not shown (asked.h). */
void live_note(struct live *live, const char *path);
bool live_noted_missing(const struct live *live, const char *path); /* asked_is_missing */
bool live_noted_folder(const struct live *live, const char *path);
void live_forget(struct live *live, const char *path);

/* Give the thread what it needs for the call that it is in, and take it away when that has returned, at the latest
 * after LIMIT_ONCE_MS. In force when live_when says so. `alone`: nothing but the call's own result may stay. */
void live_once(struct live *live, pid_t thread, const struct need *need, bool alone);
bool live_gave_once(const struct live *live, pid_t thread, const struct need *need); /* and it is in force */
bool live_is_once(const struct live *live, const char *path);
void live_once_over(struct live *live, pid_t thread);                    /* it makes another call */
void live_once_asked(struct live *live, pid_t thread, const char *path); /* onces_asked */
