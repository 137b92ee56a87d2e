/*
 * notifier [OPTION…]: a notification server that does what it is told, or a client that only pretends to be one.
 *
 * --name NAME, --capabilities "A B", --first-id N, --inhibited; --keep: shows what it was to close, and doesn't say
 *that it is closed; --mute: doesn't tell of do-not-disturb; --eager: presses the second button of what it is shown
 *first at once; --pretend: doesn't own the name;
 * --replace: takes it from who has it, as all let it be taken from them. What is asked of it is written to stdout as
 * JSON, one object a line; commands come on stdin, one a line:
 *
 *	action ID KEY [DESTINATION]      ActionInvoked
 *	closed ID REASON [DESTINATION]   NotificationClosed
 *	inhibited 0|1                    do-not-disturb
 *	hijack ID                        Notify that replaces that one
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

static const char service[] = "org.freedesktop.Notifications", object[] = "/org/freedesktop/Notifications";

struct notifier {
	sd_bus *bus;
	const char *name, *capabilities;
	bool pretend, eager, keep, mute;
	uint64_t name_flags;
	uint32_t last_id;
	int inhibited;
};

static void say(json_t *json) {
	json_dumpf(json, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(json);
}

static json_t *read_strings(sd_bus_message *message) {
	json_t *list = json_array();
	const char *text;
	sd_bus_message_enter_container(message, 'a', "s");
	while (sd_bus_message_read(message, "s", &text) > 0) json_array_append_new(list, json_string(text));
	sd_bus_message_exit_container(message);
	return list;
}

static json_t *read_hints(sd_bus_message *message) {
	json_t *hints = json_object();
	sd_bus_message_enter_container(message, 'a', "{sv}");
	while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
		const char *key, *contents, *text;
		uint8_t byte;
		int boolean;
		sd_bus_message_read(message, "s", &key);
		sd_bus_message_peek_type(message, NULL, &contents);
		if (strcmp(contents, "y") == 0 && sd_bus_message_read(message, "v", "y", &byte) >= 0)
			json_object_set_new(hints, key, json_integer(byte));
		else if (strcmp(contents, "b") == 0 && sd_bus_message_read(message, "v", "b", &boolean) >= 0)
			json_object_set_new(hints, key, json_boolean(boolean));
		else if (strcmp(contents, "s") == 0 && sd_bus_message_read(message, "v", "s", &text) >= 0)
			json_object_set_new(hints, key, json_string(text));
		else
			sd_bus_message_skip(message, "v");
		sd_bus_message_exit_container(message);
	}
	sd_bus_message_exit_container(message);
	return hints;
}

static int emit(struct notifier *notifier, const char *member, const char *destination, const char *types, uint32_t id,
		const char *key, uint32_t reason) {
	sd_bus_message *message = NULL;
	int r = sd_bus_message_new_signal(notifier->bus, &message, object, service, member);
	if (r >= 0 && destination) r = sd_bus_message_set_destination(message, destination);
	if (r >= 0 && key) r = sd_bus_message_append(message, types, id, key);
	if (r >= 0 && !key) r = sd_bus_message_append(message, types, id, reason);
	if (r >= 0) r = sd_bus_send(notifier->bus, message, NULL);
	sd_bus_message_unref(message);
	return r;
}

static int on_notify(sd_bus_message *message, void *argument, sd_bus_error *error) {
	struct notifier *notifier = argument;
	const char *application, *icon, *summary, *body;
	uint32_t replaces;
	int32_t expire;
	(void)error;
	int r = sd_bus_message_read(message, "susss", &application, &replaces, &icon, &summary, &body);
	if (r < 0) return r;
	json_t *actions = read_strings(message), *hints = read_hints(message);
	if ((r = sd_bus_message_read(message, "i", &expire)) < 0) return r;
	uint32_t id = replaces ? replaces : ++notifier->last_id;
	json_t *pressed = notifier->eager ? json_incref(json_array_get(actions, 2)) : NULL;
	say(json_pack("{s:s, s:i, s:i, s:s, s:s, s:s, s:s, s:o, s:o, s:i}", "event", "notify", "id", (int)id,
		      "replaces", (int)replaces, "application", application, "icon", icon, "summary", summary, "body",
		      body, "actions", actions, "hints", hints, "expire", expire));
	r = sd_bus_reply_method_return(message, "u", id);
	if (r >= 0 && pressed) r = emit(notifier, "ActionInvoked", NULL, "us", id, json_string_value(pressed), 0);
	notifier->eager = false;
	json_decref(pressed);
	return r;
}

static int on_close(sd_bus_message *message, void *argument, sd_bus_error *error) {
	struct notifier *notifier = argument;
	uint32_t id;
	(void)error;
	int r = sd_bus_message_read(message, "u", &id);
	if (r < 0) return r;
	say(json_pack("{s:s, s:i}", "event", "close", "id", (int)id));
	if (!notifier->keep) emit(notifier, "NotificationClosed", NULL, "uu", id, NULL, 3);
	return sd_bus_reply_method_return(message, NULL);
}

static int on_capabilities(sd_bus_message *message, void *argument, sd_bus_error *error) {
	const struct notifier *notifier = argument;
	char words[200], *rest = words;
	sd_bus_message *reply = NULL;
	(void)error;
	snprintf(words, sizeof words, "%s", notifier->capabilities);
	int r = sd_bus_message_new_method_return(message, &reply);
	if (r >= 0) r = sd_bus_message_open_container(reply, 'a', "s");
	for (const char *word; r >= 0 && (word = strsep(&rest, " "));)
		if (*word) r = sd_bus_message_append(reply, "s", word);
	if (r >= 0) r = sd_bus_message_close_container(reply);
	if (r >= 0) r = sd_bus_send(NULL, reply, NULL);
	sd_bus_message_unref(reply);
	return r;
}

static int on_information(sd_bus_message *message, void *argument, sd_bus_error *error) {
	const struct notifier *notifier = argument;
	(void)error;
	return sd_bus_reply_method_return(message, "ssss", notifier->name, "sbx", "1", "1.2");
}

static int get_inhibited(sd_bus *bus, const char *path, const char *interface, const char *property,
			 sd_bus_message *reply, void *argument, sd_bus_error *error) {
	const struct notifier *notifier = argument;
	(void)bus;
	(void)path;
	(void)interface;
	(void)property;
	(void)error;
	return notifier->mute ? -ENOENT : sd_bus_message_append(reply, "b", notifier->inhibited);
}

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("Notify", "susssasa{sv}i", "u", on_notify, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("CloseNotification", "u", "", on_close, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("GetCapabilities", "", "as", on_capabilities, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("GetServerInformation", "", "ssss", on_information, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_PROPERTY("Inhibited", "b", get_inhibited, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	SD_BUS_VTABLE_END,
};

/* Another client's words in place of ours. */
static int hijack(struct notifier *notifier, uint32_t id) {
	return sd_bus_call_method(notifier->bus, service, object, service, "Notify", NULL, NULL, "susssasa{sv}i", "sbx",
				  id, "", "npm wants to read …", "harmless", 2, "allow", "OK", 0, 0);
}

static int obey(struct notifier *notifier, char *line) {
	char *rest = line;
	const char *verb = strsep(&rest, " \n"), *first = strsep(&rest, " \n"), *second = strsep(&rest, " \n"),
		   *destination = strsep(&rest, " \n");
	uint32_t id = first ? (uint32_t)strtoul(first, NULL, 10) : 0;
	if (destination && !*destination) destination = NULL;
	if (strcmp(verb, "action") == 0 && second)
		return emit(notifier, "ActionInvoked", destination, "us", id, second, 0);
	if (strcmp(verb, "closed") == 0 && second)
		return emit(notifier, "NotificationClosed", destination, "uu", id, NULL,
			    (uint32_t)strtoul(second, NULL, 10));
	if (strcmp(verb, "hijack") == 0) return hijack(notifier, id);
	if (strcmp(verb, "inhibited") != 0) return -EINVAL;
	notifier->inhibited = id != 0;
	return sd_bus_emit_properties_changed(notifier->bus, object, service, "Inhibited", NULL);
}

static int start(struct notifier *notifier) {
	const char *unique;
	int r = sd_bus_open_user(&notifier->bus);
	if (r >= 0 && !notifier->pretend) {
		r = sd_bus_add_object_vtable(notifier->bus, NULL, object, service, vtable, notifier);
		if (r >= 0) r = sd_bus_request_name(notifier->bus, service, notifier->name_flags);
	}
	if (r >= 0) r = sd_bus_get_unique_name(notifier->bus, &unique);
	if (r >= 0) say(json_pack("{s:s, s:s}", "event", "ready", "name", unique));
	return r;
}

static int serve(struct notifier *notifier) {
	for (;;) {
		int r;
		char line[512];
		while ((r = sd_bus_process(notifier->bus, NULL)) > 0) continue;
		if (r < 0) return r;
		struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				       {.fd = sd_bus_get_fd(notifier->bus), .events = POLLIN}};
		if (poll(fds, 2, 1000) < 0 && errno != EINTR) return -errno;
		if (!fds[0].revents) continue;
		if (!fgets(line, sizeof line, stdin)) return 0;
		if ((r = obey(notifier, line)) < 0) fprintf(stderr, "notifier: %s\n", strerror(-r));
		say(json_pack("{s:s}", "event", "done"));
	}
}

int main(int argc, char **argv) {
	struct notifier notifier = {.name = "scripted",
				    .capabilities = "actions body body-markup",
				    .name_flags = SD_BUS_NAME_ALLOW_REPLACEMENT};
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		if (strcmp(argv[i], "--pretend") == 0) notifier.pretend = true;
		if (strcmp(argv[i], "--eager") == 0) notifier.eager = true;
		if (strcmp(argv[i], "--keep") == 0) notifier.keep = true;
		if (strcmp(argv[i], "--mute") == 0) notifier.mute = true;
		if (strcmp(argv[i], "--replace") == 0) notifier.name_flags |= SD_BUS_NAME_REPLACE_EXISTING;
		if (strcmp(argv[i], "--inhibited") == 0) notifier.inhibited = 1;
		if (strcmp(argv[i], "--name") == 0) notifier.name = value;
		if (strcmp(argv[i], "--capabilities") == 0) notifier.capabilities = value;
		if (strcmp(argv[i], "--first-id") == 0) notifier.last_id = (uint32_t)strtoul(value, NULL, 10) - 1;
	}
	setvbuf(stdin, NULL, _IONBF, 0);
	int r = start(&notifier);
	if (r >= 0) r = serve(&notifier);
	if (r < 0) fprintf(stderr, "notifier: %s\n", strerror(-r));
	sd_bus_close_unref(notifier.bus);
	return r < 0;
}
