/*
 * masks: what a rename or removal on the host tears off a running sandbox, or takes along to another name, is put back
 * at once (attack F17).
 *
 * Promises: woken by the kernel (poll on /proc/PID/mountinfo, proc_pid_mountinfo(5)); the window is the time from the
 * host's rename to the portal's move_mount. What is torn off comes back with all that lay on it, in one move. What the
 * host has just nothing for is tried again until it has, and what can't be put there, since something of another kind
 * is there now, a new plan is asked for first.
 */
#pragma once

#include <event2/event.h>
#include <sys/types.h>

#include "plan/plan.h"
#include "portal.h"

struct masks;

struct masks_options {
	struct event_base *base;
	pid_t init;
	struct portal *const *portal; /* borrowed: the living one, or NULL, is there */
	/* Other things are there than the plan was made for: masks_follow a plan with fresh facts, soon. */
	void (*stale)(void *context);
	/* `path` was put back (code 0) or can't be, by several plans (errno; the sandbox should end). */
	void (*repaired)(void *context, const char *path, int code);
	void *context;
};

int masks_new(const struct masks_options *options, struct masks **ret_masks, struct error *error);

/* The plan that is in force, borrowed until the next call, and looked after once the loop has served who waits for it;
 * NULL while steps are carried out: nothing is put back. */
void masks_follow(struct masks *masks, const struct plan *plan);

/* The host may have moved something that has a mask. */
void masks_look(struct masks *masks);

/* Before the sandbox is ended: who has its mountinfo open last takes its mount namespace apart, for milliseconds. */
void masks_stop(struct masks *masks);
void masks_free(struct masks *masks); /* after the portal */
