/*
 * server: the notification server of the user's session, over the session bus (Desktop Notifications
 * Specification 1.2).
 *
 * Promises: nothing here blocks: every call is asynchronous, and one that isn't answered only makes the server `hung`
 * until it is. What is called is the unique name that owned org.freedesktop.Notifications when it was asked for, and
 * only its signals count (attack B8, CVE-2024-34397); with another owner all ids are void.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "notice.h"

struct server_info {
	bool bus;     /* connected */
	bool found;   /* somebody has the name */
	bool present; /* and has said what it can */
	bool settled; /* and whether nobody is to be disturbed */
	bool hung;
	bool actions; /* as it says */
	bool buttons; /* the user can press them */
	bool markup;
	unsigned places;                               /* so many of ours it shows at a time; 0: more than we need */
	bool narrow;                                   /* its window is too narrow for three buttons */
	bool stuck;                                    /* it has not taken down what it was told to */
	bool knows_inhibited, inhibited;               /* do-not-disturb, where the server has the property */
	char *name, *vendor, *version, *specification; /* visible text; NULL until `present` */
};

struct server_events {
	void (*changed)(void *context);                              /* what server_info returns */
	void (*lost)(void *context);                                 /* another server, or none; `changed` follows */
	void (*shown)(void *context, uint64_t popup, uint32_t id);   /* 0: it could not be shown */
	void (*action)(void *context, uint32_t id, const char *key); /* a button */
	void (*closed)(void *context, uint32_t id);                  /* for whatever reason */
	void *context;
};

struct server;

struct server *server_new(struct event_base *base, const struct server_events *events);
void server_free(struct server *server);
const struct server_info *server_info(const struct server *server); /* borrowed */
const char *server_fault(const struct server *server);              /* why there is no bus or no server; or NULL */

/* desk_deeds.show and close. */
void server_show(struct server *server, uint64_t popup, uint32_t replaces, const struct notice *notice,
		 const char *token);
void server_close(struct server *server, uint32_t id);

/* Something of ours is on the screen: look every few seconds whether the server still answers. */
void server_watch(struct server *server, bool on);
