/*
 * session_tell: what runners are told of their sessions: the view, and what has ended or is denied.
 *
 * Promises: the runner is told of every change of its view and of every grant that ends. A view goes out before
 * whatever follows from it: the verdicts that a new grant gives, the end of a grant. So a runner that has a verdict has
 * seen the view that it rests on. A session whose view can't be made is ended.
 */
#pragma once

#include "session.h"

/* The view as it is now; NULL with the error. *ret_cut: there are more allows than it holds. */
struct view *session_make_view(const struct session *session, bool *ret_cut, struct error *error);

/* Push the view that the session starts with; later the one that holds now, if it is another than before. */
void session_push_first_view(struct session *session);
void session_push_view(struct session *session);
/* Connections are to be judged again, and `kill`: who holds what is taken is ended. */
void session_push_rules_changed(struct session *session, bool kill);

bool session_is_covered(const struct session *session, const struct grant *grant);
/* To every session that these cover: the view, and that they have ended. Those that one of them allowed something are
 * added to `settling`. */
void sessions_tell_ended(struct broker *broker, const struct grant_list *ended, struct settling *settling);
void session_tell_ended(struct session *session, const struct grant_list *ended, struct settling *settling);
/* To every one: look at everything again. */
void sessions_tell_all(struct broker *broker, struct settling *settling);
/* To every one: the machine is about to sleep, or is awake again (then `settling` is NULL). */
void sessions_tell_sleep(struct broker *broker, bool sleeping, struct settling *settling);
/* To a session that it covers: the view, and a denial. Who has to carry it out is added to `settling` (NULL: a denial
 * has one of its own, an allow none). */
void session_tell_new(struct session *session, const struct grant *grant, struct settling *settling);
/* The same to every other than `told` (NULL: to all) that it covers. */
void sessions_tell_new(struct broker *broker, const struct grant *grant, const struct session *told,
		       struct settling *settling);
