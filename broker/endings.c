#include "endings.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "client.h"
#include "expiry.h"
#include "granting.h"
#include "prompts.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "session.h"

struct ending {
	TAILQ_ENTRY(ending) link;
	struct grant_mass mass;
	char *profile;
	enum event_kind kind;
	const char *why;
	struct client *client; /* borrowed, or NULL */
	int64_t id;
	int64_t cursor;
	struct revoked revoked;
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

void revoked_add(struct revoked *revoked, const struct broker *broker, const struct grant_list *list) {
	const struct session *session;
	if (!revoked->ids) *revoked = (struct revoked){.ids = json_array(), .sessions = json_array()};
	revoked->count += list->count;
	for (size_t i = 0; i < list->count && json_array_size(revoked->ids) < REVOKED_IDS_MAX; i++)
		json_array_append_new(revoked->ids, json_integer(list->items[i].id));
	TAILQ_FOREACH(session, &broker->sessions, link) {
		if (!array_has(revoked->sessions, session->record.id) && covers_any(session, list))
			json_array_append_new(revoked->sessions, json_integer(session->record.id));
	}
}

json_t *revoked_reply(struct revoked *revoked) {
	json_t *reply = json_object();
	json_object_set_new(reply, "revoked", revoked->ids ? revoked->ids : json_array());
	json_object_set_new(reply, "sessions", revoked->sessions ? revoked->sessions : json_array());
	json_object_set_new(reply, "count", json_integer((json_int_t)revoked->count));
	*revoked = (struct revoked){0};
	return reply;
}

void revoked_finish(struct revoked *revoked) {
	json_decref(revoked->ids);
	json_decref(revoked->sessions);
	*revoked = (struct revoked){0};
}

static void ending_finish(struct broker *broker, struct ending *ending) {
	TAILQ_REMOVE(&broker->endings->list, ending, link);
	grants_mass_end(broker->grants, &ending->mass);
	revoked_finish(&ending->revoked);
	free(ending->profile);
	free(ending);
}

static int write_page(struct broker *broker, const struct ending *ending, const struct grant_list *list,
		      struct error *error) {
	bool revoked = ending->kind == EVENT_REVOKE;
	int r = broker_begin(broker, revoked ? STORE_FULL : STORE_NORMAL, error);
	if (r < 0) return r;
	for (size_t i = 0; r == 0 && i < list->count; i++) {
		r = revoked ? grants_revoke(broker->grants, list->items[i].id, "cli", error)
			    : grants_end(broker->grants, list->items[i].id, error);
		if (r == 0) r = granting_record_end(broker, ending->kind, &list->items[i], ending->why, error);
	}
	if (r == 0) return broker_commit(broker, error);
	broker_rollback(broker);
	return r;
}

/* 1: more are left. */
static int end_page(struct broker *broker, struct ending *ending, struct grant_list *list, struct error *error) {
	int r = grants_mass_page(broker->grants, &ending->mass, &ending->cursor, list, error);
	if (r == 0 && list->count > 0) r = write_page(broker, ending, list, error);
	if (r < 0) return r;
	revoked_add(&ending->revoked, broker, list);
	return ending->cursor != 0;
}

/* A denial that is gone may let a waiting one through. A session's end is no news to anybody else. */
static void settle(struct broker *broker, enum event_kind kind) {
	if (kind != EVENT_REVOKE) return;
	expiry_sweep(broker);
	prompts_recheck(broker);
}

static void reply(struct ending *ending) {
	if (ending->client) client_reply(ending->client, "revoke", ending->id, revoked_reply(&ending->revoked));
}

static void fail(const struct ending *ending, const struct error *cause) {
	struct error error = *cause;
	error_prefix(&error, "%zu grants are revoked, the others are in force again", ending->revoked.count);
	log_error("ending grants: %s", error.message);
	if (ending->client) client_reply_error(ending->client, ending->id, &error);
}

static void take_turn(struct endings *endings) {
	static const struct timeval at_once = {0};
	struct broker *broker = endings->broker;
	struct ending *ending = TAILQ_FIRST(&endings->list);
	CLEANUP_GRANT_LIST struct grant_list list = {0};
	struct error error = ERROR_NONE;
	int r = end_page(broker, ending, &list, &error);
	if (r <= 0) {
		if (r < 0) fail(ending, &error);
		if (r == 0) reply(ending);
		enum event_kind kind = ending->kind;
		ending_finish(broker, ending);
		settle(broker, kind);
		if (r < 0) sessions_tell_all(broker);
	}
	if (!TAILQ_EMPTY(&endings->list)) evtimer_add(endings->turn, &at_once);
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
	ending->kind = wish->kind;
	ending->why = wish->why;
	ending->client = wish->client;
	ending->id = wish->id;
	TAILQ_INSERT_TAIL(&broker->endings->list, ending, link);
	grants_mass_begin(broker->grants, &ending->mass);
	return ending;
}

int endings_start(struct broker *broker, const struct ending_wish *wish, struct error *error) {
	static const struct timeval at_once = {0};
	int64_t last = 0;
	CLEANUP_GRANT_LIST struct grant_list list = {0};
	int r = grants_last_id(broker->grants, &last, error);
	if (r < 0) return r;
	struct ending *ending = ending_new(broker, wish, last);
	r = end_page(broker, ending, &list, error);
	if (r == 0) reply(ending);
	if (r <= 0) ending_finish(broker, ending);
	if (r < 0) return r;
	if (r > 0) evtimer_add(broker->endings->turn, &at_once);
	if (wish->kind != EVENT_REVOKE) return 0;
	if (r > 0)
		sessions_tell_all(broker);
	else
		sessions_tell_ended(broker, &list);
	settle(broker, wish->kind);
	return 0;
}

void endings_forget_client(struct broker *broker, const struct client *client) {
	struct ending *ending;
	TAILQ_FOREACH(ending, &broker->endings->list, link) {
		if (ending->client == client) ending->client = NULL;
	}
}
