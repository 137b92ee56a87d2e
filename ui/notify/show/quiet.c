#include "quiet.h"

#include "base/memory.h"
#include "base/string.h"

/* GNOME Shell 43 (ui/messageTray.js), by gsettings-desktop-schemas. */
static const char gnome[] = "gnome-shell", schema_id[] = "org.gnome.desktop.notifications", banners[] = "show-banners";

/* xfce4-notifyd 0.7, by xfconfd's interface. */
static const char xfce[] = "Xfce Notify Daemon", xfconf[] = "org.xfce.Xfconf", object[] = "/org/xfce/Xfconf",
		  channel[] = "xfce4-notifyd", property[] = "/do-not-disturb";

struct quiet {
	void (*changed)(void *context, bool quiet);
	void *context;
	GSettings *settings; /* GNOME's */
	GDBusConnection *bus;
	GCancellable *asked; /* Xfce's, as is the signal */
	guint signal;
};

static void on_banners(GSettings *settings, const char *key, gpointer argument) {
	const struct quiet *quiet = argument;
	quiet->changed(quiet->context, !g_settings_get_boolean(settings, key));
}

/* g_settings_new(3) ends the process where there is no such schema. */
static void watch_gnome(struct quiet *quiet) {
	GSettingsSchemaSource *source = g_settings_schema_source_get_default();
	GSettingsSchema *schema = source ? g_settings_schema_source_lookup(source, schema_id, TRUE) : NULL;
	if (!schema) return;
	if (g_settings_schema_has_key(schema, banners)) {
		quiet->settings = g_settings_new_full(schema, NULL, NULL);
		g_signal_connect(quiet->settings, "changed::show-banners", G_CALLBACK(on_banners), quiet);
		on_banners(quiet->settings, banners, quiet);
	}
	g_settings_schema_unref(schema);
}

static void take_variant(const struct quiet *quiet, GVariant *value) {
	if (g_variant_is_of_type(value, G_VARIANT_TYPE_BOOLEAN))
		quiet->changed(quiet->context, g_variant_get_boolean(value));
}

static void on_property(GObject *bus, GAsyncResult *result, gpointer argument) {
	GError *error = NULL;
	GVariant *value = NULL, *answer = g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, &error);
	if (answer) g_variant_get(answer, "(v)", &value);
	if (value) take_variant(argument, value); /* with an error it may be gone */
	if (value) g_variant_unref(value);
	if (answer) g_variant_unref(answer);
	g_clear_error(&error);
}

static void on_property_changed(GDBusConnection *bus, const char *sender, const char *path, const char *interface,
				const char *member, GVariant *arguments, gpointer argument) {
	const char *of = "", *name = "";
	GVariant *value = NULL;
	(void)bus;
	(void)sender;
	(void)path;
	(void)interface;
	(void)member;
	if (!g_variant_is_of_type(arguments, G_VARIANT_TYPE("(ssv)"))) return;
	g_variant_get(arguments, "(&s&sv)", &of, &name, &value);
	if (string_equal(of, channel) && string_equal(name, property)) take_variant(argument, value);
	g_variant_unref(value);
}

static void watch_xfce(struct quiet *quiet) {
	quiet->asked = g_cancellable_new();
	quiet->signal =
		g_dbus_connection_signal_subscribe(quiet->bus, xfconf, xfconf, "PropertyChanged", object, channel,
						   G_DBUS_SIGNAL_FLAGS_NONE, on_property_changed, quiet, NULL);
	g_dbus_connection_call(quiet->bus, xfconf, object, xfconf, "GetProperty",
			       g_variant_new("(ss)", channel, property), G_VARIANT_TYPE("(v)"),
			       G_DBUS_CALL_FLAGS_NO_AUTO_START, G_MAXINT, quiet->asked, on_property, quiet);
}

struct quiet *quiet_new(GDBusConnection *bus, const char *server, void (*changed)(void *context, bool quiet),
			void *context) {
	static const struct {
		const char *server;
		void (*watch)(struct quiet *quiet);
	} desktops[] = {{gnome, watch_gnome}, {xfce, watch_xfce}};
	for (size_t i = 0; i < ARRAY_LENGTH(desktops); i++) {
		if (!string_equal(desktops[i].server, server)) continue;
		struct quiet *quiet = mem_new(struct quiet);
		*quiet = (struct quiet){.changed = changed, .context = context, .bus = bus};
		desktops[i].watch(quiet);
		return quiet;
	}
	return NULL;
}

void quiet_free(struct quiet *quiet) {
	if (!quiet) return;
	if (quiet->settings) g_object_unref(quiet->settings);
	if (quiet->asked) {
		g_cancellable_cancel(quiet->asked);
		g_object_unref(quiet->asked);
		g_dbus_connection_signal_unsubscribe(quiet->bus, quiet->signal);
	}
	free(quiet);
}
