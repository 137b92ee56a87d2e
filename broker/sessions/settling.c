#include "settling.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "core/broker.h"
#include "sandbox.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "session.h"
#include "store/grant_row.h"
#include "wire/client.h"

enum { DETAIL_BYTES = 4096 }; /* of what is held, in a row of the history */

struct settling {
	TAILQ_ENTRY(settling) link;
	struct broker *broker;
	enum settling_aim aim;
	enum event_kind kind;
	struct grant grant; /* id 0: not one alone */
	json_t *grants;     /* ids of several, or NULL */
	bool kill;
	int64_t number;
	struct sandbox **waiting; /* those that have not answered; borrowed */
	size_t waiting_count, told, confirmed;
	json_t *holders; /* as the reply has them, */
	json_t *ended;   /* likewise, */
	json_t *others;  /* and of the sandboxes those that have not simply confirmed */
	int64_t more, killed;
	bool over;  /* the time of who only asks is */
	bool given; /* what follows is known */
	bool progress;
	struct client *client;
	const char *type; /* of its request */
	int64_t id;
	json_t *reply;
	void (*done)(void *argument);
	void *argument;
	struct event *deadline;
};

static void settling_free(struct settling *settling) {
	TAILQ_REMOVE(&settling->broker->settlings, settling, link);
	if (settling->deadline) event_free(settling->deadline);
	grant_finish(&settling->grant);
	json_decref(settling->grants);
	json_decref(settling->holders);
	json_decref(settling->ended);
	json_decref(settling->others);
	json_decref(settling->reply);
	free(settling->waiting);
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

static void add_other(struct settling *settling, const struct sandbox *sandbox) {
	json_t *item = json_object();
	json_object_set_new(item, "session", json_integer(sandbox->id));
	json_object_set_new(item, "command", message_bytes(sandbox->command));
	json_object_set_new(item, "is", json_string(sandbox_doing(sandbox)));
	json_array_append_new(settling->others, item);
}

static void send_reply(struct settling *settling) {
	json_t *reply = STEAL(settling->reply);
	int64_t more = settling->more, more_others = 0, more_ended = 0;
	size_t room = LIMIT_PAGE_BYTES;
	for (size_t i = 0; i < settling->waiting_count; i++) add_other(settling, settling->waiting[i]);
	json_object_set_new(reply, "told", json_integer((json_int_t)settling->told));
	json_object_set_new(reply, "confirmed", json_integer((json_int_t)settling->confirmed));
	json_object_set_new(reply, "killed", json_integer(settling->killed));
	size_t used = json_bytes(reply);
	room = used < room ? room - used : 0;
	json_object_set_new(reply, "others", first_of(settling->others, room / 3, &more_others));
	json_object_set_new(reply, "ended", first_of(settling->ended, room / 3, &more_ended));
	json_object_set_new(reply, "holders", first_of(settling->holders, room / 3, &more));
	json_object_set_new(reply, "more", json_integer(more));
	client_reply(settling->client, settling->type, settling->id, reply);
}

static bool is_answered(const struct settling *settling) {
	if (settling->over) return true;
	for (size_t i = 0; i < settling->waiting_count; i++)
		if (settling->aim != SETTLING_WITHDRAWS || !sandbox_is_answer(settling->waiting[i])) return false;
	return true;
}

/* Is it known what came of it, and who wants to know? It stays until nobody is waited for. */
static void consider(struct settling *settling) {
	if (!settling->given || !is_answered(settling)) return;
	if (settling->client) send_reply(settling);
	settling->client = NULL;
	void (*done)(void *argument) = STEAL(settling->done);
	void *argument = settling->argument;
	if (settling->waiting_count == 0 || settling->over) settling_free(settling);
	if (done) done(argument);
}

static void on_deadline(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct settling *settling = argument;
	settling->over = true;
	consider(settling);
}

/* A sandbox that is to end is killed after LIMIT_TERMINATE_MS, and mostly dead soon. */
static void set_deadline(struct settling *settling, int64_t wait_ms) {
	const bool ends = settling->aim == SETTLING_ENDS;
	if (wait_ms == 0) wait_ms = LIMIT_SETTLE_MS + (ends ? LIMIT_TERMINATE_MS : 0);
	const struct timeval wait = clock_timeval(wait_ms);
	settling->deadline = evtimer_new(settling->broker->base, on_deadline, settling);
	if (!settling->deadline) mem_exhausted();
	event_add(settling->deadline, &wait);
}

static json_t *ids_of(const struct grant_list *grants) {
	json_t *ids = json_array();
	for (size_t i = 0; i < grants->count && i < LIMIT_PAGE; i++)
		json_array_append_new(ids, json_integer(grants->items[i].id));
	return ids;
}

struct settling *settling_new(struct broker *broker, const struct settling_wish *wish) {
	struct settling *settling = mem_new(struct settling);
	settling->broker = broker;
	settling->aim = wish->aim;
	settling->kind = wish->kind;
	settling->kill = wish->kill;
	settling->number = ++broker->last_settling;
	settling->holders = json_array();
	settling->ended = json_array();
	settling->others = json_array();
	if (wish->grant) grant_copy(&settling->grant, wish->grant);
	if (wish->grants) settling->grants = ids_of(wish->grants);
	if (wish->aim != SETTLING_WITHDRAWS) set_deadline(settling, wish->wait_ms);
	TAILQ_INSERT_TAIL(&broker->settlings, settling, link);
	return settling;
}

int64_t settling_add(struct settling *settling, struct sandbox *sandbox) {
	settling->told++;
	if (sandbox->gone) {
		settling->confirmed++;
		return settling->number;
	}
	settling->waiting = array_grow(settling->waiting, settling->waiting_count, sizeof(struct sandbox *));
	settling->waiting[settling->waiting_count++] = sandbox;
	if (settling->aim == SETTLING_WITHDRAWS) sandbox_await(sandbox, settling->number, settling->kill);
	return settling->number;
}

bool settling_kills(const struct settling *settling) {
	return settling->kill;
}

static void push_progress(const struct settling *settling) {
	if (!settling->progress || !settling->client) return;
	json_t *push = json_object();
	json_object_set_new(push, "request", json_integer(settling->id));
	json_object_set_new(push, "waiting", json_integer((json_int_t)settling->waiting_count));
	json_object_set_new(push, "told", json_integer((json_int_t)settling->told));
	client_push(settling->client, "progress", push);
}

void settling_reply(struct settling *settling, const struct settling_request *request, json_t *reply) {
	settling->client = request->client;
	settling->type = request->type;
	settling->id = request->id;
	settling->progress = request->progress;
	settling->reply = reply;
	settling->given = true;
	if (settling->waiting_count > 0) push_progress(settling);
	consider(settling);
}

void settling_reply_when(struct settling *settling, const struct settling_request *request, bool at_once,
			 json_t *reply) {
	if (!at_once) {
		settling_reply(settling, request, reply);
		return;
	}
	json_object_set_new(reply, "told", json_integer((json_int_t)settling->told));
	if (request->client)
		client_reply(request->client, request->type, request->id, reply);
	else
		json_decref(reply);
	settling_then(settling, NULL, NULL);
}

void settling_then(struct settling *settling, void (*done)(void *argument), void *argument) {
	settling->done = done;
	settling->argument = argument;
	settling->given = true;
	consider(settling);
}

/* Answers */

static bool is_waited_for(const struct settling *settling, const struct sandbox *sandbox) {
	for (size_t i = 0; i < settling->waiting_count; i++)
		if (settling->waiting[i] == sandbox) return true;
	return false;
}

static bool strike_out(struct settling *settling, const struct sandbox *sandbox) {
	for (size_t i = 0; i < settling->waiting_count; i++) {
		if (settling->waiting[i] != sandbox) continue;
		settling->waiting[i] = settling->waiting[--settling->waiting_count];
		return true;
	}
	return false;
}

static struct settling *find(const struct broker *broker, int64_t number) {
	struct settling *settling;
	TAILQ_FOREACH(settling, &broker->settlings, link) {
		if (settling->number == number) return settling;
	}
	return NULL;
}

static json_t *holders_to_json(const struct settling_holders *holders) {
	json_t *list = json_array();
	for (size_t i = 0; i < holders->count; i++) {
		const struct settling_holder *holder = &holders->items[i];
		json_t *item = json_object();
		json_object_set_new(item, "pid", json_integer(holder->pid));
		json_object_set_new(item, "command", message_bytes(holder->command));
		json_object_set_new(item, "path", message_bytes(holder->path));
		json_array_append_new(list, item);
	}
	return list;
}

/* What ended has its row; this one says who goes on with it, and who was ended for it. */
static void note(const struct settling *settling, const struct session *session, const json_t *holders,
		 const json_t *ended, int64_t killed) {
	if (settling->aim == SETTLING_ASKS || (json_array_size(holders) == 0 && killed == 0)) return;
	const struct grant *grant = &settling->grant;
	int64_t more = 0, more_ended = 0;
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
	if (settling->grants) json_object_set(event.detail, "grants", settling->grants);
	json_object_set_new(event.detail, "holders", first_of(holders, DETAIL_BYTES / 2, &more));
	json_object_set_new(event.detail, "more", json_integer(more));
	json_object_set_new(event.detail, "ended", first_of(ended, DETAIL_BYTES / 2, &more_ended));
	json_object_set_new(event.detail, "killed", json_integer(killed));
	struct error error = ERROR_NONE;
	if (broker_note(settling->broker, &event, &error) < 0) log_error("recording what is held: %s", error.message);
}

/* Into `list`; how many had no room. */
static int64_t keep(json_t *list, const struct session *session, json_t *holders) {
	int64_t more = 0;
	size_t index;
	json_t *item;
	json_array_foreach (holders, index, item) {
		if (json_array_size(list) == LIMIT_PAGE) {
			more++;
			continue;
		}
		json_object_set_new(item, "session", json_integer(session->record.id));
		json_array_append(list, item);
	}
	return more;
}

static void take_answer(struct settling *settling, const struct session *session,
			const struct settling_answer *answer) {
	json_t *left = holders_to_json(&answer->left), *ended = holders_to_json(&answer->ended);
	note(settling, session, left, ended, answer->killed);
	settling->more += keep(settling->holders, session, left);
	keep(settling->ended, session, ended);
	settling->killed += answer->killed;
	json_decref(left);
	json_decref(ended);
}

void settling_settled(const struct session *session, int64_t number, const struct settling_answer *answer) {
	struct sandbox *sandbox = session->sandbox;
	struct settling *settling = find(session->broker, number);
	if (settling && is_waited_for(settling, sandbox)) take_answer(settling, session, answer);
	if (settling && settling->aim == SETTLING_ASKS)
		settlings_confirm(session->broker, sandbox, number);
	else
		sandbox_confirm(sandbox, number);
}

void settlings_confirm(struct broker *broker, const struct sandbox *sandbox, int64_t number) {
	struct settling *settling = find(broker, number);
	if (!settling || !strike_out(settling, sandbox)) return;
	settling->confirmed++;
	push_progress(settling);
	consider(settling);
}

const struct grant *settling_grant(const struct broker *broker, int64_t number) {
	const struct settling *settling = find(broker, number);
	return settling && settling->grant.id != 0 ? &settling->grant : NULL;
}

void settlings_look(struct broker *broker) {
	for (struct settling *settling = TAILQ_FIRST(&broker->settlings), *next; settling; settling = next) {
		next = TAILQ_NEXT(settling, link);
		consider(settling);
	}
}

/* Whoever has gone holds nothing, and waits for nothing. */

static void forget(struct settling *settling, const struct sandbox *sandbox) {
	if (!strike_out(settling, sandbox)) return;
	if (sandbox->state == SANDBOX_ENDING)
		add_other(settling, sandbox);
	else
		settling->confirmed++;
	push_progress(settling);
	consider(settling);
}

void settlings_forget_sandbox(struct broker *broker, const struct sandbox *sandbox) {
	for (struct settling *settling = TAILQ_FIRST(&broker->settlings), *next; settling; settling = next) {
		next = TAILQ_NEXT(settling, link);
		forget(settling, sandbox);
	}
}

void settlings_move_sandbox(struct broker *broker, const struct sandbox *from, struct sandbox *to) {
	struct settling *settling;
	TAILQ_FOREACH(settling, &broker->settlings, link) {
		for (size_t i = 0; i < settling->waiting_count; i++)
			if (settling->waiting[i] == from) settling->waiting[i] = to;
	}
}

bool settlings_have_sandbox(const struct broker *broker, const struct sandbox *sandbox) {
	const struct settling *settling;
	TAILQ_FOREACH(settling, &broker->settlings, link) {
		if (is_waited_for(settling, sandbox)) return true;
	}
	return false;
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
