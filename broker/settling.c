#include "settling.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "broker.h"
#include "client.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "session.h"

enum { DETAIL_BYTES = 4096 }; /* of what is held, in a row of the history */

struct settling {
	TAILQ_ENTRY(settling) link;
	struct broker *broker;
	enum event_kind kind;
	struct grant grant; /* id 0: not one alone */
	bool kill, unrecorded;
	int64_t number;
	int64_t *sessions; /* that have not answered */
	size_t session_count;
	json_t *holders;   /* as the reply has them */
	json_t *unsettled; /* ids of sessions whose time is over */
	int64_t more, killed;
	bool over;  /* the time is */
	bool given; /* what follows is known */
	struct client *client;
	int64_t id;
	json_t *reply;
	void (*done)(void *argument);
	void *argument;
	struct event *deadline;
};

static void settling_free(struct settling *settling) {
	TAILQ_REMOVE(&settling->broker->settlings, settling, link);
	event_free(settling->deadline);
	grant_finish(&settling->grant);
	json_decref(settling->holders);
	json_decref(settling->unsettled);
	json_decref(settling->reply);
	free(settling->sessions);
	free(settling);
}

static size_t json_bytes(const json_t *json) {
	return json_dumpb(json, NULL, 0, JSON_COMPACT);
}

/* The first of them that `most` bytes have room for; *ret_more counts the others. */
static json_t *first_of(const json_t *list, size_t most, int64_t *ret_more) {
	json_t *first = json_array(), *item;
	size_t bytes = 0, index;
	json_array_foreach ((json_t *)list, index, item) {
		bytes += json_bytes(item) + 1;
		if (bytes <= most)
			json_array_append(first, item);
		else
			(*ret_more)++;
	}
	return first;
}

static void send_reply(struct settling *settling) {
	json_t *reply = STEAL(settling->reply);
	int64_t more = settling->more;
	size_t room = LIMIT_PAGE_BYTES;
	json_object_set(reply, "unsettled", settling->unsettled);
	json_object_set_new(reply, "killed", json_integer(settling->killed));
	size_t used = json_bytes(reply);
	json_object_set_new(reply, "holders", first_of(settling->holders, used < room ? room - used : 0, &more));
	json_object_set_new(reply, "more", json_integer(more));
	client_reply(settling->client, "revoke", settling->id, reply);
}

/* Is it known what is held, and who wants to know? */
static void consider(struct settling *settling) {
	if (!settling->given || (settling->session_count > 0 && !settling->over)) return;
	if (settling->client) send_reply(settling);
	void (*done)(void *argument) = settling->done;
	void *argument = settling->argument;
	settling_free(settling);
	if (done) done(argument);
}

static void on_deadline(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct settling *settling = argument;
	settling->over = true;
	for (size_t i = 0; i < settling->session_count; i++) {
		struct session *session = session_find(settling->broker, settling->sessions[i]);
		json_array_append_new(settling->unsettled, json_integer(settling->sessions[i]));
		if (settling->kill && session) session_terminate(session);
	}
	consider(settling);
}

struct settling *settling_new(struct broker *broker, const struct settling_wish *wish) {
	const struct timeval wait = clock_timeval(LIMIT_SETTLE_MS);
	struct settling *settling = mem_new(struct settling);
	settling->broker = broker;
	settling->kind = wish->kind;
	settling->kill = wish->kill;
	settling->unrecorded = wish->unrecorded;
	settling->number = ++broker->last_settling;
	settling->holders = json_array();
	settling->unsettled = json_array();
	if (wish->grant) grant_copy(&settling->grant, wish->grant);
	settling->deadline = evtimer_new(broker->base, on_deadline, settling);
	if (!settling->deadline) mem_exhausted();
	event_add(settling->deadline, &wait);
	TAILQ_INSERT_TAIL(&broker->settlings, settling, link);
	return settling;
}

int64_t settling_add(struct settling *settling, const struct session *session) {
	settling->sessions = array_grow(settling->sessions, settling->session_count, sizeof *settling->sessions);
	settling->sessions[settling->session_count++] = session->record.id;
	return settling->number;
}

bool settling_kills(const struct settling *settling) {
	return settling->kill;
}

void settling_reply(struct settling *settling, struct client *client, int64_t id, json_t *reply) {
	settling->client = client;
	settling->id = id;
	settling->reply = reply;
	settling->given = true;
	consider(settling);
}

void settling_then(struct settling *settling, void (*done)(void *argument), void *argument) {
	settling->done = done;
	settling->argument = argument;
	settling->given = true;
	consider(settling);
}

/* Answers */

static bool strike_out(struct settling *settling, int64_t session) {
	for (size_t i = 0; i < settling->session_count; i++) {
		if (settling->sessions[i] != session) continue;
		settling->sessions[i] = settling->sessions[--settling->session_count];
		return true;
	}
	return false;
}

static json_t *holders_to_json(const struct settling_holder *holders, size_t count) {
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *item = json_object();
		json_object_set_new(item, "pid", json_integer(holders[i].pid));
		json_object_set_new(item, "command", message_bytes(holders[i].command));
		json_object_set_new(item, "path", message_bytes(holders[i].path));
		json_array_append_new(list, item);
	}
	return list;
}

/* What ended has its row; this one says that it goes on. */
static void note(const struct settling *settling, const struct session *session, const json_t *holders,
		 int64_t killed) {
	if (settling->unrecorded || (json_array_size(holders) == 0 && killed == 0)) return;
	const struct grant *grant = &settling->grant;
	int64_t more = 0;
	/* Borrowed: broker_note frees only the detail. */
	struct event event = {
		.kind = settling->kind,
		.session = session->record.id,
		.profile = session->subject.profile,
		.project = session->subject.project,
		.permission = grant->id ? (char *)grant->permission.name : NULL,
		.target = grant->pattern,
		.verdict = -1,
		.why = (char *)(json_array_size(holders) > 0 ? "it is still held open" : "what held it open was ended"),
		.grant = grant->id,
		.detail = json_object()};
	json_object_set_new(event.detail, "holders", first_of(holders, DETAIL_BYTES, &more));
	json_object_set_new(event.detail, "more", json_integer(more));
	json_object_set_new(event.detail, "killed", json_integer(killed));
	struct error error = ERROR_NONE;
	if (broker_note(settling->broker, &event, &error) < 0) log_error("recording what is held: %s", error.message);
}

static void keep(struct settling *settling, const struct session *session, json_t *holders, int64_t killed) {
	size_t index;
	json_t *item;
	settling->killed += killed;
	json_array_foreach (holders, index, item) {
		if (json_array_size(settling->holders) == LIMIT_PAGE) {
			settling->more++;
			continue;
		}
		json_object_set_new(item, "session", json_integer(session->record.id));
		json_array_append(settling->holders, item);
	}
}

void settling_settled(const struct session *session, int64_t number, const struct settling_holder *holders,
		      size_t count, int64_t killed) {
	struct settling *settling;
	TAILQ_FOREACH(settling, &session->broker->settlings, link) {
		if (settling->number == number) break;
	}
	if (!settling || settling->over || !strike_out(settling, session->record.id)) return;
	json_t *list = holders_to_json(holders, count);
	note(settling, session, list, killed);
	keep(settling, session, list, killed);
	json_decref(list);
	consider(settling);
}

/* Whoever has gone holds nothing, and waits for nothing. */

void settlings_forget_session(struct broker *broker, const struct session *session) {
	for (struct settling *settling = TAILQ_FIRST(&broker->settlings), *next; settling; settling = next) {
		next = TAILQ_NEXT(settling, link);
		if (strike_out(settling, session->record.id)) consider(settling);
	}
}

void settlings_forget_client(struct broker *broker, const struct client *client) {
	struct settling *settling;
	TAILQ_FOREACH(settling, &broker->settlings, link) {
		if (settling->client == client) settling->client = NULL;
	}
}

void settlings_free(struct broker *broker) {
	for (struct settling *settling = TAILQ_FIRST(&broker->settlings), *next; settling; settling = next) {
		next = TAILQ_NEXT(settling, link);
		settling_free(settling);
	}
}
