/*
 * advice: what the user can do about a denial; the same in the last words, in a 403 and in `sbx why`.
 *
 * Promises: a grant is advised only where one helps; a command is for a shell, word by word as it has to be (also for
 * a file called `*` or one with a newline); the rest is visible.
 */
#pragma once

#include <stdbool.h>

#include "base/memory.h"
#include "schema/verdict.h"

/* What was asked for, by whom. Borrowed. */
struct advice_about {
	const char *permission, *target;
	const char *profile; /* NULL: one of the run's own policy (--policy), which no grant can name */
	const char *project; /* NULL: the one that `sbx grant` takes by itself where the user is */
};

struct advice {
	char *text;    /* "allow with", before a command; a sentence where there is none */
	char *command; /* or NULL */
};

/* false: there is nothing to do. */
bool advice_make(const struct verdict *verdict, const struct advice_about *about, struct advice *ret_advice);
void advice_finish(struct advice *advice);
#define CLEANUP_ADVICE __attribute__((cleanup(advice_finish)))

/* In one line; NULL when there is nothing to do. Freed by the caller. */
char *advice_text(const struct verdict *verdict, const struct advice_about *about);

/* "sbx grant …" of just this target, for a profile; EFFECT_DENY adds --deny. Freed by the caller. */
char *advice_grant(const struct advice_about *about, enum effect effect);

/* What follows the naming of a rule (its place; or NULL) that forbids: a built-in one gives way to the user's policy;
 * else "". */
const char *advice_lift(const char *rule);
