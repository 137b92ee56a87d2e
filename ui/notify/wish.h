/*
 * wish: who asks for what in a notification: the few words that a glance is for.
 *
 * Promises: visible text (base/text.h), bounded but for targets; nothing of it is what a process says of itself, but
 * for the target. Freed by the caller.
 */
#pragma once

#include <stdbool.h>

#include "schema/prompt.h"

char *wish_who(const struct prompt *prompt);   /* "npm": what the user started; "profile npm" where that isn't known */
char *wish_what(const struct prompt *prompt);  /* "read a file" */
char *wish_gives(const struct prompt *prompt); /* what a button allows: "reading" */

/* What an allow covers beyond the target: "Allowing covers the whole folder ~/notes"; NULL: nothing. Whole. */
char *wish_reach(const struct prompt *prompt);

/* The target in so many lines, without its head where it is longer: "~/notes/plan.md", "…/notes/plan.md",
 * "…example.org:443". `ret_whole` is false when that leaves out of it what it is known by: the file's name, the
 * registrable domain. */
char *wish_target(const struct prompt *prompt, size_t lines, bool *ret_whole);

/* "read ~/notes/plan.md", and the reach, all of it; `brief`: in a line or two. */
char *wish_listed(const struct prompt *prompt, bool brief);
