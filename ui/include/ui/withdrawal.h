/*
 * withdrawal: a request that the running sandboxes have to carry out (`grant`, `revoke`, `kill`), and what came of it
 * there, in words.
 *
 * Promises: nothing is said to have ended that no runner has confirmed and no kernel has shown to be dead.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "schema/channel.h"

/* "It has ended in 2 of 3 running sandboxes." of a reply (docs/protocol.md); the caller's. */
char *withdrawal_words(const json_t *reply, bool several);
/* What sandboxes that an sbxd before knew, and that have not come to this one, have yet; NULL: there are none. */
char *withdrawal_away(const json_t *reply);

/* Of one of the reply's `others`: "session 12 (npm) did not confirm within 1.5 s: it is stopped, …"; the caller's. */
char *withdrawal_other(const json_t *other);

/* Of one of its `holders`: "still held open in session 7: node (pid 4242): /home/ada/notes/a.txt"; the caller's. */
char *withdrawal_holder(const char *what, const json_t *holder);

/* For each of them it is known that no process uses what was taken, and why. */
bool withdrawal_is_shown(const json_t *reply);

/* "It is in force in 2 of 2 running sandboxes." of a reply to `grant`; NULL: none has to carry it out, or none was
 * waited for. The caller's. */
char *withdrawal_force(const json_t *reply);

/* As channel_call; who waits for long at a terminal sees for how many. */
int withdrawal_call(struct channel *channel, const char *type, json_t *body, json_t **ret_reply, struct error *error);
