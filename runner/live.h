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
#include "plan.h"
#include "schema/permission.h"
#include "schema/view.h"
#include "steps.h"

/* What a call that can't go on needs. */
struct need {
	enum permission_kind permission; /* fs:read, fs:write, proc:spawn */
	const char *path;                /* normal */
	bool by_folder;                  /* a new name in `path`, which is a folder: offered first (atomic saves) */
};

/* What the sandbox sees at a path, and what a rule says of it. */
struct sight {
	enum view_mode
		mode;   /* of the path itself: absent, ask, read, write (what is the sandbox's own can be written) */
	bool ask_write; /* read, and writing would be asked */
	bool leads;     /* something of the plan is mounted at or below it: its name must stay */
	bool program;   /* a proc:spawn rule asks about it */
	bool masked_missing; /* a masked path that the host doesn't have, or a folder above one: creating it is asked */
};

struct live;

struct live_options {
	struct event_base *base;
	/* The host's facts are taken anew when `fresh`. The view is borrowed. */
	int (*plan)(void *context, const struct view *view, bool fresh, struct plan *ret_plan, struct error *error);
	/* done() later, exactly once; see portal_apply. */
	void (*apply)(void *context, const struct steps *steps,
		      void (*done)(void *argument, int code, const char *text, int *fds, size_t fd_count),
		      void *argument);
	/* Before steps are carried out (`plan` NULL: mounts are about to change) and when they are in force. */
	void (*changed)(void *context, const struct plan *plan, const struct steps *steps);
	/* What `steps` took; by the mount ids it can still be held (holders.h). */
	void (*taken)(void *context, const struct steps *steps, const uint64_t *mounts, size_t count);
	/* A part of the view is not in force, after a second try. */
	void (*failed)(void *context, const char *why);
	void *context;
};

/* `view` and `plan` are what the sandbox was started with; both are taken over. */
struct live *live_new(const struct live_options *options, struct view *view, struct plan *plan);
void live_free(struct live *live);
DEFINE_CLEANUP(struct live *, live_free);
#define CLEANUP_LIVE CLEANUP(live_free_p)

struct sight live_sight(const struct live *live, const char *path); /* microseconds */
bool live_gives(const struct live *live, const struct need *need);  /* is what is needed in force? */
const struct plan *live_plan(const struct live *live);              /* in force; borrowed until the next change */
const struct view *live_view(const struct live *live);              /* the newest; likewise */

/* A new view, taken over. */
void live_update(struct live *live, struct view *view);

/* The host has changed: plan again with fresh facts, soon (several within LIMIT_REPLAN_MS are one). */
void live_refresh(struct live *live);

/* Call back, later and once, when everything that is known now is in force or can't be. */
void live_when(struct live *live, void (*applied)(void *argument), void *argument);

/* Give the thread what it needs for the call that it is in, and take it away when that has returned. applied() is
 * called later and once. */
void live_once(struct live *live, pid_t thread, const struct need *need, void (*applied)(void *argument),
	       void *argument);
