/*
 * steps: what the portal has to do so that a sandbox is as a plan says.
 *
 * Promises: pure; the same two plans give the same steps, tested with golden files. Never more open in between than
 * before or after: restrictions come first and freedoms last, a mount comes with everything that lies over it, in one
 * move. What restricts something in a folder that was pinned meanwhile lies below the pin, too, for who has the folder
 * open, from then on and until it is lifted.
 * Who has something of a read-only mask open when the mask goes, since the folder may be written, can write it by that.
 * Only what differs is touched, and what is only covered stays mounted, so that a working directory in it stays
 * good and it is there again at once when the cover is taken.
 */
#pragma once

#include "plan.h"

enum step_kind {
	STEP_PUT, /* mount `mount` on whatever is at its path now; its mount point is made where the file system is
		     sbx's own. PUTs below it that directly follow appear with it, in one move */
	STEP_PUT_UNDER, /* mount `mount` where a walk from what the pin `under` covers leads to */
	STEP_TAKE,      /* detach the mount `id` (it may be covered) with all that lies on it */
	STEP_RELEASE,   /* likewise, and who has something of it open may write that from now on, unless the host has
			 * moved it */
	STEP_READ_ONLY, /* the mount `id`, in place, without what lies on it (it may be covered) */
	STEP_WRITABLE,
	STEP_REMOVE_LINK, /* the MOUNT_LINK `id`, if it is still there */
	STEP_TELL,        /* the kernel's number of the mount `id`, which is covered and exposed from now on */
};
enum { STEP_KIND_COUNT = STEP_TELL + 1 };

struct step {
	enum step_kind kind;
	uint32_t under;     /* of PUT_UNDER */
	struct mount mount; /* owned; of the others than PUT only id, kind, path count */
};

struct steps {
	struct step *items;
	size_t count;
};

/*
 * From `before` (NULL: nothing is there yet) to `after`, which learns here what each of its mounts is called (id) and
 * what stays below them (plan.below). Fresh folders of `before` (home, /tmp) are never taken: the tool's own things are
 * in them. What has to stay below although it shows more than `after` does is exposed there, with what can be left for
 * it by "..": nobody comes in anew, but who has a folder of it open must be ended (withdrawn.h).
 */
void plan_changes(const struct plan *before, struct plan *after, struct steps *ret_steps);
void steps_finish(struct steps *steps);
#define CLEANUP_STEPS __attribute__((cleanup(steps_finish)))
