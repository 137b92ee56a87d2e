#include "session_tell.h"

#include "base/log.h"
#include "policies/decision.h"
#include "sandbox.h"
#include "schema/message.h"
#include "session_terminate.h"
#include "settling.h"
#include "wire/client.h"

enum { ENDED_IDS_MAX = 2000 /* ids in one push: 20 digits each at most */ };

/* The view */

struct view *session_make_view(const struct session *session, bool *ret_cut, struct error *error) {
	CLEANUP_GRANT_LIST struct grant_list grants = {0};
	struct broker *broker = session->broker;
	if (grants_of_subject(broker->grants, &session->subject, session->record.id, &grants, ret_cut, error) < 0)
		return NULL;
	struct decision_finder finder;
	struct stack_context context = decision_context(broker, session->ruleset, &finder);
	struct view *view = view_build(&context, &session->subject, session->record.id, grants.items, grants.count,
				       &session->environment);
	if (session->offline) view->network = VIEW_NETWORK_NONE;
	for (size_t i = 0; i < session->roots.count; i++) strings_add(&view->roots, session->roots.items[i]);
	return view;
}

static void push_parts(struct session *session, const json_t *parts) {
	size_t index;
	json_t *part;
	json_array_foreach (parts, index, part) {
		json_t *push = json_copy(part);
		json_object_set_new(push, "session", json_integer(session->record.id));
		client_push(session->client, "view", push);
	}
}

void session_push_first_view(struct session *session) {
	json_t *parts = view_to_parts(session->view);
	push_parts(session, parts);
	json_decref(parts);
}

/* What is another than the runner knows; takes the view. False: nothing is. */
static bool push_changes(struct session *session, struct view *view) {
	json_t *parts = view_changes(session->view, view);
	const bool any = json_array_size(parts) > 0;
	push_parts(session, parts);
	json_decref(parts);
	view_free(session->view);
	session->view = view;
	return any;
}

static bool push_view(struct session *session) {
	struct error error = ERROR_NONE;
	struct view *view = session_make_view(session, &session->view_is_cut, &error);
	if (!view) {
		/* What it may no longer do can't be told: then it must end. */
		log_error("session %lld is ended, its view can't be made: %s", (long long)session->record.id,
			  error.message);
		session_terminate(session);
		return true;
	}
	return push_changes(session, view);
}

void session_push_view(struct session *session) {
	push_view(session);
}

/* With a grant more; mostly its path alone has to be looked at. False: the view is the same. */
static bool push_with_grant(struct session *session, const struct grant *grant) {
	struct decision_finder finder;
	struct stack_context context = decision_context(session->broker, session->ruleset, &finder);
	CLEANUP_VIEW struct view *view = view_copy(session->view);
	if (!session->view_is_cut && view_add_grant(view, &context, &session->subject, session->record.id, grant))
		return push_changes(session, STEAL(view));
	return push_view(session);
}

/* Grants */

/* A new one's number in `settling`: the runner is to say when it has let go; NULL: it needn't. */
static json_t *settle_number(const struct session *session, struct settling *settling) {
	return settling ? json_integer(settling_add(settling, session->sandbox)) : json_null();
}

/* Takes both over; `denied`: permission and pattern of what nothing allows any more, or NULL. */
static void push_ended(struct session *session, json_t *ids, json_t *denied, struct settling *settling) {
	json_t *push = json_object();
	json_object_set_new(push, "session", json_integer(session->record.id));
	json_object_set_new(push, "grants", ids);
	if (denied) json_object_set_new(push, "denied", denied);
	json_object_set_new(push, "kill", json_boolean(settling && settling_kills(settling)));
	json_object_set_new(push, "settle", settle_number(session, settling));
	client_push(session->client, "ended", push);
}

/* What the rules take may be held as well as what a grant gave. Those about the network are in no view. */
void session_push_rules_changed(struct session *session, bool kill) {
	const struct settling_wish wish = {.kind = EVENT_POLICY, .kill = kill};
	struct settling *settling = settling_new(session->broker, &wish);
	push_ended(session, json_array(), NULL, settling);
	settling_then(settling, NULL, NULL);
}

bool session_is_covered(const struct session *session, const struct grant *grant) {
	return (grant->session == 0 || grant->session == session->record.id) &&
	       grant_is_for(grant, session->subject.profile, session->subject.project);
}

/* Is a view made of such grants, among others? */
static bool is_in_views(const struct grant *grant) {
	/* a session's own is `sbx publish`, which tells the runner itself */
	if (grant->permission.kind == PERMISSION_NET_LISTEN) return grant->session == 0;
	return grant->lifetime != LIFETIME_ONCE &&
	       (permission_is_of_path(&grant->permission) || grant->permission.kind == PERMISSION_ENV_READ);
}

void session_tell_ended(struct session *session, const struct grant_list *ended, struct settling *settling) {
	size_t left = 0;
	bool allowed = false, shown = false;
	for (size_t i = 0; i < ended->count; i++) {
		if (!session_is_covered(session, &ended->items[i])) continue;
		allowed |= ended->items[i].effect == EFFECT_ALLOW;
		shown |= is_in_views(&ended->items[i]);
		left++;
	}
	if (left == 0) return;
	if (shown) session_push_view(session);
	json_t *ids = json_array();
	for (size_t i = 0; left > 0; i++) {
		if (!session_is_covered(session, &ended->items[i])) continue;
		json_array_append_new(ids, json_integer(ended->items[i].id));
		if (--left == 0 || json_array_size(ids) == ENDED_IDS_MAX) {
			push_ended(session, ids, NULL, left == 0 && allowed ? settling : NULL);
			ids = left > 0 ? json_array() : NULL;
		}
	}
}

void sessions_tell_all(struct broker *broker, struct settling *settling) {
	struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		session_push_view(session);
		push_ended(session, json_array(), NULL, settling);
	}
}

void sessions_tell_ended(struct broker *broker, const struct grant_list *ended, struct settling *settling) {
	struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		session_tell_ended(session, ended, settling);
	}
}

void sessions_tell_sleep(struct broker *broker, bool sleeping, struct settling *settling) {
	struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		json_t *push = json_object();
		json_object_set_new(push, "session", json_integer(session->record.id));
		json_object_set_new(push, "sleeping", json_boolean(sleeping));
		json_object_set_new(push, "settle", settle_number(session, settling));
		client_push(session->client, "sleep", push);
	}
}

static void push_denied(struct session *session, const struct grant *grant, struct settling *settling) {
	json_t *denied = json_array();
	json_array_append_new(denied, json_string(grant->permission.name));
	json_array_append_new(denied, message_bytes(grant->pattern));
	push_ended(session, json_array(), denied, settling);
}

static void tell_denied(struct session *session, const struct grant *grant, struct settling *settling) {
	const struct settling_wish wish = {.kind = EVENT_GRANT, .grant = grant};
	struct settling *own = settling ? NULL : settling_new(session->broker, &wish);
	push_denied(session, grant, own ? own : settling);
	if (own) settling_then(own, NULL, NULL);
}

/* Of what is in a view, the runner says when it has carried that out. One that has not begun, or is stopped, does so
 * before its tool goes on. `same`: the view is as it was. */
static void tell_allowed(struct session *session, const struct grant *grant, bool same, struct settling *settling) {
	const struct sandbox *sandbox = session->sandbox;
	const bool is_carried_out = is_in_views(grant) && grant->permission.kind != PERMISSION_ENV_READ;
	const bool is_awaited = settling && is_carried_out && sandbox->init != 0 && !process_is_halted(sandbox->runner);
	/* A view doesn't say which ports, nor what a grant gives by the pattern of a rule. */
	const bool is_judged_again = same || (grant->permission.kind == PERMISSION_NET_LISTEN && grant->session == 0);
	if (!is_awaited && !is_judged_again) return;
	json_t *push =
		json_pack("{s:I, s:[], s:b, s:b, s:o}", "session", (json_int_t)session->record.id, "grants", "kill",
			  false, "gives", true, "settle", settle_number(session, is_awaited ? settling : NULL));
	client_push(session->client, "ended", push);
}

void session_tell_new(struct session *session, const struct grant *grant, struct settling *settling) {
	if (!session_is_covered(session, grant)) return;
	const bool same = is_in_views(grant) && !push_with_grant(session, grant);
	if (grant->effect == EFFECT_DENY)
		tell_denied(session, grant, settling);
	else
		tell_allowed(session, grant, same, settling);
}

void sessions_tell_new(struct broker *broker, const struct grant *grant, const struct session *told,
		       struct settling *settling) {
	struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		if (session != told) session_tell_new(session, grant, settling);
	}
}
