/*
 * story: a broker in this process and a tale of requests to it, told the same way each time, so that a fault can be put
 * at every place in it; and what must hold of the database afterwards.
 *
 * Promises: each telling is in a process of its own (story_tell forks), in a home that is as story_set left it. What
 * the clients were told is in memory shared with the teller and survives it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { STORY_STEPS_MAX = 64, STORY_TOLD_MAX = 64 };

/* What a step's reply was. */
enum story_answer {
	STORY_SKIPPED, /* the step was left out, since one before had failed */
	STORY_SILENCE, /* none, and the connection is still there */
	STORY_CLOSED,  /* none, and the connection is closed */
	STORY_ALLOW,
	STORY_DENY,
	STORY_DONE,  /* no verdict, but what was asked for was done */
	STORY_ERROR, /* an error that says why */
};

struct story {
	enum story_answer steps[STORY_STEPS_MAX];
	size_t count;
	bool opened;                 /* the broker started at all */
	char why[ERROR_MESSAGE_MAX]; /* else why not */
	/* Durable: what was told must be there, whatever ends the process or the machine. */
	int64_t granted[STORY_TOLD_MAX], revoked[STORY_TOLD_MAX], revoking[STORY_TOLD_MAX];
	size_t granted_count, revoked_count, revoking_count;
	struct {
		char process[64];
		bool durable;
	} allowed[STORY_TOLD_MAX];
	size_t allowed_count;
};

/* Make the home (and become an ordinary user); call it once. */
void story_begin(void);
void story_end(void);

/* A new state folder: empty, or with this database. */
void story_reset(void);
const char *story_database(void); /* borrowed */

/* A broker on that database, without clients and listener. */
struct broker;
int story_open(struct broker **ret_broker, struct error *error);

/*
 * Fork and tell it, `prepare` first in the child and `end` (or NULL) before its broker is closed; a broker that would
 * leave since its disk failed is closed and opened again in between. Returns waitpid's status; *story is what was told
 * (in shared memory, valid until the next telling).
 */
int story_tell(void (*prepare)(void *argument), void (*end)(void), void *argument, const struct story **ret_story);

/* What was lost of `story`; 0 and no text when nothing was. `power`: not only the process ended. Prints what to stderr.
 */
int story_losses(const struct story *story, bool power);

/* Steps at which `story` was allowed what `sound` was not; those at which somebody waits for ever. */
int story_wrong_allows(const struct story *story, const struct story *sound);
int story_silences(const struct story *story);
