/*
 * Theory of operation
 *
 * One loop: the bus (server.c), the broker's socket and timers; what happens goes to the desk, which says what is to be
 * done. Nothing in it waits for anybody: the broker's socket doesn't block once it is connected, and one that takes
 * nothing more is as good as gone. Connecting itself may wait for the broker's greeting; but then there are no
 * questions, so nothing is on the screen and nobody is held up.
 */
#include "agent.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/memory.h"
#include "base/string.h"
#include "desk.h"
#include "review.h"
#include "schema/channel.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "server.h"
#include "timer.h"
#include "ui/prompt_text.h"

enum {
	PATIENCE_MS = 10 * 1000, /* without bus, server or broker */
	TRY_MS = 100,            /* between tries to reach the broker, while there is patience */
	TRY_LATER_MS = 2000,
	STATUS_MS = 5000, /* between looks at whether anything runs */
	TURN_MAX = 256,   /* messages of the broker in one turn of the loop */
};

/* An answer that the broker hasn't taken yet. */
struct awaited {
	int64_t id, prompt;
};

struct agent {
	struct agent_options options;
	struct event_base *base;
	struct server *server;
	struct desk *desk;
	struct review *review;
	char *path; /* of the broker's socket */
	struct channel *channel;
	struct event *readable, *turn, *look;
	int64_t idle_since_ms, absent_since_ms;
	struct awaited answers[LIMIT_PROMPTS];
	size_t answer_count;
	bool failed;
	struct error *error;
};

/* The desk looks at what has happened, in a turn of the loop of its own. */
static void wake(struct agent *agent) {
	event_active(agent->turn, EV_TIMEOUT, 0);
}

static void on_turn(evutil_socket_t fd, short what, void *argument) {
	struct agent *agent = argument;
	(void)fd;
	(void)what;
	desk_turn(agent->desk);
	server_watch(agent->server, !desk_is_empty(agent->desk));
	int wait_ms = desk_wait_ms(agent->desk);
	event_del(agent->turn);
	if (wait_ms >= 0) timer_after_ms(agent->turn, wait_ms);
}

static void fail(struct agent *agent) {
	agent->failed = true;
	event_base_loopbreak(agent->base);
}

/* The broker */

static void broker_lose(struct agent *agent, const char *why) {
	if (!agent->channel) return;
	log_debug("the broker is gone: %s", why);
	event_free(agent->readable);
	agent->readable = NULL;
	channel_free(agent->channel);
	agent->channel = NULL;
	agent->answer_count = 0;
	agent->absent_since_ms = clock_ms(CLOCK_BOOTTIME);
	desk_forget(agent->desk);
	wake(agent);
	timer_after_ms(agent->look, TRY_MS);
}

/* `body` is taken over. 0: not sent. */
static int64_t broker_send(struct agent *agent, const char *type, json_t *body) {
	struct error error = ERROR_NONE;
	int64_t id = 0;
	if (!agent->channel) {
		json_decref(body);
		return 0;
	}
	if (channel_send(agent->channel, type, body, &id, &error) == 0) return id;
	broker_lose(agent, error.message);
	return 0;
}

static void take_prompt(struct agent *agent, const json_t *push) {
	struct error error = ERROR_NONE;
	CLEANUP_PROMPT struct prompt prompt = {0};
	if (prompt_from_json(push, &prompt, &error) < 0)
		log_warning("a prompt of the broker: %s", error.message);
	else
		desk_prompt(agent->desk, &prompt);
}

static void take_reply(struct agent *agent, const json_t *reply, bool refused) {
	int64_t id = json_integer_value(json_object_get(reply, "id"));
	const char *why = json_string_value(json_object_get(reply, "message"));
	if (refused) log_warning("the broker: %s", why ? why : "refused without a word");
	for (size_t i = 0; i < agent->answer_count; i++) {
		if (agent->answers[i].id != id) continue;
		if (refused) desk_refused(agent->desk, agent->answers[i].prompt, why ? why : "the broker refused it");
		agent->answers[i] = agent->answers[--agent->answer_count];
		return;
	}
}

/* It is registered, or there is nothing to register for. */
static void tell_waiting(struct agent *agent) {
	fd_close_p(&agent->options.waiting);
}

static void take_status(struct agent *agent, const json_t *reply) {
	if (json_integer_value(json_object_get(reply, "sessions")) > 0 ||
	    json_integer_value(json_object_get(reply, "prompts")) > 0)
		agent->idle_since_ms = clock_ms(CLOCK_BOOTTIME);
}

static void take_message(struct agent *agent, const json_t *message) {
	const char *type = json_string_value(json_object_get(message, "type"));
	if (string_equal(type, "prompt"))
		take_prompt(agent, message);
	else if (string_equal(type, "prompt-gone"))
		desk_gone(agent->desk, json_integer_value(json_object_get(message, "id")),
			  string_equal(json_string_value(json_object_get(message, "how")), "expired"));
	else if (string_equal(type, "quiet"))
		desk_quiet(agent->desk, json_is_true(json_object_get(message, "quiet")));
	else if (string_equal(type, "agent"))
		tell_waiting(agent);
	else if (string_equal(type, "status"))
		take_status(agent, message);
	else if (string_equal(type, "answer") || string_equal(type, "error"))
		take_reply(agent, message, string_equal(type, "error"));
}

static void on_broker(evutil_socket_t fd, short what, void *argument) {
	struct agent *agent = argument;
	(void)fd;
	(void)what;
	for (int i = 0; agent->channel && i < TURN_MAX; i++) {
		struct error error = ERROR_NONE;
		json_t *message = NULL;
		int r = channel_receive(agent->channel, false, &message, &error);
		if (r == -EAGAIN) break;
		if (r < 0) {
			broker_lose(agent, error.message);
			break;
		}
		take_message(agent, message);
		json_decref(message);
	}
	wake(agent);
}

/* The desk registers it (shows). */
static int broker_find(struct agent *agent, struct error *error) {
	int r = channel_connect(agent->path, &agent->channel, error);
	if (r < 0) return r;
	int fd = channel_fd(agent->channel);
	agent->readable = event_new(agent->base, fd, EV_READ | EV_PERSIST, on_broker, agent);
	if (!agent->readable || event_add(agent->readable, NULL) < 0) mem_exhausted();
	agent->idle_since_ms = clock_ms(CLOCK_BOOTTIME);
	desk_forget(agent->desk);
	wake(agent);
	return fd_nonblocking(fd, true, error);
}

/* What is to be done */

static void do_show(void *context, uint64_t popup, uint32_t replaces, const struct notice *notice, const char *token) {
	const struct agent *agent = context;
	server_show(agent->server, popup, replaces, notice, token);
}

static void do_close(void *context, uint32_t id) {
	const struct agent *agent = context;
	server_close(agent->server, id);
}

static void do_answer(void *context, const struct prompt *prompt, const struct notice_button *button) {
	struct agent *agent = context;
	json_t *body =
		json_pack("{s:I, s:s, s:s, s:s, s:o, s:b}", "prompt", (json_int_t)prompt->id, "token", prompt->token,
			  "effect", effect_name(button->effect), "lifetime", lifetime_name(button->lifetime), "scope",
			  message_bytes(prompt_scope(prompt)), "terminal", 0);
	if (button->lifetime == LIFETIME_UNTIL) json_object_set_new(body, "ttl_ms", json_integer(button->ttl_ms));
	const struct awaited awaited = {.prompt = prompt->id, .id = broker_send(agent, "answer", body)};
	if (awaited.id != 0 && agent->answer_count < LIMIT_PROMPTS) agent->answers[agent->answer_count++] = awaited;
}

static void do_review(void *context) {
	const struct agent *agent = context;
	review_open(agent->review);
}

static void on_review_failed(void *context) {
	struct agent *agent = context;
	CLEANUP_FREE char *why = string_format("No terminal could be opened. Type in one: %s", review_command());
	desk_review_failed(agent->desk, why);
	wake(agent);
}

static void do_say_shows(void *context, bool shows) {
	struct agent *agent = context;
	broker_send(agent, "agent", json_pack("{s:s, s:n, s:b}", "kind", "desktop", "session", "shows", (int)shows));
}

/* What the server says */

static void on_changed(void *context) {
	struct agent *agent = context;
	const struct server_info *info = server_info(agent->server);
	const struct desk_server server = {.present = info->present,
					   .hung = info->hung,
					   .buttons = info->buttons,
					   .markup = info->markup,
					   .inhibited = info->inhibited,
					   .places = info->places,
					   .narrow = info->narrow,
					   .stuck = info->stuck};
	desk_server_is(agent->desk, &server);
	wake(agent);
	if (info->present && !agent->channel) event_active(agent->look, EV_TIMEOUT, 0);
	if (!info->found && server_fault(agent->server)) tell_waiting(agent);
}

static void on_lost(void *context) {
	const struct agent *agent = context;
	desk_server_lost(agent->desk);
}

static void on_shown(void *context, uint64_t popup, uint32_t id) {
	struct agent *agent = context;
	desk_shown(agent->desk, popup, id);
	wake(agent);
}

static void on_action(void *context, uint32_t id, const char *key) {
	struct agent *agent = context;
	desk_action(agent->desk, id, key);
	wake(agent);
}

static void on_closed(void *context, uint32_t id) {
	struct agent *agent = context;
	desk_closed(agent->desk, id);
	wake(agent);
}

/* Is it still needed? */

static bool lost_patience(const struct agent *agent) {
	return !agent->options.stay && clock_ms(CLOCK_BOOTTIME) - agent->absent_since_ms >= PATIENCE_MS;
}

/* Another protocol doesn't go away by itself. */
static void look_for_broker(struct agent *agent) {
	struct error error = ERROR_NONE;
	int r = broker_find(agent, &error);
	if (r == 0) return;
	broker_lose(agent, error.message);
	if (r != -EPROTONOSUPPORT && !lost_patience(agent)) return;
	*agent->error = error;
	fail(agent);
}

static void look_at_broker(struct agent *agent) {
	if (!agent->options.stay && clock_ms(CLOCK_BOOTTIME) - agent->idle_since_ms >= agent->options.idle_ms)
		event_base_loopbreak(agent->base);
	else
		broker_send(agent, "status", NULL);
}

/* Nobody is to wait for an answer on a screen that isn't there. */
static void look_for_server(struct agent *agent) {
	if (clock_ms(CLOCK_BOOTTIME) - agent->absent_since_ms < PATIENCE_MS) return;
	if (agent->options.stay) {
		broker_lose(agent, "there is no notification server");
		return;
	}
	const char *fault = server_fault(agent->server);
	error_set(agent->error, ENOENT, "%s", fault ? fault : "there is no notification server");
	fail(agent);
}

static void on_look(evutil_socket_t fd, short what, void *argument) {
	struct agent *agent = argument;
	bool present = server_info(agent->server)->present;
	(void)fd;
	(void)what;
	if (present && agent->channel) agent->absent_since_ms = clock_ms(CLOCK_BOOTTIME);
	if (!present)
		look_for_server(agent);
	else if (agent->channel)
		look_at_broker(agent);
	else
		look_for_broker(agent);
	bool soon = !agent->channel && clock_ms(CLOCK_BOOTTIME) - agent->absent_since_ms < PATIENCE_MS;
	int64_t status_ms = agent->options.idle_ms < STATUS_MS ? agent->options.idle_ms : STATUS_MS;
	timer_after_ms(agent->look, soon ? TRY_MS : agent->channel && present ? status_ms : TRY_LATER_MS);
}

static void on_signal(evutil_socket_t fd, short what, void *argument) {
	struct agent *agent = argument;
	(void)fd;
	(void)what;
	event_base_loopbreak(agent->base);
}

static int serve(struct agent *agent) {
	static const int ending[] = {SIGTERM, SIGINT, SIGHUP};
	struct event *signals[ARRAY_LENGTH(ending)];
	for (size_t i = 0; i < ARRAY_LENGTH(ending); i++) {
		signals[i] = evsignal_new(agent->base, ending[i], on_signal, agent);
		if (!signals[i] || event_add(signals[i], NULL) < 0) mem_exhausted();
	}
	timer_after_ms(agent->look, TRY_MS);
	event_base_dispatch(agent->base);
	for (size_t i = 0; i < ARRAY_LENGTH(ending); i++) event_free(signals[i]);
	return agent->failed ? -agent->error->code : 0;
}

/* What is on the screen is taken down; the bus has it at once, so nobody has to wait for it. */
static void leave(struct agent *agent) {
	broker_lose(agent, "this agent leaves");
	tell_waiting(agent);
	desk_forget(agent->desk);
	desk_turn(agent->desk);
}

int agent_run(const struct agent_options *options, struct error *error) {
	struct agent *agent = mem_new(struct agent);
	const struct desk_deeds deeds = {.clock = clock_system(),
					 .show = do_show,
					 .close = do_close,
					 .answer = do_answer,
					 .review = do_review,
					 .shows = do_say_shows,
					 .context = agent};
	const struct server_events events = {.changed = on_changed,
					     .lost = on_lost,
					     .shown = on_shown,
					     .action = on_action,
					     .closed = on_closed,
					     .context = agent};
	agent->options = *options;
	agent->error = error;
	agent->absent_since_ms = clock_ms(CLOCK_BOOTTIME);
	int r = channel_socket_path(&agent->path, error);
	agent->base = loop_new();
	agent->turn = evtimer_new(agent->base, on_turn, agent);
	agent->look = evtimer_new(agent->base, on_look, agent);
	if (!agent->turn || !agent->look) mem_exhausted();
	agent->desk = desk_new(&deeds);
	agent->review = review_new(agent->base, on_review_failed, agent);
	agent->server = server_new(agent->base, &events);
	if (r == 0) r = serve(agent);
	leave(agent);
	desk_free(agent->desk);
	server_free(agent->server);
	review_free(agent->review);
	event_free(agent->turn);
	event_free(agent->look);
	event_base_free(agent->base);
	free(agent->path);
	free(agent);
	return r;
}
