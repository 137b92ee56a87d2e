/*
 * own_lines: what the runner itself says on standard error is kept while a question stands on the terminal: it has
 * names of the tool's choice in it, and would be written over the question (attack R19).
 *
 * Promises: what is kept is said when nothing holds it any more, at the latest by own_lines_free; more than
 * OWN_LINES_MAX bytes of it are left out. It covers all of this process that writes to descriptor 2.
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
void own_lines_drop(struct own_lines *lines); /* what is kept is not said, nor what is said from now on */
void own_lines_free(struct own_lines *lines);
