/*
 * bubble: the notifications that are on the screen, by libnotify.
 *
 * Promises: an id is never used twice, and means nothing once `closed` was said of it, or bubbles_forget was called.
 * bubble_show and bubble_close wait for the server, as libnotify does: 25 seconds where it hangs.
 */
#pragma once

#include <jansson.h>
#include <libnotify/notify.h>
#include <stdbool.h>
#include <stdint.h>

struct bubble_events {
	void (*action)(void *context, uint32_t id, const char *key); /* a button was pressed */
	void (*closed)(void *context, uint32_t id);                  /* by the user or the server */
	void (*stuck)(void *context); /* the server has said that it closes one, and not that it is closed */
	void *context;
};

struct bubbles;

struct bubbles *bubbles_new(const struct bubble_events *events);
void bubbles_free(struct bubbles *bubbles); /* what is on the screen is closed */
/* From now on: this server says that one is closed, and shows it until its time is up. */
void bubbles_linger(struct bubbles *bubbles, bool linger);
void bubbles_forget(struct bubbles *bubbles); /* the server has gone, and they with it */

/* Shows what the packet `show` says; its id. 0: the error says why not. */
uint32_t bubble_show(struct bubbles *bubbles, const json_t *packet, GError **error);
void bubble_close(struct bubbles *bubbles, uint32_t id);
