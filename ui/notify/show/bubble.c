#include "bubble.h"

#include <sys/queue.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"

static const char own_icon[] = "sbx", any_icon[] = "dialog-question"; /* packaging/desktop */

enum { CLOSED_MS = 2000 /* after which one that was closed should be */ };

struct bubble {
	TAILQ_ENTRY(bubble) link;
	struct bubbles *bubbles;
	NotifyNotification *notification;
	uint32_t id;
	guint closing; /* a source: the server was told to close it, and has not said yet that it is; 0: it wasn't */
};

struct bubbles {
	struct bubble_events events;
	TAILQ_HEAD(, bubble) list;
	uint32_t last_id;
	bool linger;
};

struct bubbles *bubbles_new(const struct bubble_events *events) {
	struct bubbles *bubbles = mem_new(struct bubbles);
	bubbles->events = *events;
	TAILQ_INIT(&bubbles->list);
	return bubbles;
}

/* The server is told nothing, and what it says of it later is not heard. */
static void bubble_drop(struct bubble *bubble) {
	TAILQ_REMOVE(&bubble->bubbles->list, bubble, link);
	if (bubble->closing) g_source_remove(bubble->closing);
	g_signal_handlers_disconnect_by_data(bubble->notification, bubble);
	notify_notification_clear_actions(bubble->notification);
	g_object_unref(bubble->notification);
	free(bubble);
}

/* Off the screen; its buttons mean nothing any more. False: it isn't there, or the server doesn't answer. */
static bool bubble_take_down(struct bubble *bubble) {
	notify_notification_clear_actions(bubble->notification);
	if (bubble->bubbles->linger) {
		notify_notification_set_timeout(bubble->notification, 1);
		notify_notification_show(bubble->notification, NULL);
	}
	return notify_notification_close(bubble->notification, NULL);
}

void bubbles_linger(struct bubbles *bubbles, bool linger) {
	bubbles->linger = linger;
}

void bubbles_forget(struct bubbles *bubbles) {
	for (struct bubble *bubble = TAILQ_FIRST(&bubbles->list), *next; bubble; bubble = next) {
		next = TAILQ_NEXT(bubble, link);
		bubble_drop(bubble);
	}
}

void bubbles_free(struct bubbles *bubbles) {
	struct bubble *bubble;
	TAILQ_FOREACH(bubble, &bubbles->list, link) {
		if (!bubble->closing && !bubble_take_down(bubble)) break; /* it hangs, or is gone */
	}
	bubbles_forget(bubbles);
	free(bubbles);
}

static struct bubble *bubble_find(const struct bubbles *bubbles, uint32_t id) {
	struct bubble *bubble;
	TAILQ_FOREACH(bubble, &bubbles->list, link) {
		if (bubble->id == id && !bubble->closing) return bubble;
	}
	return NULL;
}

static void on_action(NotifyNotification *notification, char *key, gpointer argument) {
	const struct bubble *bubble = argument;
	(void)notification;
	bubble->bubbles->events.action(bubble->bubbles->events.context, bubble->id, key);
}

/* libnotify holds the notification until its handlers are through. */
static void on_closed(NotifyNotification *notification, gpointer argument) {
	struct bubble *bubble = argument;
	struct bubbles *bubbles = bubble->bubbles;
	const uint32_t id = bubble->id;
	(void)notification;
	bubble_drop(bubble);
	bubbles->events.closed(bubbles->events.context, id);
}

static gboolean on_not_closed(gpointer argument) {
	struct bubble *bubble = argument;
	struct bubbles *bubbles = bubble->bubbles;
	bubble_drop(bubble);
	bubbles->events.stuck(bubbles->events.context);
	return G_SOURCE_CONTINUE; /* it has been removed */
}

static struct bubble *bubble_new(struct bubbles *bubbles) {
	struct bubble *bubble = mem_new(struct bubble);
	*bubble = (struct bubble){.bubbles = bubbles, .id = ++bubbles->last_id};
	bubble->notification = notify_notification_new("sbx", NULL, NULL);
	g_signal_connect(bubble->notification, "closed", G_CALLBACK(on_closed), bubble);
	TAILQ_INSERT_TAIL(&bubbles->list, bubble, link);
	return bubble;
}

static const char *text_of(const json_t *packet, const char *key) {
	const char *text = json_string_value(json_object_get(packet, key));
	return text ? text : "";
}

static int integer_of(const json_t *packet, const char *key) {
	const json_int_t value = json_integer_value(json_object_get(packet, key));
	return value > INT_MAX ? INT_MAX : value < 0 ? 0 : (int)value;
}

static bool has_own_icon(const char *data) {
	CLEANUP_FREE char *path = string_format("%s/icons/hicolor/scalable/apps/%s.svg", data, own_icon);
	return access(path, R_OK) == 0;
}

/* By its name. Some servers draw nothing for one that they don't find, so ours is named only where it is installed. */
static const char *icon_of(const json_t *packet) {
	const char *icon = text_of(packet, "icon");
	const char *const *data = g_get_system_data_dirs();
	if (!string_equal(icon, own_icon) || has_own_icon(g_get_user_data_dir())) return icon;
	while (*data && !has_own_icon(*data)) data++;
	return *data ? icon : any_icon;
}

static void word(struct bubble *bubble, const json_t *packet) {
	static const NotifyUrgency urgencies[] = {NOTIFY_URGENCY_LOW, NOTIFY_URGENCY_NORMAL, NOTIFY_URGENCY_CRITICAL};
	const int urgency = integer_of(packet, "urgency");
	const json_t *actions = json_object_get(packet, "actions");
	NotifyNotification *notification = bubble->notification;
	notify_notification_update(notification, text_of(packet, "summary"), text_of(packet, "body"), icon_of(packet));
	notify_notification_set_urgency(notification, urgencies[MIN(urgency, NOTIFY_URGENCY_CRITICAL)]);
	notify_notification_set_category(notification, "x-sbx.prompt");
	notify_notification_set_hint(notification, "desktop-entry", g_variant_new_string("sbx-notify"));
	notify_notification_set_timeout(notification, integer_of(packet, "expire"));
	notify_notification_set_hint(notification, "transient",
				     g_variant_new_boolean(json_is_true(json_object_get(packet, "transient"))));
	notify_notification_clear_actions(notification);
	for (size_t i = 0; i + 1 < json_array_size(actions); i += 2) {
		const char *key = json_string_value(json_array_get(actions, i));
		const char *label = json_string_value(json_array_get(actions, i + 1));
		if (key && label && *key && *label)
			notify_notification_add_action(notification, key, label, on_action, bubble, NULL);
	}
}

uint32_t bubble_show(struct bubbles *bubbles, const json_t *packet, GError **error) {
	struct bubble *bubble = bubble_find(bubbles, (uint32_t)integer_of(packet, "replaces"));
	if (!bubble) bubble = bubble_new(bubbles);
	word(bubble, packet);
	if (notify_notification_show(bubble->notification, error)) return bubble->id;
	bubble_drop(bubble);
	return 0;
}

void bubble_close(struct bubbles *bubbles, uint32_t id) {
	struct bubble *bubble = bubble_find(bubbles, id);
	if (!bubble) return;
	if (bubble_take_down(bubble)) /* low: what the server has said by then comes first */
		bubble->closing = g_timeout_add_full(G_PRIORITY_LOW, CLOSED_MS, on_not_closed, bubble, NULL);
	else
		bubble_drop(bubble); /* it has gone by itself */
}
