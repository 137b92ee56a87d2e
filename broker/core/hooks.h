/*
 * hooks: what the rooms above the core do at certain moments of those below.
 *
 * Promises: one table for the whole of sbxd, made by service.c, which alone knows all rooms; none of it is NULL. So a
 * room is told of an end without being known by what ends, and the order in which rooms are told is in one place.
 */
#pragma once

#include <stddef.h>

struct broker;
struct client;
struct session;

struct hooks {
	void (*message)(struct client *client, const char *bytes, size_t size); /* a datagram to be handled */
	void (*client_gone)(struct client *client);                             /* before it is freed */

	void (*session_opened)(struct session *session); /* it is in the list, its client has it */
	void (*session_ending)(struct session *session); /* it is still there: whoever waits for it is told */
	void (*session_ended)(struct session *session);  /* its sandbox was left: its grants end */
	void (*session_gone)(struct session *session);   /* it is in the list no more, and is freed next */

	void (*policies_changed)(struct broker *broker); /* other rules may hold from now on */
	void (*denials_changed)(struct broker *broker);  /* what waits may be allowed, or denied, by now */
	void (*awake)(struct broker *broker);            /* the machine slept until now */
};
