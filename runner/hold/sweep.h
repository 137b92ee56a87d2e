/*
 * sweep: looks through a sandbox's processes until none holds a folder of what was taken from it, and ends those that
 * do.
 *
 * Promises: who holds a folder is ended (SIGKILL by a pidfd, after the process was seen to hold it under that pidfd),
 * for through a folder all that lies in it is read; who holds files alone is named, or ended where that is wanted. It
 * is done only when several looks through all processes in a row have found neither a folder nor a process that came or
 * went unseen; until then it is not done, however long that takes. Each turn is short.
 */
#pragma once

#include "mounts/holders.h"

struct sweep;

/* `init`: process 1 of the sandbox, which holds nothing. `taken` is taken over. */
struct sweep *sweep_new(pid_t init, struct taken *taken, bool files);
void sweep_free(struct sweep *sweep);

enum sweep_state {
	SWEEP_DONE,
	SWEEP_SOON, /* there is more to look at */
	SWEEP_LATER /* SWEEP_PAUSE_MS: somebody was on the way */
};
enum { SWEEP_PAUSE_MS = 10 };
enum sweep_state sweep_turn(struct sweep *sweep);

/* When it is done; borrowed. */
const struct holders *sweep_left(const struct sweep *sweep);  /* who holds files still */
const struct holders *sweep_ended(const struct sweep *sweep); /* who was ended, and for what */
