/*
 * session_roots: the folders for which ${root} stands in a session: its project, where it was started, the other
 * folders that it may write, and repositories: what other sessions of the project have found, and what its own runner
 * finds.
 *
 * Promises: at most LIMIT_ROOTS, of which LIMIT_ROOTS_FOUND may be repositories, so that no tool that makes some takes
 * the place of a folder that it may write; none takes another's. One without which the rules can't be made is left out.
 */
#pragma once

#include "session.h"

int session_first_roots(struct session *session, const struct session_open *wish, struct error *error);

struct session_roots {
	struct strings trees; /* that it may write */
	struct strings found; /* repositories */
	struct strings gone;  /* no repositories any more, but perhaps trees */
};

/* Of each of the trees and then of each that was found: is it one now, or was there no room? Those that are gone are
 * not looked for by the next session. Where there are others than before, the session's rules and view are made anew,
 * and pushed. */
int session_add_roots(struct session *session, const struct session_roots *roots, bool *ret_kept, struct error *error);
