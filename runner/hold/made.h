/*
 * made: names that came to be while the sandbox ran, in trees that it may write, and that a pattern masks (`**` +
 * `/hooks`): brought in a folder that was moved, made by the host, or by a tool that changed a path while it was
 * judged.
 *
 * Promises: one bounded walk (walk.h) when the sandbox has ended, of what the view's patterns can reach; the broker's
 * word counts where it can be asked. What is left out is logged.
 */
#pragma once

#include "plan/plan.h"
#include "sandbox/finds.h"
#include "sandbox/layout.h"

/* Adds them to `ret_paths`, by byte. */
void made_find(const struct finds *finds, const struct view *view, const struct plan *plan,
	       const struct layout_judge *judge, struct strings *ret_paths);
