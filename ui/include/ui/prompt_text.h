/*
 * prompt_text: a prompt in words, the same wherever it is shown as text (design section 8).
 *
 * Promises: all of it is visible text (base/text.h), no line is wider than `width` columns, so nothing that a tool
 * says can look like a part of sbx's own words: what comes from the tool stands behind a label, never at the start of
 * a line.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "schema/prompt.h"

/* "npm › sh › curl (pid 412, session 9; name not verified)": what started it stands before it; "session 9, before its
 * tool starts". Not made visible yet. Freed by the caller. */
char *prompt_asker(const struct prompt *prompt);
char *prompt_chain(const struct prompt *prompt); /* "npm › sh › curl (412)", for a table */

/* What the user started, by its name in the command: "npm". Visible. Freed by the caller; NULL: it isn't known. */
char *prompt_program(const struct prompt *prompt, size_t columns);

/* The subject of a sentence about it: that, or else what the process calls itself ("curl", "«a name of other
 * letters»"), or "session 9". Visible, and no wider than a name. Freed by the caller. */
char *prompt_who(const struct prompt *prompt);

/* "~/app (profile npm)". Not made visible yet. Freed by the caller. */
char *prompt_place(const struct prompt *prompt);

/* "example.org:443 (its first bytes ask for other.test, which must be allowed, too)", "/home/ada/notes (for
 * /home/ada/notes/todo.txt)". Not made visible yet. NULL without a target. Freed by the caller. */
char *prompt_target(const struct prompt *prompt);

/* The same for where there is room for so many columns: when it needs more, the target alone, for what stands behind
 * it may be the tool's and would have the target's own end cut. */
char *prompt_target_for(const struct prompt *prompt, size_t columns);

/* For a list: its target and name as people write them, "~/notes". */
void prompt_shorten(struct prompt *prompt);

/* What an answer in few words covers: the first scope that is offered. Borrowed. */
const char *prompt_scope(const struct prompt *prompt);
/* The same as a path, where it is more than the target; else NULL. Not made visible yet. Freed by the caller. */
char *prompt_reach(const struct prompt *prompt);

enum prompt_risk prompt_risk(const struct prompt *prompt);

/* The block that the inline prompt shows above its question. */
void prompt_describe(const struct prompt *prompt, int64_t now_ms, size_t width, struct string *out);

enum { UNCUT = 2000 }; /* lines: more than LIMIT_TARGET bytes take, all of them escaped */

/* "  label    bytes made visible", over at most so many lines, their middle cut if it needs more; NULL: nothing. A
 * label has at most eight columns, `width` is at least 40. */
void text_labelled(struct string *out, const char *label, const char *bytes, size_t width, size_t lines);
