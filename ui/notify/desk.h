/*
 * desk: which questions are on the screen, and what a click means. No input or output: it is told what happened, and
 * says what is to be done through `struct desk_deeds`.
 *
 * Promises: at most DESK_POPUPS notifications that ask at a time, and one that says how many more wait, however many
 * questions there are; no session takes all the places (attack B12). Where a server keeps fewer, there are fewer; where
 * it shows one at a time, that one alone is relied on. An answer comes of nothing but the key of a button
 * of a notification that is on the screen, with the token of just this showing, a moment after it came, and after any
 * other of ours came or left (attack B8, B10): one that was closed, dismissed, expired, replaced or lost with its
 * server is no answer. What a notification asks never grows while it is shown. Nothing is shown while nobody is to be
 * disturbed; what expired then is told afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "notice.h"
#include "schema/prompt.h"

enum {
	DESK_PLACES = 4, /* on the screen; the last is for how many more wait */
	DESK_POPUPS = DESK_PLACES - 1,
	DESK_GATHER_MS = 150,  /* questions that come together are asked together */
	DESK_QUEUED_MS = 1500, /* until clicks count on a server that shows one at a time */
	DESK_MORE_MS = 1000,   /* between changes of how many more wait */
	DESK_NAMED = 5,        /* of those that expired unseen */
};

struct desk;

struct desk_deeds {
	const struct clock *clock;
	/* Show it, in place of the server's `replaces` (0: none); desk_shown follows. `notice` and `token` are
	 * borrowed. */
	void (*show)(void *context, uint64_t popup, uint32_t replaces, const struct notice *notice, const char *token);
	void (*close)(void *context, uint32_t id);
	void (*answer)(void *context, const struct prompt *prompt, const struct notice_button *button);
	/* Open a terminal in which they can be answered. */
	void (*review)(void *context);
	/* Whether questions can be answered on the desktop now: at the first turn, and when it changes. */
	void (*shows)(void *context, bool shows);
	void *context;
};

struct desk_server {
	bool present, hung, buttons, markup, inhibited;
	unsigned places; /* so many of ours it shows at a time; 0: DESK_PLACES or more */
	bool narrow;     /* three buttons don't fit (notice.h) */
	bool stuck;      /* one that was taken down stays on its screen */
};

struct desk *desk_new(const struct desk_deeds *deeds);
void desk_free(struct desk *desk); /* says nothing to anybody */

/* What happened. After one or several of them comes desk_turn. */
void desk_prompt(struct desk *desk, struct prompt *prompt); /* taken over, zeroed */
void desk_gone(struct desk *desk, int64_t prompt, bool expired);
void desk_refused(struct desk *desk, int64_t prompt, const char *why); /* its answer wasn't taken */
void desk_review_failed(struct desk *desk, const char *why);           /* no terminal could be opened */
void desk_forget(struct desk *desk);                                   /* all questions: the broker is gone */
void desk_quiet(struct desk *desk, bool quiet);
void desk_server_is(struct desk *desk, const struct desk_server *server);
void desk_server_lost(struct desk *desk); /* it is another one from now on, or none: its ids mean nothing */
void desk_shown(struct desk *desk, uint64_t popup, uint32_t id); /* 0: it could not be shown */
void desk_action(struct desk *desk, uint32_t id, const char *key);
void desk_closed(struct desk *desk, uint32_t id);

void desk_turn(struct desk *desk);
int desk_wait_ms(const struct desk *desk);   /* until a turn is due by itself; -1: none is */
bool desk_is_empty(const struct desk *desk); /* nothing is on the screen */
