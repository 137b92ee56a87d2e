/*
 * Theory of operation
 *
 * On a bus that is there the name's owner is asked for, the service is started where there is none, and
 * NameOwnerChanged says the rest. Then three calls to the owner: what it is, what it can, whether nobody is to be
 * disturbed.
 *
 * A call to a server has no time-out of the bus library's own, after which the reply would be thrown away: a late reply
 * to Notify has the id of a notification that is on the screen, and must be closed or followed. Instead each call is in
 * a list with its time, and the server is hung while the oldest is older than HUNG_MS. While something is shown one
 * call a few seconds sees to it that there is one.
 */
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <systemd/sd-bus.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "bus.h"
#include "timer.h"

enum {
	HUNG_MS = 3000,
	LOOK_MS = 500,  /* between looks at how long a call has waited */
	PING_MS = 4000, /* between calls that see whether the server still answers */
	WORD_COLUMNS = 60,
};

static const char service[] = "org.freedesktop.Notifications", object[] = "/org/freedesktop/Notifications",
		  interface[] = "org.freedesktop.Notifications", properties[] = "org.freedesktop.DBus.Properties",
		  bus_service[] = "org.freedesktop.DBus", bus_object[] = "/org/freedesktop/DBus",
		  bus_interface[] = "org.freedesktop.DBus";

/* They say "actions", and have a menu elsewhere in place of buttons, or a click anywhere. */
static const char *const without_buttons[] = {"dunst", "mako", "fnott"};

struct call {
	TAILQ_ENTRY(call) link;
	struct server *server;
	uint64_t popup; /* of Notify */
	int64_t sent_ms;
};

struct server {
	struct server_events events;
	struct server_info info;
	char *fault;
	struct bus *bus;
	struct event *look;
	char *owner;      /* unique name; NULL: nobody */
	bool named, able; /* it has said who it is, and what it can */
	bool watched;
	int64_t asked_ms; /* when it was last asked whether it still answers */
	TAILQ_HEAD(, call) calls;
};

const struct server_info *server_info(const struct server *server) {
	return &server->info;
}

const char *server_fault(const struct server *server) {
	return server->fault;
}

static void set_fault(struct server *server, const char *what, const char *why) {
	free(server->fault);
	server->fault = what ? string_format("%s%s", what, why) : NULL;
}

static void changed(struct server *server) {
	server->events.changed(server->events.context);
}

/* The owner */

static void forget_texts(struct server_info *info) {
	free(info->name);
	free(info->vendor);
	free(info->version);
	free(info->specification);
}

static void lose_owner(struct server *server) {
	struct call *call;
	if (!server->owner) return;
	free(STEAL(server->owner));
	TAILQ_FOREACH(call, &server->calls, link) {
		call->popup = 0; /* an answer of the old one is none */
		call->sent_ms = INT64_MAX;
	}
	forget_texts(&server->info);
	server->info = (struct server_info){.bus = server->info.bus};
	server->named = server->able = false;
	server->events.lost(server->events.context);
}

static void call_free(void *argument) {
	struct call *call = argument;
	TAILQ_REMOVE(&call->server->calls, call, link);
	free(call);
}

/* Taken over: the message. No time-out (Theory of operation). */
static int send_call(struct server *server, sd_bus_message *message, sd_bus_message_handler_t done, uint64_t popup) {
	sd_bus_slot *slot = NULL;
	struct call *call = mem_new(struct call);
	*call = (struct call){.server = server, .popup = popup, .sent_ms = clock_ms(CLOCK_MONOTONIC)};
	TAILQ_INSERT_TAIL(&server->calls, call, link);
	int r = sd_bus_call_async(bus_connection(server->bus), &slot, message, done, call, UINT64_MAX);
	sd_bus_message_unref(message);
	if (r < 0) {
		call_free(call);
		return r;
	}
	sd_bus_slot_set_destroy_callback(slot, call_free);
	sd_bus_slot_set_floating(slot, true);
	sd_bus_slot_unref(slot);
	if (!evtimer_pending(server->look, NULL)) timer_after_ms(server->look, LOOK_MS);
	bus_wake(server->bus);
	return 0;
}

static int new_call(const struct server *server, const char *of, const char *member, sd_bus_message **ret) {
	return sd_bus_message_new_method_call(bus_connection(server->bus), ret, server->owner, object, of, member);
}

/* It is there once it has said both; an error in the place of an answer is one that can nothing. */
static void take_answer(struct server *server, bool *answered) {
	*answered = true;
	if (!server->named || !server->able || server->info.present) return;
	bool menu = false;
	for (size_t i = 0; i < ARRAY_LENGTH(without_buttons); i++)
		menu |= server->info.name && strcasecmp(server->info.name, without_buttons[i]) == 0;
	server->info.buttons = server->info.actions && !menu;
	server->info.present = true;
	set_fault(server, NULL, NULL);
	changed(server);
}

static bool is_stale(const struct call *call) {
	return call->sent_ms == INT64_MAX;
}

/* Of those to the server that is there now: one before it may never answer. */
static const struct call *oldest_call(const struct server *server) {
	const struct call *call = TAILQ_FIRST(&server->calls);
	while (call && is_stale(call)) call = TAILQ_NEXT(call, link);
	return call;
}

static char *word(const char *bytes) {
	return text_visible_cut(bytes, WORD_COLUMNS);
}

static int on_information(sd_bus_message *reply, void *argument, sd_bus_error *error) {
	struct call *call = argument;
	struct server *server = call->server;
	const char *name, *vendor, *version, *specification;
	(void)error;
	bus_wake(server->bus);
	if (is_stale(call) || server->named) return 0; /* or it was only to answer */
	if (!sd_bus_message_is_method_error(reply, NULL) &&
	    sd_bus_message_read(reply, "ssss", &name, &vendor, &version, &specification) >= 0) {
		server->info.name = word(name);
		server->info.vendor = word(vendor);
		server->info.version = word(version);
		server->info.specification = word(specification);
	}
	take_answer(server, &server->named);
	return 0;
}

static int on_capabilities(sd_bus_message *reply, void *argument, sd_bus_error *error) {
	struct call *call = argument;
	struct server *server = call->server;
	const char *capability;
	(void)error;
	bus_wake(server->bus);
	if (is_stale(call)) return 0;
	if (!sd_bus_message_is_method_error(reply, NULL) && sd_bus_message_enter_container(reply, 'a', "s") > 0)
		while (sd_bus_message_read(reply, "s", &capability) > 0) {
			server->info.actions |= strcmp(capability, "actions") == 0;
			server->info.markup |= strcmp(capability, "body-markup") == 0;
		}
	take_answer(server, &server->able);
	return 0;
}

static int on_inhibited(sd_bus_message *reply, void *argument, sd_bus_error *error) {
	struct call *call = argument;
	struct server *server = call->server;
	int inhibited;
	(void)error;
	bus_wake(server->bus);
	if (is_stale(call)) return 0;
	server->info.settled = true;
	if (!sd_bus_message_is_method_error(reply, NULL) && sd_bus_message_read(reply, "v", "b", &inhibited) >= 0) {
		server->info.knows_inhibited = true;
		server->info.inhibited = inhibited != 0;
	}
	if (server->info.present) changed(server);
	return 0;
}

static int ask_owner(struct server *server, const char *member, sd_bus_message_handler_t done) {
	sd_bus_message *message = NULL;
	int r = new_call(server, interface, member, &message);
	return r < 0 ? r : send_call(server, message, done, 0);
}

static int ask_inhibited(struct server *server) {
	sd_bus_message *message = NULL;
	int r = new_call(server, properties, "Get", &message);
	if (r >= 0) r = sd_bus_message_append(message, "ss", interface, "Inhibited");
	if (r >= 0) return send_call(server, message, on_inhibited, 0);
	sd_bus_message_unref(message);
	return r;
}

static void set_owner(struct server *server, const char *owner) {
	if (string_equal(server->owner, owner)) return;
	lose_owner(server);
	if (!owner) {
		set_fault(server, "no notification server runs", "");
		changed(server);
		return;
	}
	server->owner = string_copy(owner);
	server->info.found = true;
	set_fault(server, "the notification server does not answer", "");
	int r = ask_owner(server, "GetServerInformation", on_information);
	if (r >= 0) r = ask_owner(server, "GetCapabilities", on_capabilities);
	if (r >= 0) r = ask_inhibited(server);
	if (r < 0) log_debug("asking the notification server what it is: %s", strerror(-r));
	changed(server);
}

/* Signals */

static bool is_owner(const struct server *server, sd_bus_message *message) {
	return server->owner && string_equal(sd_bus_message_get_sender(message), server->owner);
}

static int on_action(sd_bus_message *message, void *argument, sd_bus_error *error) {
	struct server *server = argument;
	uint32_t id;
	const char *key;
	(void)error;
	if (is_owner(server, message) && sd_bus_message_read(message, "us", &id, &key) >= 0)
		server->events.action(server->events.context, id, key);
	return 0;
}

static int on_closed(sd_bus_message *message, void *argument, sd_bus_error *error) {
	struct server *server = argument;
	uint32_t id, reason;
	(void)error;
	if (is_owner(server, message) && sd_bus_message_read(message, "uu", &id, &reason) >= 0)
		server->events.closed(server->events.context, id);
	return 0;
}

static int on_properties(sd_bus_message *message, void *argument, sd_bus_error *error) {
	struct server *server = argument;
	(void)error;
	if (is_owner(server, message)) ask_inhibited(server);
	return 0;
}

/* The bus says it itself; what another client sends has that one's name. */
static int on_owner_changed(sd_bus_message *message, void *argument, sd_bus_error *error) {
	struct server *server = argument;
	const char *name, *before, *after;
	(void)error;
	if (string_equal(sd_bus_message_get_sender(message), bus_service) &&
	    sd_bus_message_read(message, "sss", &name, &before, &after) >= 0 && strcmp(name, service) == 0)
		set_owner(server, *after ? after : NULL);
	return 0;
}

static int on_started(sd_bus_message *reply, void *argument, sd_bus_error *error) {
	struct server *server = argument;
	const sd_bus_error *fault = sd_bus_message_get_error(reply);
	(void)error;
	if (fault && !server->owner) {
		CLEANUP_FREE char *why = word(fault->message ? fault->message : fault->name);
		set_fault(server, "no notification server runs: ", why);
		changed(server);
	}
	return 0;
}

static int on_owner(sd_bus_message *reply, void *argument, sd_bus_error *error) {
	struct server *server = argument;
	const char *owner;
	(void)error;
	bus_wake(server->bus);
	if (sd_bus_message_read(reply, "s", &owner) >= 0 && !sd_bus_message_is_method_error(reply, NULL)) {
		set_owner(server, owner);
		return 0;
	}
	return sd_bus_call_method_async(bus_connection(server->bus), NULL, bus_service, bus_object, bus_interface,
					"StartServiceByName", on_started, server, "su", service, 0);
}

static int on_match(sd_bus_message *reply, void *argument, sd_bus_error *error) {
	(void)argument;
	(void)error;
	if (sd_bus_message_is_method_error(reply, NULL)) log_error("the session bus refuses a match rule");
	return 0;
}

/* The bus */

static int watch_signals(struct server *server) {
	static const struct {
		const char *sender, *path, *of, *member;
		bool about; /* its first argument is the service's name, which is the interface's, too */
		sd_bus_message_handler_t heard;
	} signals[] = {
		{bus_service, bus_object, bus_interface, "NameOwnerChanged", true, on_owner_changed},
		{service, object, interface, "ActionInvoked", false, on_action},
		{service, object, interface, "NotificationClosed", false, on_closed},
		{service, object, properties, "PropertiesChanged", true, on_properties},
	};
	int r = 0;
	for (size_t i = 0; r >= 0 && i < ARRAY_LENGTH(signals); i++) {
		CLEANUP_FREE char *match = string_format(
			"type='signal',sender='%s',path='%s',interface='%s',member='%s'%s%s%s", signals[i].sender,
			signals[i].path, signals[i].of, signals[i].member, signals[i].about ? ",arg0='" : "",
			signals[i].about ? service : "", signals[i].about ? "'" : "");
		r = sd_bus_add_match_async(bus_connection(server->bus), NULL, match, signals[i].heard, on_match,
					   server);
	}
	return r;
}

static int on_bus_opened(void *context) {
	struct server *server = context;
	int r = watch_signals(server);
	server->info.bus = true;
	return r < 0 ? r
		     : sd_bus_call_method_async(bus_connection(server->bus), NULL, bus_service, bus_object,
						bus_interface, "GetNameOwner", on_owner, server, "s", service);
}

static void on_bus_lost(void *context, const char *why) {
	struct server *server = context;
	server->info.bus = false;
	lose_owner(server);
	set_fault(server, why, "");
	changed(server);
}

/* Does it still answer? */

static void on_look(evutil_socket_t fd, short what, void *argument) {
	struct server *server = argument;
	const struct call *oldest = oldest_call(server);
	(void)fd;
	(void)what;
	bool hung = oldest && oldest->sent_ms < clock_ms(CLOCK_MONOTONIC) - HUNG_MS;
	if (!oldest && server->watched && server->info.present &&
	    clock_ms(CLOCK_MONOTONIC) - server->asked_ms >= PING_MS) {
		server->asked_ms = clock_ms(CLOCK_MONOTONIC);
		ask_owner(server, "GetServerInformation", on_information);
	}
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

/* Calls */

static int on_shown(sd_bus_message *reply, void *argument, sd_bus_error *error) {
	struct call *call = argument;
	struct server *server = call->server;
	uint32_t id = 0;
	(void)error;
	bus_wake(server->bus);
	if (is_stale(call)) return 0;
	const sd_bus_error *fault = sd_bus_message_get_error(reply);
	if (fault || sd_bus_message_read(reply, "u", &id) < 0) {
		CLEANUP_FREE char *why = word(fault && fault->message ? fault->message : "its reply has no id");
		log_warning("the notification server shows no prompt: %s", why);
		id = 0;
	}
	server->events.shown(server->events.context, call->popup, id);
	return 0;
}

static int append_actions(sd_bus_message *message, const struct notice *notice, const char *token) {
	int r = sd_bus_message_open_container(message, 'a', "s");
	for (size_t i = 0; r >= 0 && i < notice->button_count; i++) {
		CLEANUP_FREE char *key = notice_key(&notice->buttons[i], token);
		r = sd_bus_message_append(message, "ss", key, notice->buttons[i].label);
	}
	return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_notice(sd_bus_message *message, uint32_t replaces, const struct notice *notice, const char *token) {
	int32_t expire = notice->expire_ms > INT32_MAX ? INT32_MAX : (int32_t)notice->expire_ms;
	int r = sd_bus_message_append(message, "susss", "sbx", replaces, notice->icon, notice->summary, notice->body);
	if (r >= 0) r = append_actions(message, notice, token);
	if (r >= 0)
		r = sd_bus_message_append(message, "a{sv}i", 3, "urgency", "y", (uint8_t)notice->urgency, "category",
					  "s", "x-sbx.prompt", "transient", "b", (int)notice->transient, expire);
	return r;
}

void server_show(struct server *server, uint64_t popup, uint32_t replaces, const struct notice *notice,
		 const char *token) {
	sd_bus_message *message = NULL;
	int r = server->owner ? new_call(server, interface, "Notify", &message) : -ENOTCONN;
	if (r >= 0) r = append_notice(message, replaces, notice, token);
	if (r >= 0) r = send_call(server, STEAL(message), on_shown, popup);
	sd_bus_message_unref(message);
	if (r < 0) log_warning("a prompt could not be shown: %s", strerror(-r));
	if (r < 0 && r != -ENOTCONN) server->events.shown(server->events.context, popup, 0);
}

void server_close(struct server *server, uint32_t id) {
	sd_bus_message *message = NULL;
	int r = server->owner ? new_call(server, interface, "CloseNotification", &message) : -ENOTCONN;
	if (r >= 0) r = sd_bus_message_append(message, "u", id);
	if (r >= 0) r = sd_bus_message_set_expect_reply(message, false); /* it may have gone by itself */
	if (r >= 0) r = sd_bus_send(bus_connection(server->bus), message, NULL);
	sd_bus_message_unref(message);
	if (r < 0) log_debug("closing a notification: %s", strerror(-r));
	bus_wake(server->bus);
}

struct server *server_new(struct event_base *base, const struct server_events *events) {
	struct server *server = mem_new(struct server);
	server->events = *events;
	TAILQ_INIT(&server->calls);
	const struct bus_events bus_events = {.opened = on_bus_opened, .lost = on_bus_lost, .context = server};
	server->look = mem_expect(evtimer_new(base, on_look, server));
	server->bus = bus_new(base, &bus_events);
	return server;
}

void server_free(struct server *server) {
	if (!server) return;
	bus_free(server->bus); /* with it all calls go */
	event_free(server->look);
	forget_texts(&server->info);
	free(server->owner);
	free(server->fault);
	free(server);
}
