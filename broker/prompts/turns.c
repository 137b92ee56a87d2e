/*
 * Theory of operation. A run holds while a question stands on its own terminal. What a run in the background of another
 * terminal writes may come out over the question, too: in a terminal within that one (tmux, script, ssh), which the
 * kernel doesn't connect with it. So each run in the background of its terminal holds while a question stands anywhere;
 * one in the foreground, a server that is looked at in another window, does not. Which is which is looked at every
 * TURNS_LOOK_MS. A screen on which nothing can be allowed just now (`elsewhere` is false) is for its own terminal
 * alone: it may be there all day. When that changes it is as a new turn, with a number of its own, since a run may say
 * late that it holds for the one before; but its place among those on the terminal stays. A run with a question of its
 * own has its output held by that. One whose runner is stopped loses its turn then, which it asks for anew when it goes
 * on.
 */
#include "turns.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "core/broker.h"
#include "core/processes.h"
#include "schema/limits.h"
#include "sessions/session.h"
#include "wire/client.h"

enum { TURNS_LOOK_MS = 300 };

struct turn {
	TAILQ_ENTRY(turn) link;
	struct client *client; /* of a session, or an agent of none */
	pid_t terminal;
	bool elsewhere;         /* runs in the background of other terminals hold, too */
	int64_t id;             /* of the request; 0: it was replied to */
	int64_t number;         /* of its push `hold`; 0: it isn't its turn yet */
	struct event *deadline; /* until the others hold */
	struct event *look;     /* at who has come into the background */
};

static struct turn *turn_of(const struct client *client) {
	struct turn *turn;
	TAILQ_FOREACH(turn, &client->broker->turns, link) {
		if (turn->client == client) return turn;
	}
	return NULL;
}

static struct turn *first_on(const struct broker *broker, pid_t terminal) {
	struct turn *turn;
	TAILQ_FOREACH(turn, &broker->turns, link) {
		if (turn->terminal == terminal) return turn;
	}
	return NULL;
}

static void tell(struct session *session, int64_t number) {
	if (session->hold == number) return;
	session->hold = number;
	session->holds = false;
	json_t *push = json_object();
	json_object_set_new(push, "session", json_integer(session->record.id));
	json_object_set_new(push, "number", json_integer(number));
	client_push(session->client, "hold", push);
}

/* One whose tool may write to the terminal while that question stands there. */
static bool is_other(const struct session *session, const struct turn *turn) {
	if (session == turn->client->session || session->terminal == 0) return false;
	if (session->terminal == turn->terminal) return true;
	return turn->elsewhere && !turn_of(session->client) && process_is_in_background(session->client->pid);
}

/* Each session is told for which question it holds now; 0: for none. */
static void tell_all(struct broker *broker) {
	struct session *session;
	const struct turn *turn;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		TAILQ_FOREACH(turn, &broker->turns, link) {
			if (turn->number != 0 && is_other(session, turn)) break;
		}
		tell(session, turn ? turn->number : 0);
	}
}

/* A runner that is stopped writes nothing either, and hears of it before it goes on. */
static bool holds(const struct session *session) {
	return session->holds || process_is_stopped(session->client->pid);
}

static void reply(struct turn *turn) {
	const struct session *session;
	bool alone = true;
	json_t *held = json_array(), *said = json_object();
	TAILQ_FOREACH(session, &turn->client->broker->sessions, link) {
		if (!is_other(session, turn)) continue;
		const bool counts = holds(session) && json_array_size(held) < LIMIT_HOLDING;
		if (counts) json_array_append_new(held, json_integer(session->client->pid));
		alone &= counts;
	}
	json_object_set_new(said, "alone", json_boolean(alone && turn->terminal != 0));
	json_object_set_new(said, "held", held);
	client_reply(turn->client, "turn", turn->id, said);
	event_del(turn->deadline);
	turn->id = 0;
}

static void reply_when_held(struct turn *turn) {
	const struct session *session;
	if (turn->id == 0 || turn->number == 0) return;
	TAILQ_FOREACH(session, &turn->client->broker->sessions, link) {
		if (is_other(session, turn) && !holds(session)) return;
	}
	reply(turn);
}

static void on_deadline(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	reply(argument);
}

static bool is_lost(const struct turn *turn) {
	return turn->id == 0 && turn->client->session && process_is_stopped(turn->client->pid);
}

static void on_look(evutil_socket_t fd, short what, void *argument) {
	const struct turn *turn = argument;
	(void)fd, (void)what;
	if (is_lost(turn))
		turns_give(turn->client);
	else
		tell_all(turn->client->broker);
}

static void begin(struct turn *turn) {
	const struct timeval wait = clock_timeval(LIMIT_HOLD_MS), again = clock_timeval(TURNS_LOOK_MS);
	struct broker *broker = turn->client->broker;
	turn->number = ++broker->last_hold;
	event_add(turn->deadline, &wait);
	event_add(turn->look, &again);
	tell_all(broker);
	reply_when_held(turn);
}

static struct turn *new_turn(struct client *client) {
	struct turn *turn = mem_new(struct turn);
	*turn = (struct turn){.client = client,
			      .terminal = client->session ? client->session->terminal
							  : process_terminal_session(client->pid)};
	turn->deadline = mem_expect(evtimer_new(client->broker->base, on_deadline, turn));
	turn->look = mem_expect(event_new(client->broker->base, -1, EV_PERSIST, on_look, turn));
	TAILQ_INSERT_TAIL(&client->broker->turns, turn, link);
	return turn;
}

int turns_take(struct client *client, int64_t id, bool elsewhere, struct error *error) {
	struct turn *turn = turn_of(client);
	if (turn && (turn->id != 0 || turn->elsewhere == elsewhere))
		return error_set(error, EBUSY, "this connection has asked for its turn already");
	if (!turn) turn = new_turn(client);
	turn->id = id;
	turn->elsewhere = elsewhere;
	if (turn->terminal == 0)
		reply(turn);
	else if (first_on(client->broker, turn->terminal) == turn)
		begin(turn);
	return 0;
}

static void reply_to_all(const struct broker *broker) {
	struct turn *turn;
	TAILQ_FOREACH(turn, &broker->turns, link) reply_when_held(turn);
}

/* Whoever has asked for it next; who holds for no question goes on. */
static void go_on(struct broker *broker, pid_t terminal) {
	struct turn *next = first_on(broker, terminal);
	if (next && next->number == 0) begin(next);
	tell_all(broker);
	reply_to_all(broker);
}

void turns_give(struct client *client) {
	struct turn *turn = turn_of(client);
	if (!turn) return;
	TAILQ_REMOVE(&client->broker->turns, turn, link);
	if (turn->terminal != 0) go_on(client->broker, turn->terminal);
	event_free(turn->deadline);
	event_free(turn->look);
	free(turn);
}

void turns_held(struct session *session, int64_t number) {
	if (number == 0 || session->hold != number) return;
	session->holds = true;
	reply_to_all(session->broker);
}

void turns_joined(struct session *session) {
	tell_all(session->broker);
}

void turns_left(struct session *session) {
	turns_give(session->client);
	go_on(session->broker, session->terminal);
}
