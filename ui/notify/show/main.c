/*
 * sbx-notify-show: shows on the desktop what sbx-notify says, by libnotify (Desktop Notifications Specification 1.2).
 * Started by sbx-notify; stdin is its socket (packet.h).
 *
 * Theory of operation. libnotify waits for the server with each notification, and needs GLib's loop; so it has a
 * process of its own, which sbx-notify doesn't wait for. What libnotify waits for without need is asked here without
 * waiting: whose the bus is, whether there is a server (starting one can take as long as it likes), what it can,
 * whether nobody is to be disturbed. These calls go to the unique name that owns the service, have no time-out, and
 * their reply counts only while the owner is the same (`generation`). Signals of buttons are libnotify's: its proxy
 * takes those of the owner alone.
 *
 * It ends with its socket, and closes what is on the screen; it ends with the bus, and is started again. Where a
 * notification wasn't shown in time it ends, too: the server may show it later, by an id that nobody would know.
 */
#include <errno.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <libnotify/notify.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/start.h"
#include "base/string.h"
#include "base/text.h"
#include "bubble.h"
#include "packet.h"
#include "quiet.h"

enum { SOCKET = STDIN_FILENO, EXIT_BUS = 1, EXIT_USAGE = 2, WORD_COLUMNS = 60 };

static const char service[] = "org.freedesktop.Notifications", object[] = "/org/freedesktop/Notifications",
		  interface[] = "org.freedesktop.Notifications", properties[] = "org.freedesktop.DBus.Properties";

struct show {
	GMainLoop *loop;
	GDBusConnection *bus;
	struct bubbles *bubbles;
	struct quiet *quiet; /* of the server; or NULL */
	char *owner;         /* of the service: a unique name; NULL: there is none */
	guint generation;
	json_t *present; /* as far as the server has said it */
	int status;
};

/* A call to the owner of one generation. */
struct call {
	struct show *show;
	guint generation;
	void (*answered)(struct show *show, GVariant *answer); /* NULL: with an error */
};

static void end(struct show *show, int status) {
	show->status = status;
	g_main_loop_quit(show->loop);
}

/* One that reads nothing any more is as good as gone. */
static void say(struct show *show, json_t *packet) {
	const int r = packet_send(SOCKET, packet);
	if (r < 0) end(show, EXIT_BUS);
}

static json_t *word(const char *bytes) {
	CLEANUP_FREE char *text = text_visible_cut(bytes, WORD_COLUMNS);
	return json_string(text);
}

static void say_absent(struct show *show, bool bus, const char *what, const char *why) {
	CLEANUP_FREE char *visible = text_visible_cut(why, 2 * WORD_COLUMNS);
	CLEANUP_FREE char *text = string_format("%s%s", what, visible);
	say(show, json_pack("{s:s, s:b, s:s}", "type", "absent", "bus", (int)bus, "why", text));
}

/* The server */

static void on_answer(GObject *bus, GAsyncResult *result, gpointer argument) {
	struct call *call = argument;
	GVariant *answer = g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, NULL);
	if (call->generation == call->show->generation) call->answered(call->show, answer);
	if (answer) g_variant_unref(answer);
	free(call);
}

static void ask(struct show *show, const char *of, const char *member, GVariant *arguments, const char *reply,
		void (*answered)(struct show *show, GVariant *answer)) {
	struct call *call = mem_new(struct call);
	*call = (struct call){.show = show, .generation = show->generation, .answered = answered};
	g_dbus_connection_call(show->bus, show->owner, object, of, member, arguments, G_VARIANT_TYPE(reply),
			       G_DBUS_CALL_FLAGS_NO_AUTO_START, G_MAXINT, NULL, on_answer, call);
}

/* It is there once it has said both; an error in the place of an answer is one that can nothing. */
static void take_half(struct show *show, json_t *half) {
	json_t *present = STEAL(show->present);
	if (!present) {
		show->present = half;
		return;
	}
	json_object_update(present, half);
	json_decref(half);
	say(show, present);
}

static void say_inhibited(struct show *show, json_t *inhibited) {
	say(show, json_pack("{s:s, s:o}", "type", "inhibited", "inhibited", inhibited));
}

static void on_quiet(void *context, bool quiet) {
	say_inhibited(context, json_boolean(quiet));
}

/* What servers don't say of themselves. `places`: how many of ours are shown at a time. GNOME Shell 43 shows one, and
 * queues the others (_notificationQueue, ui/messageTray.js). So does notification-daemon 3.20.0, which has yet to learn
 * to take down that one ("FIXME: withdraw currently showing bubbles", nd-queue.c): it stays until it is clicked or its
 * time is up (`linger`). Its window has 400 pixels, and cuts text off where buttons need more (`narrow`). */
static const struct known_server {
	const char *name, *vendor;
	int places;
	bool linger, narrow;
} known_servers[] = {{"gnome-shell", "GNOME", 1, false, false}, {"Notification Daemon", "GNOME", 1, true, true}};

static struct known_server known_server(const char *name, const char *vendor) {
	for (size_t i = 0; i < ARRAY_LENGTH(known_servers); i++)
		if (string_equal(known_servers[i].name, name) && string_equal(known_servers[i].vendor, vendor))
			return known_servers[i];
	return (struct known_server){0};
}

static void on_information(struct show *show, GVariant *answer) {
	const char *name = "", *vendor = "", *version = "", *specification = "";
	if (answer) g_variant_get(answer, "(&s&s&s&s)", &name, &vendor, &version, &specification);
	const struct known_server known = known_server(name, vendor);
	bubbles_linger(show->bubbles, known.linger);
	show->quiet = quiet_new(show->bus, name, on_quiet, show);
	take_half(show, json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:b}", "type", "present", "name", word(name),
				  "vendor", word(vendor), "version", word(version), "specification",
				  word(specification), "places", known.places, "narrow", (int)known.narrow));
}

static void on_capabilities(struct show *show, GVariant *answer) {
	const char **list = NULL;
	if (answer) g_variant_get(answer, "(^a&s)", &list);
	const bool actions = list && g_strv_contains(list, "actions");
	const bool markup = list && g_strv_contains(list, "body-markup");
	g_free(list);
	take_half(show, json_pack("{s:b, s:b}", "actions", (int)actions, "markup", (int)markup));
}

static void on_inhibited(struct show *show, GVariant *answer) {
	GVariant *value = NULL;
	if (answer) g_variant_get(answer, "(v)", &value);
	const bool known = value && g_variant_is_of_type(value, G_VARIANT_TYPE_BOOLEAN);
	say_inhibited(show, known ? json_boolean(g_variant_get_boolean(value)) : json_null());
	if (value) g_variant_unref(value);
}

static void on_pong(struct show *show, GVariant *answer) {
	(void)answer;
	say(show, json_pack("{s:s}", "type", "pong"));
}

static void ask_inhibited(struct show *show) {
	ask(show, properties, "Get", g_variant_new("(ss)", interface, "Inhibited"), "(v)", on_inhibited);
}

static void on_properties(GDBusConnection *bus, const char *sender, const char *path, const char *of,
			  const char *member, GVariant *arguments, gpointer argument) {
	struct show *show = argument;
	(void)bus;
	(void)path;
	(void)of;
	(void)member;
	(void)arguments;
	if (show->owner && string_equal(sender, show->owner)) ask_inhibited(show);
}

static void forget_server(struct show *show) {
	show->generation++;
	bubbles_forget(show->bubbles);
	quiet_free(STEAL(show->quiet));
	free(STEAL(show->owner));
	json_decref(STEAL(show->present));
}

static void on_server(GDBusConnection *bus, const char *name, const char *owner, gpointer argument) {
	struct show *show = argument;
	(void)bus;
	(void)name;
	forget_server(show);
	show->owner = string_copy(owner);
	say(show, json_pack("{s:s}", "type", "found"));
	ask(show, interface, "GetServerInformation", NULL, "(ssss)", on_information);
	ask(show, interface, "GetCapabilities", NULL, "(as)", on_capabilities);
	ask_inhibited(show);
}

static void on_no_server(GDBusConnection *bus, const char *name, gpointer argument) {
	struct show *show = argument;
	(void)bus;
	(void)name;
	forget_server(show);
	say_absent(show, true, "no notification server runs", "");
}

/* What sbx-notify says */

static void show_notice(struct show *show, const json_t *packet) {
	GError *error = NULL;
	const uint32_t id = show->owner ? bubble_show(show->bubbles, packet, &error) : 0;
	if (error) {
		CLEANUP_FREE char *why = text_visible_cut(error->message, 2 * WORD_COLUMNS);
		log_warning("the notification server shows no prompt: %s", why);
	}
	say(show, json_pack("{s:s, s:O, s:I}", "type", "shown", "popup", json_object_get(packet, "popup"), "id",
			    (json_int_t)id));
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT)) end(show, EXIT_BUS);
	g_clear_error(&error);
}

static void take_packet(struct show *show, const json_t *packet) {
	const char *type = json_string_value(json_object_get(packet, "type"));
	if (string_equal(type, "show"))
		show_notice(show, packet);
	else if (string_equal(type, "close"))
		bubble_close(show->bubbles, (uint32_t)json_integer_value(json_object_get(packet, "id")));
	else if (string_equal(type, "ping") && show->owner)
		ask(show, interface, "GetServerInformation", NULL, "(ssss)", on_pong);
}

static gboolean on_socket(gint fd, GIOCondition what, gpointer argument) {
	struct show *show = argument;
	json_t *packet = NULL;
	(void)what;
	const int r = packet_receive(fd, &packet);
	if (r == 0)
		take_packet(show, packet);
	else if (r != -EAGAIN)
		end(show, 0);
	json_decref(packet);
	return G_SOURCE_CONTINUE;
}

static void on_action(void *context, uint32_t id, const char *key) {
	say(context, json_pack("{s:s, s:I, s:s}", "type", "action", "id", (json_int_t)id, "key", key));
}

static void on_closed(void *context, uint32_t id) {
	say(context, json_pack("{s:s, s:I}", "type", "closed", "id", (json_int_t)id));
}

static void on_stuck(void *context) {
	say(context, json_pack("{s:s}", "type", "stuck"));
}

/* The bus */

static void on_bus_lost(GDBusConnection *bus, gboolean vanished, GError *error, gpointer argument) {
	struct show *show = argument;
	(void)bus;
	(void)vanished;
	forget_server(show);
	say_absent(show, false, "the session bus is gone: ", error ? error->message : "");
	end(show, EXIT_BUS);
}

/* g_bus_get(3) would start a bus of its own on a display that has none (dbus-launch(1)). */
static bool has_address(void) {
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS"), *runtime = getenv("XDG_RUNTIME_DIR");
	CLEANUP_FREE char *socket = string_format("%s/bus", runtime ? runtime : "");
	return (address && *address) || (runtime && access(socket, F_OK) == 0);
}

/* Whoever listens there is believed to be the user's own bus: a process of the user's it must be at least. */
static bool is_own(GDBusConnection *bus) {
	GIOStream *stream = g_dbus_connection_get_stream(bus);
	if (!G_IS_SOCKET_CONNECTION(stream)) return false;
	GSocket *socket = g_socket_connection_get_socket(G_SOCKET_CONNECTION(stream));
	GCredentials *peer = g_socket_get_credentials(socket, NULL);
	const bool own = peer && g_credentials_get_unix_user(peer, NULL) == geteuid();
	if (peer) g_object_unref(peer);
	return own;
}

static bool open_bus(struct show *show) {
	GError *error = NULL;
	show->bus = has_address() ? g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, &error) : NULL;
	if (!show->bus)
		say_absent(show, false, "there is no session bus: ", error ? error->message : "");
	else if (!is_own(show->bus))
		say_absent(show, false, "the session bus isn't yours", "");
	else
		return true;
	g_clear_error(&error);
	return false;
}

static void serve(struct show *show) {
	const struct bubble_events events = {
		.action = on_action, .closed = on_closed, .stuck = on_stuck, .context = show};
	show->bubbles = bubbles_new(&events);
	g_dbus_connection_set_exit_on_close(show->bus, FALSE);
	g_signal_connect(show->bus, "closed", G_CALLBACK(on_bus_lost), show);
	g_dbus_connection_signal_subscribe(show->bus, service, properties, "PropertiesChanged", object, interface,
					   G_DBUS_SIGNAL_FLAGS_NONE, on_properties, show, NULL);
	g_bus_watch_name_on_connection(show->bus, service, G_BUS_NAME_WATCHER_FLAGS_AUTO_START, on_server, on_no_server,
				       show, NULL);
	g_unix_fd_add(SOCKET, G_IO_IN | G_IO_HUP, on_socket, show);
	g_main_loop_run(show->loop);
	bubbles_free(show->bubbles);
	quiet_free(show->quiet);
}

static bool is_socket(int fd) {
	int type;
	socklen_t size = sizeof type;
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

int main(void) {
	struct show show = {.status = EXIT_BUS};
	start_process();
	if (!is_socket(SOCKET)) {
		log_error("standard input is no socket: 'sbx run' starts sbx-notify, and that starts this program");
		return EXIT_USAGE;
	}
	show.loop = g_main_loop_new(NULL, FALSE);
	signal(SIGINT, SIG_IGN); /* a terminal's; sbx-notify ends, and with it the socket */
	signal(SIGHUP, SIG_IGN);
	if (open_bus(&show) && notify_init("sbx")) serve(&show);
	return show.status;
}
