/*
 * Theory of operation
 *
 * libnotify waits for the server, so sbx-notify-show does that (show/main.c), at the other end of a socket (packet.h).
 * What it says first is whether there is a server, then what that one is and can, whether nobody is to be disturbed.
 * It ends with the bus, and is started again a second later.
 *
 * What must be answered is in a list with its time, and the server is hung while the oldest is older than HUNG_MS.
 * While something is shown a ping every few seconds sees to it that there is one.
 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/start.h"
#include "base/string.h"
#include "base/text.h"
#include "packet.h"
#include "timer.h"
#include "ui/broker.h"

enum {
	HUNG_MS = 3000,
	LOOK_MS = 500,  /* between looks at how long an answer has been waited for */
	PING_MS = 4000, /* between looks whether the server still answers */
	RETRY_MS = 1000,
	TURN_MAX = 64, /* packets in one turn of the loop */
	WORD_COLUMNS = 160,
};

/* They say "actions", and have a menu elsewhere in place of buttons, a click anywhere, or nothing at all. */
static const char *const without_buttons[] = {"dunst", "mako", "fnott", "cosmic-notifications", "ashell"};

/* What an answer is awaited to. */
struct call {
	TAILQ_ENTRY(call) link;
	uint64_t popup; /* of `show`; 0: a ping */
	int64_t sent_ms;
};

struct server {
	struct event_base *base;
	struct server_events events;
	struct server_info info;
	char *fault;
	int socket; /* of sbx-notify-show; -1: it doesn't run */
	struct event *readable, *look, *retry;
	bool watched;
	int64_t asked_ms; /* when it was last asked whether it still answers */
	TAILQ_HEAD(calls, call) calls;
};

const struct server_info *server_info(const struct server *server) {
	return &server->info;
}

const char *server_fault(const struct server *server) {
	return server->fault;
}

static void set_fault(struct server *server, const char *why) {
	free(server->fault);
	server->fault = why ? string_copy(why) : NULL;
}

static void changed(struct server *server) {
	server->events.changed(server->events.context);
}

/* Calls */

static void call_add(struct server *server, uint64_t popup) {
	struct call *call = mem_new(struct call);
	*call = (struct call){.popup = popup, .sent_ms = clock_ms(CLOCK_MONOTONIC)};
	TAILQ_INSERT_TAIL(&server->calls, call, link);
	if (!evtimer_pending(server->look, NULL)) timer_after_ms(server->look, LOOK_MS);
}

static void call_free(struct server *server, struct call *call) {
	TAILQ_REMOVE(&server->calls, call, link);
	free(call);
}

static void forget_calls(struct server *server) {
	for (struct call *call = TAILQ_FIRST(&server->calls), *next; call; call = next) {
		next = TAILQ_NEXT(call, link);
		call_free(server, call);
	}
}

static bool call_take(struct server *server, uint64_t popup) {
	struct call *call;
	TAILQ_FOREACH(call, &server->calls, link) {
		if (call->popup == popup) break;
	}
	if (call) call_free(server, call);
	return call != NULL;
}

static void forget_texts(struct server_info *info) {
	free(info->name);
	free(info->vendor);
	free(info->version);
	free(info->specification);
}

/* Its ids are void, and so is what it was to answer. */
static void lose_server(struct server *server, bool bus) {
	forget_calls(server);
	forget_texts(&server->info);
	server->info = (struct server_info){.bus = bus};
	server->events.lost(server->events.context);
}

/* What it says */

static char *word(const json_t *packet, const char *key) {
	const char *bytes = json_string_value(json_object_get(packet, key));
	return text_plain(bytes ? bytes : "");
}

static bool is_true(const json_t *packet, const char *key) {
	return json_is_true(json_object_get(packet, key));
}

static uint32_t id_of(const json_t *packet) {
	return (uint32_t)json_integer_value(json_object_get(packet, "id"));
}

static void on_absent(struct server *server, const json_t *packet) {
	CLEANUP_FREE char *why = word(packet, "why");
	lose_server(server, is_true(packet, "bus"));
	set_fault(server, why);
	changed(server);
}

static void on_found(struct server *server, const json_t *packet) {
	(void)packet;
	lose_server(server, true);
	server->info.found = true;
	call_add(server, 0); /* what it is and can: `present` answers */
	set_fault(server, "the notification server does not answer");
	changed(server);
}

static void on_present(struct server *server, const json_t *packet) {
	struct server_info *info = &server->info;
	bool menu = false;
	if (!info->found || info->present || !call_take(server, 0)) return;
	info->name = word(packet, "name");
	info->vendor = word(packet, "vendor");
	info->version = word(packet, "version");
	info->specification = word(packet, "specification");
	info->actions = is_true(packet, "actions");
	info->markup = is_true(packet, "markup");
	for (size_t i = 0; i < ARRAY_LENGTH(without_buttons); i++)
		menu |= strcasecmp(info->name, without_buttons[i]) == 0;
	info->buttons = info->actions && !menu;
	info->narrow = is_true(packet, "narrow");
	info->places = (unsigned)json_integer_value(json_object_get(packet, "places"));
	info->present = true;
	set_fault(server, NULL);
	changed(server);
}

static void on_inhibited(struct server *server, const json_t *packet) {
	const json_t *inhibited = json_object_get(packet, "inhibited");
	server->info.settled = true;
	if (json_is_boolean(inhibited)) {
		server->info.knows_inhibited = true;
		server->info.inhibited = json_is_true(inhibited);
	}
	if (server->info.present) changed(server);
}

static void on_shown(struct server *server, const json_t *packet) {
	const uint64_t popup = (uint64_t)json_integer_value(json_object_get(packet, "popup"));
	if (popup != 0 && call_take(server, popup)) server->events.shown(server->events.context, popup, id_of(packet));
}

static void on_action(struct server *server, const json_t *packet) {
	const char *key = json_string_value(json_object_get(packet, "key"));
	if (key) server->events.action(server->events.context, id_of(packet), key);
}

static void on_closed(struct server *server, const json_t *packet) {
	server->events.closed(server->events.context, id_of(packet));
}

static void on_stuck(struct server *server, const json_t *packet) {
	(void)packet;
	server->info.stuck = true;
	log_debug("the notification server keeps what is taken down on the screen");
	changed(server);
}

static void on_pong(struct server *server, const json_t *packet) {
	(void)packet;
	call_take(server, 0);
}

static void take_packet(struct server *server, const json_t *packet) {
	static const struct {
		const char *type;
		void (*take)(struct server *server, const json_t *packet);
	} kinds[] = {{"absent", on_absent},       {"found", on_found},   {"present", on_present},
		     {"inhibited", on_inhibited}, {"stuck", on_stuck},   {"shown", on_shown},
		     {"action", on_action},       {"closed", on_closed}, {"pong", on_pong}};
	const char *type = json_string_value(json_object_get(packet, "type"));
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
		if (string_equal(kinds[i].type, type)) kinds[i].take(server, packet);
}

/* sbx-notify-show */

static void lose_program(struct server *server) {
	if (server->readable) event_free(server->readable);
	server->readable = NULL;
	fd_close(server->socket);
	server->socket = -1;
	timer_after_ms(server->retry, RETRY_MS);
	if (server->info.bus) set_fault(server, "sbx-notify-show has ended");
	lose_server(server, false);
	changed(server);
}

static void on_socket(evutil_socket_t fd, short what, void *argument) {
	struct server *server = argument;
	(void)what;
	for (int i = 0; i < TURN_MAX && server->socket == fd; i++) {
		json_t *packet = NULL;
		const int r = packet_receive(fd, &packet);
		if (r == -EAGAIN) return;
		if (r == 0)
			take_packet(server, packet);
		else
			lose_program(server);
		json_decref(packet);
	}
}

/* It ends with the socket. */
_Noreturn static void run_program(const char *path, int socket) {
	char *const argv[] = {(char *)"sbx-notify-show", NULL};
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null < 0 || dup2(socket, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) _exit(125);
	close_range(STDERR_FILENO + 1, UINT_MAX, 0);
	execv(path, argv);
	_exit(125);
}

static int start_program(struct error *error) {
	CLEANUP_FREE char *path = NULL;
	int ends[2];
	int r = program_find("sbx-notify-show", &path, error);
	if (r < 0) return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(error, "making a socket for sbx-notify-show");
	CLEANUP_FD int ours = ends[0];
	CLEANUP_FD int theirs = ends[1];
	const pid_t program = start_orphan();
	if (program == 0) run_program(path, theirs);
	if (program < 0) return error_errno(error, "starting sbx-notify-show");
	return fd_steal(&ours);
}

static void on_retry(evutil_socket_t none, short due, void *argument) {
	struct server *server = argument;
	struct error error = ERROR_NONE;
	(void)none;
	(void)due;
	const int fd = start_program(&error);
	if (fd < 0) {
		set_fault(server, error.message);
		timer_after_ms(server->retry, RETRY_MS);
		changed(server);
		return;
	}
	server->socket = fd;
	server->readable = event_new(server->base, fd, EV_READ | EV_PERSIST, on_socket, server);
	if (!server->readable || event_add(server->readable, NULL) < 0) mem_exhausted();
}

static int tell(const struct server *server, json_t *packet) {
	if (server->socket >= 0) return packet_send(server->socket, packet);
	json_decref(packet);
	return -ENOTCONN;
}

/* Does it still answer? */

static void ping(struct server *server) {
	server->asked_ms = clock_ms(CLOCK_MONOTONIC);
	if (tell(server, json_pack("{s:s}", "type", "ping")) == 0) call_add(server, 0);
}

static void on_look(evutil_socket_t fd, short what, void *argument) {
	struct server *server = argument;
	const struct call *oldest = TAILQ_FIRST(&server->calls);
	const int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
	(void)fd;
	(void)what;
	const bool hung = oldest && oldest->sent_ms < now_ms - HUNG_MS;
	if (!oldest && server->watched && server->info.present && now_ms - server->asked_ms >= PING_MS) ping(server);
	if (oldest || server->watched) timer_after_ms(server->look, LOOK_MS);
	if (hung == server->info.hung) return;
	server->info.hung = hung;
	if (hung) log_debug("the notification server does not answer");
	changed(server);
}

void server_watch(struct server *server, bool on) {
	if (on && !server->watched) server->asked_ms = clock_ms(CLOCK_MONOTONIC);
	server->watched = on;
	if (on && !evtimer_pending(server->look, NULL)) timer_after_ms(server->look, LOOK_MS);
}

/* What it is told */

static json_t *actions_of(const struct notice *notice, const char *token) {
	json_t *actions = json_array();
	for (size_t i = 0; i < notice->button_count; i++) {
		CLEANUP_FREE char *key = notice_key(&notice->buttons[i], token);
		json_array_append_new(actions, json_string(key));
		json_array_append_new(actions, json_string(notice->buttons[i].label));
	}
	return actions;
}

void server_show(struct server *server, uint64_t popup, uint32_t replaces, const struct notice *notice,
		 const char *token) {
	const json_int_t expire = notice->expire_ms > INT_MAX ? INT_MAX : notice->expire_ms;
	const int r = tell(server, json_pack("{s:s, s:I, s:I, s:s, s:s, s:s, s:i, s:b, s:I, s:o}", "type", "show",
					     "popup", (json_int_t)popup, "replaces", (json_int_t)replaces, "summary",
					     notice->summary, "body", notice->body, "icon", notice->icon, "urgency",
					     (int)notice->urgency, "transient", (int)notice->transient, "expire",
					     expire, "actions", actions_of(notice, token)));
	if (r == 0) {
		call_add(server, popup);
		return;
	}
	log_warning("a prompt could not be shown: %s", strerror(-r));
	if (r != -ENOTCONN) server->events.shown(server->events.context, popup, 0);
}

void server_close(struct server *server, uint32_t id) {
	const int r = tell(server, json_pack("{s:s, s:I}", "type", "close", "id", (json_int_t)id));
	if (r < 0) log_debug("closing a notification: %s", strerror(-r));
}

struct server *server_new(struct event_base *base, const struct server_events *events) {
	struct server *server = mem_new(struct server);
	*server = (struct server){.base = base, .events = *events, .socket = -1};
	TAILQ_INIT(&server->calls);
	server->look = mem_expect(evtimer_new(base, on_look, server));
	server->retry = mem_expect(evtimer_new(base, on_retry, server));
	timer_after_ms(server->retry, 0);
	return server;
}

void server_free(struct server *server) {
	if (!server) return;
	if (server->readable) event_free(server->readable);
	fd_close(server->socket);
	event_free(server->look);
	event_free(server->retry);
	forget_calls(server);
	forget_texts(&server->info);
	free(server->fault);
	free(server);
}
