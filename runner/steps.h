/*
 * steps: what the portal has to do so that a sandbox is as a plan says.
 *
 * Promises: pure; the same two plans give the same steps, tested with golden files. Never more open in between than
 * before or after: what is taken is taken first where both touch a path, and a mount comes with everything that lies
 * over it. Only what differs is touched.
 */
#pragma once

#include "plan.h"

enum step_kind {
	STEP_PUT,  /* mount `mount`; its mount point is made where the file system is sbx's own. PUTs below it that
		      directly follow appear with it, in one move */
	STEP_TAKE, /* detach what was put at `mount.path` with all that lies on it; remove a mount point that was made
		      for it */
	STEP_READ_ONLY, /* what was put at `mount.path`, in place, without what lies on it */
	STEP_WRITABLE,
	STEP_REMOVE_LINK, /* a MOUNT_LINK that is no more */
};

struct step {
	enum step_kind kind;
	struct mount mount; /* of the others only the path */
};

struct steps {
	struct step *items;
	size_t count;
};

/* `before` NULL: nothing is there yet. Fresh folders of `before` (home, /tmp) are never taken: the tool's own things
 * are in them. */
void plan_changes(const struct plan *before, const struct plan *after, struct steps *ret_steps);
void steps_finish(struct steps *steps);
char *steps_text(const struct steps *steps); /* one line a step, for golden files */
#define CLEANUP_STEPS __attribute__((cleanup(steps_finish)))
