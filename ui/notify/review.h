/*
 * review: a terminal window of the user's own in which what waits is answered (sbx-monitor(1)).
 *
 * Promises: no shell, and nothing of a sandbox's in its arguments; the environment is sbx-notify's. Nothing here
 * blocks. Four at most are open that are known to run.
 */
#pragma once

#include <event2/event.h>

struct review;

/* `failed`: none could be opened, or four are. */
struct review *review_new(struct event_base *base, void (*failed)(void *context), void *context);
void review_free(struct review *review); /* a window that is open stays */

void review_open(struct review *review); /* `failed` may be called at once */
const char *review_command(void);        /* what to type where none can be opened */
