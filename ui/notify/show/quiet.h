/*
 * quiet: do-not-disturb on desktops whose notification server doesn't say so itself (the property `Inhibited`). GNOME
 * Shell and xfce4-notifyd show what is critical all the same, so who doesn't want to be disturbed would be.
 *
 * Promises: nothing here waits for another program.
 */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>

struct quiet;

/* Of the server with that name (GetServerInformation). `changed` is called when it is known, maybe at once, and when it
 * is another. NULL: nothing is known of such a server. */
struct quiet *quiet_new(GDBusConnection *bus, const char *server, void (*changed)(void *context, bool quiet),
			void *context);
void quiet_free(struct quiet *quiet);
