/*
 * undone: a plan whose steps were carried out but for some, or of which something is gone.
 *
 * Promises: pure. What was to be put and wasn't is not in the plan, what it would have covered is; what was to be taken
 * or restricted and wasn't is in it as it was.
 */
#pragma once

#include "steps.h"

/* `failed`: indices of steps, the first of a group stands for all of it (portal.h). `before` may be NULL: nothing was
 * there. */
void plan_undo(struct plan *after, const struct plan *before, const struct steps *steps, const uint32_t *failed,
	       size_t count);

/* The mount `id` is gone with a portal that died. A covered one is not in the plan any more; one that is seen is put
 * anew, and lies on what is left. */
void plan_lose(struct plan *plan, uint32_t id);
