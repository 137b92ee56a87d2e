/*
 * session_roots: the folders for which ${root} stands in a session: its project, where it was started, what other
 * sessions of the project have found, and what its own runner finds.
 *
 * Promises: at most LIMIT_ROOTS, of which none takes the place of another; what is found is on the disk before the
 * rules that count for it are in force.
 */
#pragma once

#include "session.h"

int session_first_roots(struct session *session, const struct session_open *wish, struct error *error);

/* Of each that was found: is it one now, or was there no room? Those that are gone are not looked for by the next
 * session. Where there are more the session's rules and view are made anew, and pushed. */
int session_add_roots(struct session *session, const struct strings *found, const struct strings *gone, bool *ret_kept,
		      struct error *error);
