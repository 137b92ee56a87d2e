/*
 * clearances: the file by which runners are cleared to let trapped calls go on (schema/clearance.h), a page a sandbox.
 *
 * Promises: a page that was taken is one sandbox's until it is left, and no other runner's before the runner that has
 * it mapped has ended. What is written counts for the kernel from then on, before clearances_write returns. The file is
 * this broker's alone: a new one makes its own, and who has mapped the one before keeps what that said last.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct clearances;

/* Makes the file in the folder, in place of one that is left there. The broker must be the only one. */
int clearances_new(const char *folder, struct clearances **ret_clearances, struct error *error);
void clearances_free(struct clearances *clearances); /* removes it */

struct clearances_follower {
	pid_t runner;
	int64_t answering; /* its descriptor of the file by which it says that an answer is under way; 0: none */
};
int clearances_take(struct clearances *clearances, const struct clearances_follower *follower, bool given,
		    size_t *ret_page, struct error *error);
void clearances_leave(struct clearances *clearances, size_t page, int runner_pidfd); /* takes the pidfd over */

int clearances_write(const struct clearances *clearances, size_t page, bool given, struct error *error);

/* Is its runner in the middle of an answer, which may have begun before the last write? What can't be seen is, and one
 * that has ended there. */
bool clearances_are_in_use(const struct clearances *clearances, size_t page);

/* Does the process follow a clearance of this broker or of one before, as a runner does as long as it lives? True also
 * where that can't be seen. */
bool clearances_has_follower(pid_t process);

/* As the runner is told where it is (docs/protocol.md, `session-open`). */
json_t *clearances_describe(const struct clearances *clearances, size_t page);
