/*
 * withdrawal: what came of a `revoke` or `kill` in the running sandboxes that it concerns, in words.
 *
 * Promises: nothing is said to have ended that no runner has confirmed and no kernel has shown to be dead.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* "It has ended in 2 of 3 running sandboxes." of a reply (docs/protocol.md); the caller's. */
char *withdrawal_words(const json_t *reply, bool several);

/* Of one of the reply's `others`: "session 12 (npm) did not confirm within 2 s: it is stopped, …"; the caller's. */
char *withdrawal_other(const json_t *other);

/* For each of them it is known that no process uses what was taken, and why. */
bool withdrawal_is_shown(const json_t *reply);
