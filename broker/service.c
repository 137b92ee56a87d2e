#include "service.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/string.h"
#include "core/announce.h"
#include "core/broker.h"
#include "core/hooks.h"
#include "core/upkeep.h"
#include "endings/endings.h"
#include "endings/expiry.h"
#include "handlers/dispatch.h"
#include "handlers/followers.h"
#include "policies/policies.h"
#include "policies/reload.h"
#include "programs/exec.h"
#include "prompts/check_flow.h"
#include "prompts/prompts.h"
#include "prompts/publishing.h"
#include "prompts/quiet.h"
#include "prompts/streaks.h"
#include "prompts/turns.h"
#include "prompts/walk.h"
#include "prompts/wants.h"
#include "schema/event.h"
#include "schema/message.h"
#include "sessions/clearances.h"
#include "sessions/flood.h"
#include "sessions/sandbox.h"
#include "sessions/session.h"
#include "sessions/session_end.h"
#include "sessions/session_rules.h"
#include "sessions/settling.h"
#include "sessions/sleep.h"
#include "wire/client.h"

enum { ACCEPTED_A_TURN = 32, TICK_SECONDS = 1 };

/* The loop */

/* Is anybody there? If not the idle timer starts. */
static void consider_idle(struct broker *broker) {
	const struct timeval wait = clock_timeval(broker->idle_ms);
	if (broker->client_count > 0)
		event_del(broker->idle);
	else if (!evtimer_pending(broker->idle, NULL))
		event_add(broker->idle, &wait);
}

/* Out of descriptors or memory: the socket would stay readable and the loop run hot. */
static void pause_accepting(struct broker *broker) {
	if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
	log_error("no more clients for now: %m");
	event_del(broker->accept);
	broker->accept_paused = true;
}

static void on_accept(evutil_socket_t fd, short what, void *argument) {
	(void)what;
	struct broker *broker = argument;
	for (int i = 0; i < ACCEPTED_A_TURN; i++) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client < 0) {
			pause_accepting(broker);
			break;
		}
		client_accept(broker, client);
	}
	consider_idle(broker);
}

static void on_reap(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct broker *broker = argument;
	for (struct client *client = TAILQ_FIRST(&broker->clients), *next; client; client = next) {
		next = TAILQ_NEXT(client, link);
		if (client->dead) client_free(client);
	}
	broker->clients_left = true;
	consider_idle(broker);
}

/* Somebody has removed our files (README, Removing it): what we would write from now on, nobody would ever read. */
static bool is_removed(const struct broker *broker) {
	struct stat named;
	if (!listener_is_current(broker->listener) || lstat(broker->places.database, &named) < 0) return true;
	return named.st_ino != broker->database.st_ino || named.st_dev != broker->database.st_dev;
}

/* An edited policy, and what the links lead to that denials name. */
static void follow_policies(struct broker *broker) {
	if (broker->session_count == 0 && broker->prompt_count == 0) return;
	if (!reload_everything(broker->reload) && !sessions_have_current_rules(broker))
		broker->hooks->policies_changed(broker);
}

/* For how long the history is kept; 0, all is kept, while no policy holds: it could be one that says so. */
static int64_t keep_ms(struct broker *broker) {
	struct policy *policy = NULL;
	reload_now(broker->reload);
	if (policies_current(broker->policies, &policy, NULL) < 0 || !policy) return 0;
	return policy_history_keep_ms(policy);
}

static void flush_denials(struct broker *broker) {
	const struct session *session;
	TAILQ_FOREACH(session, &broker->sessions, link) {
		flood_flush(broker, session);
	}
	flood_flush(broker, NULL);
}

/* What needn't be at once: uses and the head are written, and running sandboxes follow an edited policy. */
static void on_tick(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct broker *broker = argument;
	if (is_removed(broker)) {
		log_error("%s or its lock was removed: leaving", broker->places.database);
		event_base_loopbreak(broker->base);
		return;
	}
	if (history_tail_is_gone(broker->history)) {
		log_error("%s-tail was removed or changed: leaving, so that the next sbxd goes on from what is there",
			  broker->places.database);
		event_base_loopbreak(broker->base);
		return;
	}
	if (store_is_doubtful(broker->store)) {
		log_error("the disk failed while %s was written: leaving, so that the next sbxd looks what is in it",
			  broker->places.database);
		event_base_loopbreak(broker->base);
		return;
	}
	struct error error = ERROR_NONE;
	/* Their sessions' rules lie between what stays, where free(3) alone gives no page back. */
	if (broker->clients_left) mem_trim();
	broker->clients_left = false;
	if (broker->accept_paused) event_add(broker->accept, NULL);
	broker->accept_paused = false;
	grants_flush(broker->grants);
	flush_denials(broker);
	expiry_retry(broker);
	sessions_retry_ends(broker);
	if (broker_write_history(broker, &error) < 0) log_error("%s", error.message);
	upkeep_look(broker->upkeep, keep_ms(broker));
	follow_policies(broker);
	quiet_look(broker);
}

static int listen_on(struct broker *broker) {
	if (broker->accept) event_free(broker->accept);
	broker->accept =
		event_new(broker->base, listener_fd(broker->listener), EV_READ | EV_PERSIST, on_accept, broker);
	if (!broker->accept) mem_exhausted();
	return event_add(broker->accept, NULL);
}

/* Sessions, prompts and agents all belong to clients: without one there is nothing left to do. */
static void on_idle(evutil_socket_t fd, short what, void *argument) {
	(void)fd;
	(void)what;
	struct broker *broker = argument;
	struct error error = ERROR_NONE;
	if (endings_are_unwritten(broker) || sandboxes_are_awaited(broker)) {
		consider_idle(broker);
		return;
	}
	listener_retire(broker->listener);
	on_accept(listener_fd(broker->listener), EV_READ, broker);
	if (broker->client_count == 0) {
		event_base_loopbreak(broker->base);
		return;
	}
	if (listener_resume(broker->listener, &error) < 0) {
		log_error("%s", error.message);
		event_base_loopbreak(broker->base);
		return;
	}
	listen_on(broker);
}

static void on_stop(evutil_socket_t number, short what, void *argument) {
	(void)number;
	(void)what;
	struct broker *broker = argument;
	event_base_loopbreak(broker->base);
}

/* Who is told of what, in this order. */

static void on_client_gone(struct client *client) {
	struct broker *broker = client->broker;
	prompts_forget_client(broker, client);
	endings_forget_client(broker, client);
	settlings_forget_client(broker, client);
	publishings_forget_client(broker, client);
	followers_forget(broker->followers, client);
	exec_forget_client(broker, client);
	if (client->session) session_end(client->session, SESSION_LOST);
	turns_give(client);
}

static void on_session_opened(struct session *session) {
	session->walks = walks_new();
	session->streaks = streaks_new();
	session->wants = wants_new(session);
}

static void on_session_ending(struct session *session) {
	prompts_forget_session(session->broker, session);
	publishings_forget_session(session->broker, session);
	exec_forget_session(session->broker, session->record.id);
}

static void on_session_gone(struct session *session) {
	turns_left(session);
	walks_free(session->walks);
	streaks_free(session->streaks);
	wants_free(session->wants);
}

static void on_policies_changed(struct broker *broker) {
	sessions_refresh_rules(broker);
	prompts_recheck(broker);
}

static const struct hooks hooks = {
	.message = dispatch,
	.client_gone = on_client_gone,
	.session_opened = on_session_opened,
	.session_ending = on_session_ending,
	.session_ended = endings_of_session,
	.session_gone = on_session_gone,
	.policies_changed = on_policies_changed,
	.denials_changed = prompts_recheck,
	.awake = expiry_sweep,
};

static void make_events(struct broker *broker) {
	static const struct timeval tick = {.tv_sec = TICK_SECONDS};
	broker->base = loop_new();
	broker->idle = evtimer_new(broker->base, on_idle, broker);
	broker->reap = evtimer_new(broker->base, on_reap, broker);
	broker->tick = event_new(broker->base, -1, EV_PERSIST, on_tick, broker);
	if (!broker->idle || !broker->reap || !broker->tick) mem_exhausted();
	event_add(broker->tick, &tick);
	broker->terminate = evsignal_new(broker->base, SIGTERM, on_stop, broker);
	broker->interrupt = evsignal_new(broker->base, SIGINT, on_stop, broker);
	if (!broker->terminate || !broker->interrupt) mem_exhausted();
	evsignal_add(broker->terminate, NULL);
	evsignal_add(broker->interrupt, NULL);
}

int broker_new(struct places *places, const struct clock *clock, int64_t idle_ms, struct listener *listener,
	       struct broker **ret_broker, struct error *error) {
	struct broker *broker = mem_new(struct broker);
	broker->hooks = &hooks;
	broker->places = *places;
	*places = (struct places){0};
	broker->clock = clock;
	broker->idle_ms = idle_ms;
	broker->started_ms = broker_now_ms(broker);
	broker->listener = listener;
	TAILQ_INIT(&broker->clients);
	TAILQ_INIT(&broker->sessions);
	TAILQ_INIT(&broker->prompts);
	TAILQ_INIT(&broker->settlings);
	TAILQ_INIT(&broker->sandboxes);
	TAILQ_INIT(&broker->publishings);
	TAILQ_INIT(&broker->turns);
	make_events(broker);
	broker->endings = endings_new(broker);
	broker->exec = exec_new(broker, checking_go_on);
	broker->followers = followers_new(broker);
	broker->flood = flood_new();
	broker->quiet = quiet_new();
	int r = store_open(broker->places.database, &broker->store, error);
	if (r == 0 && lstat(broker->places.database, &broker->database) < 0)
		r = error_errno(error, "%s", broker->places.database);
	if (r == 0) r = clearances_new(broker->places.runtime, &broker->clearances, error);
	if (r == 0) r = history_open(broker->store, &broker->history, error);
	if (r == 0) r = grants_open(broker->store, clock, &broker->grants, error);
	if (r == 0) r = endings_resume(broker, error);
	if (r == 0) r = expiry_new(broker, &broker->expiry, error);
	if (r == 0) r = endings_of_former_sessions(broker, error);
	if (r == 0) r = sessions_clean_up(broker, error);
	if (r < 0) {
		broker_free(broker);
		return r;
	}
	broker->policies = policies_new(&broker->places, broker->store);
	reload_record_start(broker);
	broker->reload = reload_new(broker);
	broker->upkeep = upkeep_new(broker);
	expiry_sweep(broker);
	*ret_broker = broker;
	return 0;
}

int broker_run(struct broker *broker, struct error *error) {
	if (listen_on(broker) < 0) return error_set(error, EIO, "the loop doesn't take the socket");
	consider_idle(broker);
	if (event_base_dispatch(broker->base) < 0) return error_set(error, EIO, "the loop has failed");
	return 0;
}

static void event_drop(struct event *event) {
	if (event) event_free(event);
}

void broker_free(struct broker *broker) {
	if (!broker) return;
	for (struct client *client = TAILQ_FIRST(&broker->clients), *next; client; client = next) {
		next = TAILQ_NEXT(client, link);
		client_free(client);
	}
	settlings_free(broker);
	sandboxes_free(broker);
	clearances_free(broker->clearances);
	publishings_free(broker);
	sleep_free(broker->sleep);
	if (broker->grants) grants_flush(broker->grants);
	sessions_retry_ends(broker);
	sessions_forget_ends(broker);
	struct error error = ERROR_NONE;
	if (broker->history) flood_flush(broker, NULL);
	if (broker->history && broker_write_history(broker, &error) < 0) log_error("%s", error.message);
	if (broker->upkeep) announce_head(broker, 0);
	upkeep_free(broker->upkeep);
	followers_free(broker->followers);
	endings_free(broker->endings);
	expiry_free(broker->expiry);
	exec_free(broker->exec);
	flood_free(broker->flood);
	quiet_free(broker->quiet);
	event_drop(broker->accept);
	event_drop(broker->idle);
	event_drop(broker->reap);
	event_drop(broker->tick);
	event_drop(broker->terminate);
	event_drop(broker->interrupt);
	reload_free(broker->reload);
	policies_free(broker->policies);
	grants_free(broker->grants);
	history_free(broker->history);
	store_free(broker->store);
	/* The name goes last: who finds it finds a broker. */
	listener_free(broker->listener);
	if (broker->base) event_base_free(broker->base);
	places_finish(&broker->places);
	free(broker);
}
