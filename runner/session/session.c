#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/text.h"
#include "checks.h"
#include "clearance.h"
#include "runner/project.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "session_parts.h"

enum { SESSION_RETRY_FIRST_MS = 200, SESSION_RETRY_MAX_MS = 5000, WARNING_COLUMNS = 600 };

static json_t *text_list(const struct strings *texts) {
	json_t *list = json_array();
	for (size_t i = 0; i < texts->count; i++) json_array_append_new(list, message_bytes(texts->items[i]));
	return list;
}

/* The command line as it is recorded: bounded, whatever the tool was given. */
static json_t *command_list(char *const *command) {
	json_t *list = json_array();
	size_t left = LIMIT_COMMAND;
	for (; *command; command++) {
		size_t size = strlen(*command);
		if (size > left) {
			json_array_append_new(list, json_string("…"));
			break;
		}
		left -= size;
		json_array_append_new(list, message_bytes(*command));
	}
	return list;
}

/* Those of --env that say no value of their own. Only of a session that begins: later the tool has them already. */
static json_t *passed_list(const struct session *session) {
	const struct strings *asked = &session->options.run->environment;
	json_t *list = json_array();
	for (size_t i = 0; session->id == 0 && i < asked->count; i++)
		if (!strchr(asked->items[i], '=')) json_array_append_new(list, message_bytes(asked->items[i]));
	return list;
}

static json_t *open_body(const struct session *session) {
	const struct session_options *options = &session->options;
	const struct run_options *run = options->run;
	return json_pack(
		"{s:o, s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:s?, s:b, s:b, s:o, s:o, s:O*, s:I, s:i}",
		"command", command_list(run->command), "executable", message_bytes(options->executable), "profile",
		run->profile, "project", message_bytes(options->project->project), "root",
		message_bytes(options->project->root), "cwd", message_bytes(options->directory), "environment",
		text_list(&options->environment), "allow", text_list(&run->allow), "resolved",
		text_list(&run->resolved), "deny", text_list(&run->deny), "policy", run->policy_text, "policy_name",
		run->policy_name, "offline", run->offline, "record", run->record, "passed", passed_list(session),
		"roots", text_list(&session->roots), "granted", session->granted, "before", (json_int_t)session->id,
		"answering", clearance_answering_fd(session->clearance));
}

/* Once: when a broker comes back the tool has the terminal. */
static void say_warnings(const json_t *reply) {
	size_t index;
	json_t *warning;
	json_array_foreach (json_object_get(reply, "warnings"), index, warning) {
		CLEANUP_FREE char *bytes = NULL;
		if (message_bytes_take(warning, &bytes, NULL) < 0 || !bytes) continue;
		CLEANUP_FREE char *shown = text_visible_cut(bytes, WARNING_COLUMNS);
		log_warning("%s", shown);
	}
}

static int tell_sandbox(const struct session *session, struct channel *channel, bool running, struct error *error) {
	json_t *reply = NULL;
	int r = channel_call(channel, "sandbox",
			     json_pack("{s:i, s:b}", "init", (int)session->init, "running", running), &reply, error);
	json_decref(reply);
	return r < 0 ? error_prefix(error, "telling the broker of the sandbox") : 0;
}

static int follow_clearance(const struct session *session, const json_t *reply, struct error *error) {
	const json_t *said = json_object_get(reply, "clearance");
	const json_int_t inode = json_integer_value(json_object_get(said, "inode")),
			 page = json_integer_value(json_object_get(said, "page"));
	CLEANUP_FREE char *path = NULL;
	int r = message_bytes_take(json_object_get(said, "file"), &path, error);
	if (r == 0 && !path)
		r = error_set(error, EPROTO, "sbxd is of an older build: end it (pgrep -u %u -x sbxd), and try again",
			      geteuid());
	if (r == 0) r = clearance_follow(session->clearance, path, (uint64_t)inode, (uint64_t)page, error);
	return r < 0 ? error_prefix(error, "following the broker's clearance") : 0;
}

static int connect_and_open(struct session *session, struct error *error) {
	const struct run_options *run = session->options.run;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	int r = run->connect(run->connect_context, &channel, error);
	if (r < 0) return r;
	json_t *reply = NULL;
	r = channel_call(channel, "session-open", open_body(session), &reply, error);
	if (r == 0) r = follow_clearance(session, reply, error);
	if (r < 0) {
		json_decref(reply);
		return r;
	}
	if (session->id == 0) say_warnings(reply);
	session->id = json_integer_value(json_object_get(reply, "session"));
	json_decref(session->wants);
	session->wants = json_incref(json_object_get(reply, "wants"));
	json_decref(session->granted);
	session->granted = json_incref(json_object_get(reply, "granted"));
	json_decref(reply);
	if (session->options.agent) {
		reply = NULL;
		r = channel_call(channel, "agent",
				 json_pack("{s:s, s:I}", "kind", "terminal", "session", (json_int_t)session->id),
				 &reply, error);
		json_decref(reply);
		if (r < 0) return error_prefix(error, "registering for prompts");
	}
	if (session->init > 0) r = tell_sandbox(session, channel, true, error);
	if (r < 0) return r;
	session->channel = STEAL(channel);
	return 0;
}

int session_begin(struct session *session, pid_t init, struct error *error) {
	session->init = init;
	if (!session->channel) return 0;
	int r = tell_sandbox(session, session->channel, false, error);
	return r == -ECONNRESET || r == -EPIPE ? 0 : r; /* the next broker is told when it is there */
}

static bool is_push(const json_t *message, const char *type) {
	return string_equal(json_string_value(json_object_get(message, "type")), type);
}

/* 1 when there is a new view, in session->view. */
static int take_view(struct session *session, const json_t *message, struct error *error) {
	int r = view_add_part(&session->coming, session->view, message, error);
	if (r <= 0) return r;
	view_free(session->view);
	session->view = STEAL(session->coming);
	return r;
}

int session_next_view(struct session *session, struct view **ret_view, struct error *error) {
	for (;;) {
		json_t *message = NULL;
		int r = channel_receive(session->channel, true, &message, error);
		if (r < 0) return r;
		if (is_push(message, "view"))
			r = take_view(session, message, error);
		else
			json_array_append(session->early, message);
		json_decref(message);
		if (r < 0) return r;
		if (r > 0) {
			*ret_view = view_copy(session->view);
			return 0;
		}
	}
}

int session_open(const struct session_options *options, struct session **ret_session, struct view **ret_view,
		 struct error *error) {
	CLEANUP_SESSION struct session *session = mem_new(struct session);
	*session = (struct session){.options = *options,
				    .checks = checks_new(),
				    .early = json_array(),
				    .connection = -1,
				    .retry_ms = SESSION_RETRY_FIRST_MS};
	int r = clearance_new(&session->clearance, error);
	if (r == 0) r = connect_and_open(session, error);
	if (r == 0) r = session_next_view(session, ret_view, error);
	if (r < 0) return r;
	*ret_session = STEAL(session);
	return 0;
}

static void push_ended(struct session *session, const json_t *message) {
	const json_t *list = json_object_get(message, "grants");
	size_t count = json_array_size(list);
	int64_t *grants = mem_array(int64_t, count + 1);
	for (size_t i = 0; i < count; i++) grants[i] = json_integer_value(json_array_get(list, i));
	const struct session_ended ended = {.grants = grants,
					    .count = count,
					    .kill = json_is_true(json_object_get(message, "kill")),
					    .gives = json_is_true(json_object_get(message, "gives")),
					    .settle = json_integer_value(json_object_get(message, "settle"))};
	if (session->events.ended) session->events.ended(session->events.context, &ended);
	free(grants);
}

static void push_sleep(struct session *session, const json_t *message) {
	if (session->events.sleep)
		session->events.sleep(session->events.context, json_is_true(json_object_get(message, "sleeping")),
				      json_integer_value(json_object_get(message, "settle")));
}

static void push_publishing(struct session *session, const json_t *message) {
	const json_int_t port = json_integer_value(json_object_get(message, "port"));
	const json_int_t host_port = json_integer_value(json_object_get(message, "host_port"));
	const struct publication wanted = {.port = (uint16_t)port, .host_port = (uint16_t)host_port};
	if (port < 1 || port > UINT16_MAX || host_port < 0 || host_port > UINT16_MAX) return;
	if (session->events.publishing)
		session->events.publishing(session->events.context,
					   json_integer_value(json_object_get(message, "number")), &wanted,
					   json_integer_value(json_object_get(message, "grant")));
}

static void set_hold(struct session *session, int64_t number) {
	if (session->hold == number) return;
	session->hold = number;
	if (session->events.hold) session->events.hold(session->events.context, number);
}

static void stop_listening(struct session *session) {
	session->connection = -1;
	if (session->readable) event_free(session->readable);
	session->readable = NULL;
}

static void forget_views(struct session *session) {
	view_free(session->coming);
	view_free(session->view);
	session->coming = session->view = NULL;
}

static void lose(struct session *session);

static void push_view(struct session *session, const json_t *message) {
	struct error error = ERROR_NONE;
	int r = take_view(session, message, &error);
	if (r < 0) {
		/* what comes next would be changes of a view that isn't known */
		log_warning("a view of the broker: %s", error.message);
		lose(session);
	} else if (r > 0 && session->events.view) {
		session->events.view(session->events.context, view_copy(session->view));
	}
}

static void take_push(struct session *session, const json_t *message) {
	const struct session_events *events = &session->events;
	if (is_push(message, "view"))
		push_view(session, message);
	else if (is_push(message, "ended"))
		push_ended(session, message);
	else if (is_push(message, "sleep"))
		push_sleep(session, message);
	else if (is_push(message, "publishing"))
		push_publishing(session, message);
	else if (is_push(message, "hold"))
		set_hold(session, json_integer_value(json_object_get(message, "number")));
	else if (is_push(message, "terminate") && events->terminate)
		events->terminate(events->context);
	else if (is_push(message, "prompt") && events->prompt)
		events->prompt(events->context, message);
	else if (is_push(message, "prompt-gone") && events->prompt_gone)
		events->prompt_gone(events->context, message);
}

/* The broker is gone: nobody can say yes. What is asked from now on waits for the next one. */
static void lose(struct session *session) {
	stop_listening(session);
	channel_free(session->channel);
	session->channel = NULL;
	forget_views(session);
	set_hold(session, 0);
	if (session->events.broker_gone) session->events.broker_gone(session->events.context);
	checks_leave(session->checks, true);
	const struct timeval delay = clock_timeval(session->retry_ms);
	if (session->retry) evtimer_add(session->retry, &delay);
}

/* A push `prompt` has an `id`, the prompt's own; a reply's type is never `prompt`. */
static bool is_reply(const json_t *message) {
	const char *type = json_string_value(json_object_get(message, "type"));
	return json_object_get(message, "id") && !string_equal(type, "prompt") && !string_equal(type, "prompt-gone");
}

static void receive_all(struct session *session) {
	while (session->channel) {
		json_t *message = NULL;
		int r = channel_receive(session->channel, false, &message, NULL);
		if (r == -EAGAIN) return;
		if (r < 0) {
			lose(session);
			return;
		}
		if (is_reply(message))
			checks_answer(session->checks, message);
		else
			take_push(session, message);
		json_decref(message);
	}
}

static void on_readable(evutil_socket_t fd, short what, void *argument) {
	struct session *session = argument;
	(void)fd, (void)what;
	session->reading = true;
	receive_all(session);
	session->reading = false;
}

static void listen_to(struct session *session) {
	session->readable =
		event_new(session->base, channel_fd(session->channel), EV_READ | EV_PERSIST, on_readable, session);
	event_priority_set(session->readable, LOOP_FIRST); /* a `hold` is heard before anything is handed on */
	event_add(session->readable, NULL);
	session->connection = channel_fd(session->channel);
	receive_all(session); /* what came while a call waited is in no descriptor any more */
}

static void on_retry(evutil_socket_t fd, short what, void *argument) {
	struct session *session = argument;
	struct error error = ERROR_NONE;
	(void)fd, (void)what;
	if (connect_and_open(session, &error) == 0) {
		session->retry_ms = SESSION_RETRY_FIRST_MS;
		checks_send(session->checks, session->channel);
		listen_to(session);
		return;
	}
	checks_leave(session->checks, false);
	log_debug("connecting to the broker again: %s", error.message);
	session->retry_ms = session->retry_ms * 2 < SESSION_RETRY_MAX_MS ? session->retry_ms * 2 : SESSION_RETRY_MAX_MS;
	const struct timeval delay = clock_timeval(session->retry_ms);
	evtimer_add(session->retry, &delay);
}

static void take_early(struct session *session) {
	json_t *early = session->early, *message;
	size_t index;
	session->early = json_array();
	json_array_foreach (early, index, message) take_push(session, message);
	json_decref(early);
}

void session_serve(struct session *session, struct event_base *base, const struct session_events *events) {
	session->base = base;
	session->events = *events;
	session->retry = evtimer_new(base, on_retry, session);
	if (events->hold) events->hold(events->context, session->hold);
	take_early(session);
	listen_to(session);
}

struct clearance *session_clearance(const struct session *session) {
	return session->clearance;
}

bool session_is_reading(const struct session *session) {
	return session->reading;
}

void session_pause(struct session *session) {
	stop_listening(session);
	if (session->retry) event_free(session->retry);
	session->retry = NULL;
	session->events = (struct session_events){0};
}

void session_serve_end(struct session *session, const struct session_events *events) {
	session_pause(session);
	checks_free(session->checks);
	session->checks = checks_new();
	session_serve(session, session->base, events);
}

const json_t *session_wants(const struct session *session) {
	return session->wants;
}

void session_want(struct session *session, json_t *message, void (*told)(void *argument, const json_t *settled),
		  void *argument) {
	const struct check check = {.type = "want", .told = told, .argument = argument};
	checks_add(session->checks, session->channel, message, &check);
}

uint64_t session_check(struct session *session, const struct session_wish *wish,
		       void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct check check = {.done = done, .argument = argument};
	json_t *body = json_pack("{s:s, s:o}", "permission", wish->permission, "target", message_bytes(wish->target));
	if (wish->process) json_object_set_new(body, "process", message_bytes(wish->process));
	if (wish->parents && wish->parents->count > 0) json_object_set_new(body, "parents", text_list(wish->parents));
	if (wish->name) json_object_set_new(body, "name", message_bytes(wish->name));
	if (wish->reason) json_object_set_new(body, "reason", message_bytes(wish->reason));
	if (wish->folder) json_object_set_new(body, "folder", json_true());
	if (wish->by_folder) json_object_set_new(body, "by_folder", json_true());
	if (wish->unasked) json_object_set_new(body, "ask", json_false());
	return checks_add(session->checks, session->channel, body, &check);
}

uint64_t session_check_call(struct session *session, const struct session_call *call,
			    void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct need *need = call->need;
	const struct permission permission = permission_of(need->permission);
	const struct check wish = {.done = done, .argument = argument};
	json_t *body = json_pack("{s:s, s:o, s:b, s:b, s:b}", "permission", permission.name, "target",
				 message_bytes(need->path), "by_folder", need->by_folder, "listing", need->listing,
				 "folder", need->folder);
	if (call->process) json_object_set_new(body, "process", message_bytes(call->process));
	if (call->parents->count > 0) json_object_set_new(body, "parents", text_list(call->parents));
	if (call->masked) json_object_set_new(body, "masked", json_true());
	if (call->walk) json_object_set_new(body, "walk", message_bytes(call->walk));
	if (call->name && strlen(call->name) <= LIMIT_TARGET)
		json_object_set_new(body, "name", message_bytes(call->name));
	return checks_add(session->checks, session->channel, body, &wish);
}

uint64_t session_check_again(struct session *session, const char *permission, const char *target,
			     void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct check wish = {.again = true, .done = done, .argument = argument};
	json_t *body =
		json_pack("{s:s, s:o, s:b}", "permission", permission, "target", message_bytes(target), "again", 1);
	return checks_add(session->checks, session->channel, body, &wish);
}

uint64_t session_check_address(struct session *session, const char *target,
			       void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct check wish = {.again = true, .done = done, .argument = argument};
	json_t *body =
		json_pack("{s:s, s:o, s:b}", "permission", "net:access", "target", message_bytes(target), "led", 1);
	return checks_add(session->checks, session->channel, body, &wish);
}

uint64_t session_name(struct session *session, const char *host,
		      void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	const struct check wish = {.type = "name", .done = done, .argument = argument};
	return checks_add(session->checks, session->channel, json_pack("{s:o}", "host", message_bytes(host)), &wish);
}

uint64_t session_describe(struct session *session, void (*told)(void *argument, const json_t *described),
			  void *argument) {
	const struct check wish = {.type = "describe", .told = told, .argument = argument};
	return checks_add(session->checks, session->channel, json_object(), &wish);
}

void session_cancel(struct session *session, uint64_t ticket) {
	checks_cancel(session->checks, session->channel, ticket);
}

/* The body is taken. The end of a connection is met where it is read. */
static void tell(struct session *session, const char *type, json_t *body) {
	int64_t id;
	struct error error = ERROR_NONE;
	if (!session->channel)
		json_decref(body);
	else if (channel_send(session->channel, type, body, &id, &error) < 0 && error.code != EPIPE)
		log_warning("%s", error.message);
}

void session_event(struct session *session, const char *kind, const char *permission, const char *target, int64_t grant,
		   const char *refused, json_t *detail) {
	json_t *body = json_pack("{s:s, s:o}", "kind", kind, "detail", detail);
	if (permission) json_object_set_new(body, "permission", json_string(permission));
	if (target) json_object_set_new(body, "target", message_bytes(target));
	if (grant > 0) json_object_set_new(body, "grant", json_integer(grant));
	if (refused) json_object_set_new(body, "refused", message_bytes(refused));
	tell(session, "event", body);
}

void session_repair(struct session *session, const char *permission, const char *target, const char *what,
		    const char *why) {
	json_t *detail = json_pack("{s:s}", "what", what);
	if (why) json_object_set_new(detail, "why", message_bytes(why));
	session_event(session, "repair", permission, target, 0, NULL, detail);
}

/* As many as fit one message, with another such list. */
static json_t *holder_list(const struct holders *holders) {
	json_t *list = json_array();
	size_t left = LIMIT_MESSAGE / 3;
	for (size_t i = 0; i < holders->count; i++) {
		const struct holder *holder = &holders->items[i];
		size_t size = 6 * (strlen(holder->command) + strlen(holder->path)) + 100; /* at worst, as JSON */
		if (size > left) break;
		left -= size;
		json_array_append_new(list,
				      json_pack("{s:i, s:o, s:o}", "pid", (int)holder->pid, "command",
						message_bytes(holder->command), "path", message_bytes(holder->path)));
	}
	return list;
}

void session_settled(struct session *session, int64_t settle, const struct holders *left, const struct holders *ended) {
	tell(session, "settled",
	     json_pack("{s:I, s:o, s:o, s:I}", "settle", (json_int_t)settle, "holders", holder_list(left), "ended",
		       holder_list(ended), "killed", (json_int_t)ended->all));
}

void session_settle_nothing(struct session *session, int64_t settle) {
	const struct holders none = {0};
	if (settle > 0) session_settled(session, settle, &none, &none);
}

void session_published(struct session *session, const struct strings *ports, int64_t number, uint16_t host_port,
		       const char *failed) {
	json_t *body = json_pack("{s:o}", "ports", text_list(ports));
	if (number > 0) json_object_set_new(body, "number", json_integer(number));
	if (number > 0 && failed) {
		CLEANUP_FREE char *said = text_visible_cut(failed, WARNING_COLUMNS);
		json_object_set_new(body, "failed", message_bytes(said));
	} else if (number > 0) {
		json_object_set_new(body, "host_port", json_integer(host_port));
	}
	tell(session, "published", body);
}

uint64_t session_take_turn(struct session *session, void (*told)(void *argument, const json_t *reply), void *argument) {
	const struct check check = {.type = "turn", .told = told, .argument = argument};
	return checks_add(session->checks, session->channel, json_pack("{s:b}", "wanted", 1), &check);
}

void session_give_turn(struct session *session) {
	tell(session, "turn", json_pack("{s:b}", "wanted", 0));
}

void session_held(struct session *session, int64_t number) {
	tell(session, "held", json_pack("{s:I}", "number", (json_int_t)number));
}

void session_answer(struct session *session, json_t *answer) {
	tell(session, "answer", answer);
}

int64_t session_granted(const struct session *session, const char *wish) {
	const struct strings *allow = &session->options.run->allow;
	for (size_t i = 0; i < allow->count; i++)
		if (string_equal(allow->items[i], wish)) return json_integer_value(json_array_get(session->granted, i));
	return 0;
}

int64_t session_id(const struct session *session) {
	return session->id;
}

void session_close(struct session *session, int status, bool hung_up) {
	if (!session->channel || session->closing > 0) return;
	json_t *body = json_pack("{s:i}", "exit", status);
	if (hung_up) json_object_set_new(body, "hangup", json_true());
	channel_send(session->channel, "session-close", body, &session->closing, NULL);
}

static void wait_closed(struct session *session) {
	json_t *reply = NULL;
	if (!session->channel || session->closing == 0) return;
	channel_wait(session->channel, session->closing, &reply, NULL);
	json_decref(reply);
}

void session_free(struct session *session) {
	if (!session) return;
	wait_closed(session);
	stop_listening(session);
	if (session->retry) event_free(session->retry);
	channel_free(session->channel);
	forget_views(session);
	checks_free(session->checks);
	clearance_free(session->clearance);
	strings_finish(&session->options.environment);
	strings_finish(&session->roots);
	json_decref(session->early);
	json_decref(session->wants);
	json_decref(session->granted);
	free(session);
}
