/*
 * portal_applied: what became of steps that a portal was given.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

struct portal_applied {
	uint32_t *failed; /* indices of steps: the first of each group that failed, or the step itself */
	size_t failed_count;
	struct portal_taken *taken; /* what was detached while somebody may have held something of it; of TELLs */
	size_t taken_count;
	struct portal_put *puts; /* all that is put by now, by id */
	size_t put_count;
};
struct portal_taken {
	uint64_t number;  /* STATX_MNT_ID, mnt_id of /proc/PID/fdinfo */
	uint32_t id;      /* of the mount that the plan knows, which it is or came along with */
	uint32_t written; /* not 0: a file in it is open for writing, so it could not be made read-only */
	uint64_t device;  /* of its file system, as mountinfo has it; 0: not known */
};
struct portal_put {
	uint64_t number; /* STATX_MNT_ID, field 1 of mountinfo */
	uint32_t id;
};
int portal_put_compare(const void *a, const void *b); /* by id, for qsort(3) and bsearch(3) */
void portal_applied_finish(struct portal_applied *applied);
#define CLEANUP_PORTAL_APPLIED CLEANUP(portal_applied_finish)
