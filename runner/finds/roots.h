/*
 * roots: the folders of a run for which the policy's ${root} stands: its broker is told what was found, and makes the
 * rules count for it.
 */
#pragma once

#include "base/error.h"
#include "base/string.h"
#include "finds.h"
#include "schema/view.h"
#include "session/session.h"

/* Zero-initialise. */
struct roots {
	struct strings left; /* for which the broker has no room */
	bool first_found;    /* the first of them is a repository that was found */
	bool looked;         /* whether those of earlier sessions are still there */
};

/* Of the trees that it may write and the repositories that were found: -EAGAIN: there is one that the view was made
 * without, and a newer view, which has it, was sent. *notes gets a sentence about those that are left out. */
int roots_check(struct roots *roots, struct session *session, const struct view *view, const struct finds *finds,
		struct strings *notes, struct error *error);

void roots_finish(struct roots *roots);
