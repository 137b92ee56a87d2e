#include "endings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "core/hooks.h"
#include "expiry.h"
#include "grants/granting.h"
#include "policies/policies.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "sessions/sandbox.h"
#include "sessions/session.h"
#include "sessions/session_tell.h"
#include "sessions/spent.h"
#include "wire/client.h"

/* Of those that can't be written so many are kept. */
enum { STUCK_MAX = 256, RETRY_SECONDS = 1 };

struct ending {
	TAILQ_ENTRY(ending) link;
	struct grant_mass mass;
	char *profile;
	int64_t *ids;
	int64_t intent; /* its row in `revocations`; 0: none */
	bool stuck;     /* the last try to write has failed */
	enum event_kind kind;
	const char *why;
	struct settling_request request; /* client borrowed, or NULL */
	bool at_once;
	int64_t cursor;
	struct revoked revoked;
	struct settling *settling; /* of the sandboxes that were told; NULL: none was */
};
TAILQ_HEAD(ending_list, ending);

struct endings {
	struct broker *broker;
	struct ending_list list;
	struct event *turn; /* the next page's */
};

static bool array_has(const json_t *array, int64_t id) {
	for (size_t i = 0; i < json_array_size(array); i++)
		if (json_integer_value(json_array_get(array, i)) == id) return true;
	return false;
}

static bool covers_any(const struct session *session, const struct grant_list *list) {
	for (size_t i = 0; i < list->count; i++)
		if (session_is_covered(session, &list->items[i])) return true;
	return false;
}

/* A grant of a variable that a tool was started with: no process forgets it. */
static bool knows(const struct session *session, const struct grant *grant) {
	if (grant->permission.kind != PERMISSION_ENV_READ || grant->effect != EFFECT_ALLOW ||
	    !session_is_covered(session, grant))
		return false;
	const struct pattern_scope scope = policies_scope(session->broker->policies, session->root);
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	if (pattern_compile(&grant->permission, grant->pattern, &scope, &pattern, NULL) < 0) return false;
	for (size_t i = 0; i < session->given.count; i++)
		if (pattern_match(pattern, session->given.items[i], NULL)) return true;
	return false;
}

static bool knows_any(const struct session *session, const struct grant_list *list) {
	for (size_t i = 0; i < list->count; i++)
		if (knows(session, &list->items[i])) return true;
	return false;
}

static void revoked_start(struct revoked *revoked) {
	if (revoked->ids) return;
	*revoked = (struct revoked){.ids = json_array(),
				    .sessions = json_array(),
				    .lifted = json_array(),
				    .knowing = json_array(),
				    .spent = json_array(),
				    .spent_open = json_array()};
}

static void add_sessions(struct revoked *revoked, const struct broker *broker, const struct grant_list *list) {
	const struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		if (!array_has(revoked->sessions, session->record.id) && covers_any(session, list))
			json_array_append_new(revoked->sessions, json_integer(session->record.id));
	}
}

static void add_id(json_t *ids, const struct grant *grant) {
	if (json_array_size(ids) < REVOKED_LIFTED_MAX) json_array_append_new(ids, json_integer(grant->id));
}

void revoked_add_spent(struct revoked *revoked, const struct broker *broker, const struct grant_list *list) {
	revoked_start(revoked);
	for (size_t i = 0; i < list->count; i++) {
		const bool connects = permission_connects(&list->items[i].permission);
		add_id(connects ? revoked->spent : revoked->spent_open, &list->items[i]);
	}
	add_sessions(revoked, broker, list);
}

void revoked_add_ended(struct revoked *revoked, const struct broker *broker, const struct grant_list *list) {
	revoked_start(revoked);
	for (size_t i = 0; i < list->count; i++)
		if (spent_goes_on(broker, &list->items[i])) add_id(revoked->spent_open, &list->items[i]);
}

void revoked_add(struct revoked *revoked, const struct broker *broker, const struct grant_list *list) {
	const struct session *session;
	revoked_start(revoked);
	revoked->count += list->count;
	for (size_t i = 0; i < list->count && json_array_size(revoked->ids) < REVOKED_IDS_MAX; i++) {
		const struct grant *grant = &list->items[i];
		json_array_append_new(revoked->ids, json_integer(grant->id));
		if (grant->effect == EFFECT_DENY && json_array_size(revoked->lifted) < REVOKED_LIFTED_MAX)
			json_array_append_new(revoked->lifted, json_integer(grant->id));
	}
	add_sessions(revoked, broker, list);
	TAILQ_FOREACH(session, &broker->sessions, link) {
		if (!array_has(revoked->knowing, session->record.id) && knows_any(session, list))
			json_array_append_new(revoked->knowing, json_integer(session->record.id));
	}
}

static size_t count_knowing(const struct broker *broker, const struct revoked *revoked) {
	size_t count = 0;
	for (size_t i = 0; i < json_array_size(revoked->knowing); i++) {
		const struct session *session =
			session_find(broker, json_integer_value(json_array_get(revoked->knowing, i)));
		if (session) count += sandbox_processes(session->sandbox);
	}
	return count;
}

json_t *revoked_reply(const struct broker *broker, struct revoked *revoked) {
	json_t *reply = json_object();
	json_object_set_new(reply, "revoked", revoked->ids ? revoked->ids : json_array());
	json_object_set_new(reply, "sessions", revoked->sessions ? revoked->sessions : json_array());
	json_object_set_new(reply, "lifted", revoked->lifted ? revoked->lifted : json_array());
	json_object_set_new(reply, "spent", revoked->spent ? revoked->spent : json_array());
	json_object_set_new(reply, "spent_open", revoked->spent_open ? revoked->spent_open : json_array());
	json_object_set_new(reply, "count", json_integer((json_int_t)revoked->count));
	json_object_set_new(reply, "away", json_integer((json_int_t)sandboxes_away(broker)));
	json_object_set_new(reply, "known", json_integer((json_int_t)count_knowing(broker, revoked)));
	json_decref(revoked->knowing);
	*revoked = (struct revoked){0};
	return reply;
}

static void revoked_finish(struct revoked *revoked) {
	json_decref(revoked->ids);
	json_decref(revoked->sessions);
	json_decref(revoked->lifted);
	json_decref(revoked->knowing);
	json_decref(revoked->spent);
	json_decref(revoked->spent_open);
	*revoked = (struct revoked){0};
}

static void ending_finish(struct broker *broker, struct ending *ending) {
	TAILQ_REMOVE(&broker->endings->list, ending, link);
	grants_mass_end(broker->grants, &ending->mass);
	if (ending->settling) settling_then(ending->settling, NULL, NULL);
	revoked_finish(&ending->revoked);
	free(ending->profile);
	free(ending->ids);
	free(ending);
}

/* What is ended in many transactions is known by one row from the first to the last of them. */
static const char *const intents[] = {
	[GRANT_MASS_ALLOWS] = "all", [GRANT_MASS_PROFILE] = "profile", [GRANT_MASS_SESSION] = "session"};

static int write_intent(struct store *store, const struct ending *ending, int64_t *ret_id, struct error *error) {
	sqlite3_stmt *insert = store_statement(store, STORE_REVOCATION_INSERT);
	store_bind_text(insert, 1, intents[ending->mass.what]);
	store_bind_text(insert, 2, ending->profile ? ending->profile : "");
	store_bind_integer(insert, 3, ending->mass.session);
	store_bind_integer(insert, 4, ending->mass.last);
	store_bind_text(insert, 5, "cli");
	int r = store_run(store, insert, error, "recording a revocation");
	if (r == 0) *ret_id = store_last_id(store);
	return r;
}

static int remove_intent(struct store *store, int64_t id, struct error *error) {
	sqlite3_stmt *remove = store_statement(store, STORE_REVOCATION_DELETE);
	store_bind_integer(remove, 1, id);
	return store_run(store, remove, error, "recording a revocation");
}

/* Within a page's transaction. */
static int keep_intent(struct broker *broker, const struct ending *ending, bool more, int64_t *ret_id,
		       struct error *error) {
	*ret_id = ending->intent;
	if (!more && ending->intent != 0) {
		*ret_id = 0;
		return remove_intent(broker->store, ending->intent, error);
	}
	bool kept = ending->kind == EVENT_REVOKE && ending->mass.what != GRANT_MASS_LISTED;
	return more && kept && ending->intent == 0 ? write_intent(broker->store, ending, ret_id, error) : 0;
}

static int write_page(struct broker *broker, struct ending *ending, const struct grant_list *list, bool more,
		      struct error *error) {
	bool revoked = ending->kind == EVENT_REVOKE;
	int64_t intent = ending->intent;
	int r = broker_begin(broker, revoked ? STORE_FULL : STORE_NORMAL, error);
	if (r < 0) return r;
	for (size_t i = 0; r == 0 && i < list->count; i++) {
		r = revoked ? grants_revoke(broker->grants, list->items[i].id, "cli", error)
			    : grants_end(broker->grants, list->items[i].id, error);
		if (r == 0) r = granting_record_end(broker, ending->kind, &list->items[i], ending->why, error);
	}
	if (r == 0) r = keep_intent(broker, ending, more, &intent, error);
	if (r < 0) {
		broker_rollback(broker);
		return r;
	}
	r = broker_commit(broker, error);
	if (r == 0) ending->intent = intent;
	return r;
}

/* 1: more are left. After an error it is the same page's turn again. */
static int end_page(struct broker *broker, struct ending *ending, struct grant_list *list, struct error *error) {
	int64_t cursor = ending->cursor;
	int r = grants_mass_page(broker->grants, &ending->mass, &cursor, list, error);
	bool more = cursor != 0;
	if (r == 0 && (list->count > 0 || (!more && ending->intent != 0)))
		r = write_page(broker, ending, list, more, error);
	ending->stuck = r < 0;
	if (r < 0) return r;
	ending->cursor = cursor;
	revoked_add(&ending->revoked, broker, list);
	return more;
}

/* A denial that is gone may let a waiting one through. A session's end is no news to anybody else. */
static void settle(struct broker *broker, enum event_kind kind) {
	if (kind != EVENT_REVOKE) return;
	expiry_sweep(broker);
	broker->hooks->denials_changed(broker);
}

/* All is written; the sandboxes may have to let go yet. */
static void reply(struct broker *broker, struct ending *ending) {
	if (ending->settling)
		settling_reply_when(STEAL(ending->settling), &ending->request, ending->at_once,
				    revoked_reply(broker, &ending->revoked));
}

/* It stays as it is, and its next turn is in a second. */
static void explain_stuck(const struct ending *ending, struct error *error) {
	if (ending->intent != 0)
		error_prefix(error,
			     "%zu grants are written down as revoked; the others count no more either, and are "
			     "written down as soon as that is possible",
			     ending->revoked.count);
	else
		error_prefix(error,
			     "what was revoked counts no more from now on, but that can't be written down; it is "
			     "tried again each second, and if sbxd ends before, it is in force again");
}

static void report_stuck(struct ending *ending, const struct error *cause) {
	struct error error = *cause;
	explain_stuck(ending, &error);
	log_error("ending grants: %s", error.message);
	if (ending->request.client) client_reply_error(ending->request.client, ending->request.id, &error);
	ending->request.client = NULL;
}

static void schedule(struct endings *endings) {
	const struct ending *first = TAILQ_FIRST(&endings->list);
	/* The analyzer does not follow TAILQ_REMOVE. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	const struct timeval pause = {.tv_sec = first && first->stuck ? RETRY_SECONDS : 0};
	if (first) evtimer_add(endings->turn, &pause);
}

static void take_turn(struct endings *endings) {
	struct broker *broker = endings->broker;
	struct ending *ending = TAILQ_FIRST(&endings->list);
	CLEANUP_GRANT_LIST struct grant_list list = {0};
	struct error error = ERROR_NONE;
	bool stuck = ending->stuck;
	int r = end_page(broker, ending, &list, &error);
	if (r < 0 && !stuck) report_stuck(ending, &error);
	if (r == 0) {
		enum event_kind kind = ending->kind;
		reply(broker, ending);
		ending_finish(broker, ending);
		settle(broker, kind);
	}
	schedule(endings);
}

static void on_turn(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	take_turn(argument);
}

struct endings *endings_new(struct broker *broker) {
	struct endings *endings = mem_new(struct endings);
	endings->broker = broker;
	TAILQ_INIT(&endings->list);
	endings->turn = evtimer_new(broker->base, on_turn, endings);
	if (!endings->turn) mem_exhausted();
	return endings;
}

void endings_free(struct endings *endings) {
	if (!endings) return;
	for (struct ending *ending = TAILQ_FIRST(&endings->list), *next; ending; ending = next) {
		next = TAILQ_NEXT(ending, link);
		ending_finish(endings->broker, ending);
	}
	event_free(endings->turn);
	free(endings);
}

static struct ending *ending_new(struct broker *broker, const struct ending_wish *wish, int64_t last) {
	struct ending *ending = mem_new(struct ending);
	ending->mass = wish->mass;
	ending->mass.last = last;
	if (wish->mass.profile) ending->mass.profile = ending->profile = string_copy(wish->mass.profile);
	for (size_t i = 0; i < wish->mass.id_count; i++) {
		ending->ids = array_grow(ending->ids, i, sizeof *ending->ids);
		ending->ids[i] = wish->mass.ids[i];
	}
	ending->mass.ids = ending->ids;
	ending->kind = wish->kind;
	ending->why = wish->why;
	ending->request = wish->request;
	ending->at_once = wish->at_once;
	TAILQ_INSERT_TAIL(&broker->endings->list, ending, link);
	grants_mass_begin(broker->grants, &ending->mass);
	return ending;
}

/* Every lookup asks each of them. */
static bool has_room(const struct endings *endings) {
	const struct ending *ending;
	int stuck = 0;
	TAILQ_FOREACH(ending, &endings->list, link) {
		stuck += ending->stuck;
	}
	return stuck < STUCK_MAX;
}

/* What couldn't be written: it holds in memory, where there is room for it. */
static void start_stuck(struct broker *broker, struct ending *ending, struct error *error) {
	bool kept = has_room(broker->endings);
	if (kept) {
		ending->request.client = NULL; /* it gets the error */
		explain_stuck(ending, error);
		schedule(broker->endings);
	} else {
		ending_finish(broker, ending);
	}
}

/* `ended`: the grants that sandboxes are told of by their ids; `all`: there are no others. NULL when nobody is told. */
static struct settling *tell(struct broker *broker, const struct ending_wish *wish, const struct grant_list *ended,
			     bool all) {
	if (wish->kind != EVENT_REVOKE) return NULL;
	const struct settling_wish told = {.kind = EVENT_REVOKE,
					   .kill = wish->kill,
					   .grant = all && ended->count == 1 ? &ended->items[0] : NULL,
					   .grants = all && ended->count > 1 ? ended : NULL};
	struct settling *settling = settling_new(broker, &told);
	sessions_tell_ended(broker, ended, all ? settling : NULL);
	if (!all) sessions_tell_all(broker, settling);
	return settling;
}

/* What was used up before is told of whether that can be written or not. */
static void add_spent(struct broker *broker, struct ending *ending, struct grant_list *told) {
	CLEANUP_GRANT_LIST struct grant_list spent = {0};
	struct error error = ERROR_NONE;
	if (ending->kind != EVENT_REVOKE) return;
	int r = spent_of_mass(broker, &ending->mass, &spent, &error);
	if (r == 0) r = granting_revoke(broker, &spent, ending->why, &error);
	if (r < 0) log_error("revoking what was used up: %s", error.message);
	revoked_add_spent(&ending->revoked, broker, &spent);
	spent_take(broker, &spent, told);
}

int endings_start(struct broker *broker, const struct ending_wish *wish, struct error *error) {
	int64_t last = 0;
	CLEANUP_GRANT_LIST struct grant_list list = {0}, spent = {0};
	int r = grants_last_id(broker->grants, &last, error);
	if (r < 0) return r;
	struct ending *ending = ending_new(broker, wish, last);
	r = end_page(broker, ending, &list, error);
	add_spent(broker, ending, r == 0 ? &list : &spent);
	if (r < 0) start_stuck(broker, ending, error);
	struct settling *settling = tell(broker, wish, r == 0 ? &list : &spent, r == 0);
	if (r >= 0)
		ending->settling = settling;
	else if (settling)
		settling_then(settling, NULL, NULL);
	if (r == 0) reply(broker, ending);
	if (r == 0) ending_finish(broker, ending);
	if (r > 0) schedule(broker->endings);
	settle(broker, wish->kind);
	return r < 0 ? r : 0;
}

static const char session_ended[] = "its session ended";

void endings_of_session(struct session *session) {
	struct error error = ERROR_NONE;
	const struct ending_wish grants = {.mass = {.what = GRANT_MASS_SESSION, .session = session->record.id},
					   .kind = EVENT_EXPIRE,
					   .why = session_ended};
	if (endings_start(session->broker, &grants, &error) < 0)
		log_error("ending a session's grants: %s", error.message);
}

int endings_of_former_sessions(struct broker *broker, struct error *error) {
	static const struct ending_wish grants = {
		.mass = {.what = GRANT_MASS_SESSIONS}, .kind = EVENT_EXPIRE, .why = session_ended};
	return endings_start(broker, &grants, error);
}

static int resume_one(struct broker *broker, sqlite3_stmt *row, struct error *error) {
	const char *what = store_column(row, 1);
	struct ending_wish wish = {.kind = EVENT_REVOKE};
	for (size_t i = 0; i < ARRAY_LENGTH(intents); i++) {
		if (!string_equal(what, intents[i])) continue;
		wish.mass =
			(struct grant_mass){.what = (enum grant_mass_kind)i, .session = sqlite3_column_int64(row, 3)};
		wish.why = intents[i];
	}
	if (!wish.why) return error_set(error, EUCLEAN, "a revocation in the database is of no known kind");
	if (wish.mass.what == GRANT_MASS_PROFILE) wish.mass.profile = store_column(row, 2);
	ending_new(broker, &wish, sqlite3_column_int64(row, 4))->intent = sqlite3_column_int64(row, 0);
	return 0;
}

int endings_resume(struct broker *broker, struct error *error) {
	sqlite3_stmt *rows = store_statement(broker->store, STORE_REVOCATION_LIST);
	int step = SQLITE_ROW, r = 0;
	while (r == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW) r = resume_one(broker, rows, error);
	if (r == 0 && step != SQLITE_DONE) r = store_error(broker->store, error, "reading the revocations");
	sqlite3_reset(rows);
	schedule(broker->endings);
	return r;
}

bool endings_are_unwritten(const struct broker *broker) {
	const struct ending *ending;
	TAILQ_FOREACH(ending, &broker->endings->list, link) {
		if (ending->kind == EVENT_REVOKE && ending->intent == 0) return true;
	}
	return false;
}

void endings_forget_client(struct broker *broker, const struct client *client) {
	struct ending *ending;
	TAILQ_FOREACH(ending, &broker->endings->list, link) {
		if (ending->request.client == client) ending->request.client = NULL;
	}
}
