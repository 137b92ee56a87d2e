/*
 * broker: what all rooms of sbxd share, and transactions over it: the head of core/, the lowest room above the store.
 *
 * For: the database's transactions, the loop's timers, the places, the socket's lock, confinement, /proc, the system
 * log. Guarantees: one thread, one loop: no two requests are ever half done at once (attack B16). Whatever changes the
 * store does so between broker_begin and broker_commit together with its event; an event that changes nothing is noted.
 * May be called by: every room. It knows none of them: service.c makes and frees what they keep here, and hooks.h is
 * how they are told. In: events, with texts borrowed. Out: rows of the history; nothing of it leaves the process.
 */
#pragma once

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "listener.h"
#include "places.h"
#include "store/grants.h"
#include "store/history.h"
#include "store/store.h"

struct clearances;
struct client;
struct endings;
struct exec;
struct expiry;
struct followers;
struct flood;
struct hooks;
struct prompt_pending;
struct policies;
struct publishing;
struct quiet;
struct reload;
struct sandbox;
struct session;
struct session_record;
struct settling;
struct sleep;
struct turn;
struct upkeep;

TAILQ_HEAD(client_list, client);
TAILQ_HEAD(session_list, session);
TAILQ_HEAD(prompt_list, prompt_pending);
TAILQ_HEAD(publishing_list, publishing);
TAILQ_HEAD(sandbox_list, sandbox);
TAILQ_HEAD(settling_list, settling);
TAILQ_HEAD(turn_list, turn);

struct broker {
	const struct hooks *hooks; /* what rooms above the core do (hooks.h) */
	struct places places;
	const struct clock *clock;
	int64_t idle_ms;
	int64_t started_ms;
	struct event_base *base;
	struct store *store;
	struct history *history;
	struct grants *grants;
	struct policies *policies;
	struct listener *listener;
	struct stat database; /* as opened */
	bool confined;        /* confine.h */
	bool history_stuck;   /* the last try to write it has failed */
	struct expiry *expiry;
	struct endings *endings;
	struct upkeep *upkeep;
	struct followers *followers;
	bool head_is_lost; /* that no log takes it was said */
	struct reload *reload;
	struct exec *exec;
	struct sleep *sleep; /* NULL: sbxd_main has not come to it */
	struct flood *flood; /* of who has no session */
	struct quiet *quiet;
	struct client_list clients; /* owned, as are the next two */
	struct session_list sessions;
	struct prompt_list prompts;
	struct settling_list settlings; /* owned */
	struct sandbox_list sandboxes;  /* likewise: those of sessions, away and left (sandbox.h) */
	struct clearances *clearances;
	int64_t last_settling;
	struct publishing_list publishings; /* owned */
	int64_t last_publishing;
	struct turn_list turns; /* owned; in the order in which they were asked for */
	int64_t last_hold;
	size_t client_count, session_count, prompt_count;
	struct session_record *unwritten_ends; /* of sessions, while the disk is full; owned */
	size_t unwritten_end_count;
	size_t queued;      /* bytes that wait for clients to read them */
	bool accept_paused; /* until the next tick */
	bool clients_left;  /* since the last tick */
	struct event *accept, *idle, *reap, *tick, *terminate, *interrupt;
};

int64_t broker_now_ms(const struct broker *broker); /* wall clock */

/* A transaction. broker_commit rolls back when it fails. Grants that were written count from the commit on. */
int broker_begin(struct broker *broker, enum store_sync sync, struct error *error);
int broker_commit(struct broker *broker, struct error *error);
void broker_rollback(struct broker *broker);

/* Within a transaction; sets seq and time. Texts are borrowed, event->detail is given up. */
int broker_record(struct broker *broker, struct event *event, struct error *error);

/* Outside of a transaction: the event alone (history_note); texts and detail as above. */
int broker_note(struct broker *broker, struct event *event, struct error *error);

/* What was noted goes into the table, and the head into the state row. Before anybody reads the history. */
int broker_write_history(struct broker *broker, struct error *error);
