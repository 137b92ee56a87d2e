/*
 * own_lines: the runner's own messages on standard error wait while a question stands on the terminal. They name things
 * of the tool's choice, and would be written over the question (attack R19).
 *
 * Promises: messages that wait are written when nothing holds them any more, at the latest by own_lines_free; those
 * past OWN_LINES_MAX bytes are left out. Everything that this process writes to descriptor 2 is covered.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "output.h"

enum { OWN_LINES_MAX = 64 * 1024 };

struct own_lines;

int own_lines_new(struct own_lines **ret_lines, struct error *error);

/* All below take NULL. */
void own_lines_hold(struct own_lines *lines, enum output_reason why, bool held);
bool own_lines_have_more(const struct own_lines *lines); /* something waits */
void own_lines_drop(struct own_lines *lines); /* nothing more is written, neither what waits nor what comes */
void own_lines_free(struct own_lines *lines);
