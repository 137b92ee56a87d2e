/*
 * followers: clients that wait for rows of the history (`list` with `wait`), which get them as they come.
 *
 * Promises: each row that fits once and in order, FOLLOW_MS after it was written at the latest unless very many wait:
 * a turn is bounded, so that others are served. Who doesn't ask again gets nothing, so a slow reader costs no memory.
 * While nobody waits there is nothing to do.
 */
#pragma once

#include <stdint.h>

#include "store/history.h"
#include "wire/client.h"

struct followers;

struct followers *followers_new(struct broker *broker);
void followers_free(struct followers *followers); /* NULL is allowed */

/* Replies to request `id` with the rows after `cursor`, when there are some. A client may wait once: else -EBUSY. */
int followers_add(struct followers *followers, struct client *client, int64_t id, const struct history_filter *filter,
		  int64_t cursor, struct error *error);
void followers_forget(struct followers *followers, const struct client *client); /* it goes */
