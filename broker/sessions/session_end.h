/*
 * session_end: a session ends, and sessions are listed, those that have ended, too.
 *
 * Promises: an end that can't be written is kept and tried again each second; it shows as ended meanwhile.
 */
#pragma once

#include <jansson.h>

#include "session.h"
#include "store/history.h"

/* Row, event, and the end of its grants; frees it. */
void session_end(struct session *session, int exit);

/* Ends that couldn't be written, once more; they show as ended meanwhile. */
void sessions_retry_ends(struct broker *broker);
void sessions_forget_ends(struct broker *broker);

/* After a start: rows of sessions whose broker was killed end. Their sandboxes may go on: those
 * whose runners live are away (sandbox.h). */
int sessions_clean_up(struct broker *broker, struct error *error);

/* One page; bounds as history_list. */
int sessions_list(struct broker *broker, const struct history_filter *wanted, bool newest, bool ended_too,
		  int64_t cursor, json_t *items, int64_t *ret_next, struct error *error);
