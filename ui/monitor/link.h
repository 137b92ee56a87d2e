/*
 * link: `sbx monitor`'s connections to the broker: carries what the model wants to know and to have done.
 *
 * Promises: never waits: connecting, asking and reading happen when the descriptors are ready, so the screen and the
 * keys live on whatever the broker does; what it sends is read whatever the user does. A broker that goes is looked for
 * once a second and not started: that would take it out of the hands of who ended it. Whatever needs one starts it.
 */
#pragma once

#include <poll.h>

#include "model.h"

enum { LINK_FDS = 3 };

struct monitor_link;

struct monitor_link *link_new(void);
void link_free(struct monitor_link *link); /* NULL is allowed */

/* Give up all connections: the user isn't there to be asked. link_turn connects again. */
void link_rest(struct monitor_link *link, struct monitor_model *model);

/* What is to be waited for: LINK_FDS entries, fd -1 where there is none. Then, with what poll(2) found: read. */
void link_poll(const struct monitor_link *link, struct pollfd fds[LINK_FDS]);
void link_read(struct monitor_link *link, struct monitor_model *model, const struct pollfd fds[LINK_FDS]);

/* Connect if it is time to, send what is wanted. Returns in how many milliseconds it wants to be called again though
 * nothing came; -1: never. */
int link_turn(struct monitor_link *link, struct monitor_model *model);

DEFINE_CLEANUP(struct monitor_link *, link_free);
#define CLEANUP_LINK __attribute__((cleanup(link_free_p)))
