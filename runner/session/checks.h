/*
 * checks: what a session has asked its broker and has no answer to yet.
 *
 * Promises: each is answered once, unless cancelled; done() and told() may ask for more. What waits when a broker goes
 * is denied; what is asked while there is none waits for the next one, but for what lives already, which that one
 * judges when it knows of it.
 */
#pragma once

#include <jansson.h>

#include "base/memory.h"
#include "schema/channel.h"
#include "schema/verdict.h"

struct checks;

/* One of done() and told(). */
struct check {
	const char *type;                                            /* of the message; NULL: "check" */
	bool again;                                                  /* what lives already */
	void (*done)(void *argument, const struct verdict *verdict); /* NULL: of what lives, and the broker is gone */
	void (*told)(void *argument, const json_t *reply);           /* NULL: it can't be told */
	void *argument;
};

struct checks *checks_new(void);
/* Takes `body` over; `channel` is borrowed, NULL while the broker is gone. 0: it was answered already. */
uint64_t checks_add(struct checks *checks, struct channel *channel, json_t *body, const struct check *check);
void checks_cancel(struct checks *checks, struct channel *channel, uint64_t ticket);
void checks_answer(struct checks *checks, const json_t *reply); /* also of what is none of these: nothing happens */

/* A broker is there: what has waited for it. */
void checks_send(struct checks *checks, struct channel *channel);
/* None is: what was sent to it, or what has waited for one. */
void checks_leave(struct checks *checks, bool sent);
void checks_free(struct checks *checks); /* nobody is told */
