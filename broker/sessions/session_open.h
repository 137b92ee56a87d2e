/*
 * session_open: a session begins.
 *
 * Promises: its row, event and grants are written together or not at all, and nothing is left behind when it is
 * refused.
 */
#pragma once

#include "session.h"

/* The request's checks, the session's row and event, its --allow and --deny grants: all or nothing. */
int session_open(struct client *client, const struct session_open *wish, struct session **ret_session,
		 struct error *error);

void session_free(struct session *session); /* session_end.h ends it */
