/*
 * asked: what lay at a path, and at the folders above it, when somebody was asked about it.
 *
 * Promises: what is mounted after an answer is what was there when the question was put (attack F15): another file or
 * folder that came to its place meanwhile is not shown in this run, whatever was answered. Looks by name alone
 * (O_PATH); what a question costs grows with what the host has of its path, not with the path.
 */
#pragma once

#include "base/memory.h"
#include "plan/plan.h"

struct asked;

struct asked *asked_new(void);
void asked_note(struct asked *asked, const char *path);             /* the question is put */
bool asked_is_missing(const struct asked *asked, const char *path); /* nothing was there, in a folder that was */
bool asked_is_folder(const struct asked *asked, const char *path);  /* it was, when the question was put */
void asked_forget(struct asked *asked, const char *path);           /* and settled; what was swapped stays known */

/* Takes out of a plan what was swapped. Returns the path of the first (borrowed), NULL: nothing was. */
const char *asked_check(struct asked *asked, struct plan *plan);
void asked_free(struct asked *asked);
DEFINE_CLEANUP(struct asked *, asked_free);
