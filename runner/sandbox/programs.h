/*
 * programs: `proc:spawn` rules that don't allow, as rules for the files they name (attack F7).
 *
 * Promises: a denied program is taken away by every name it has in the folders of PATH and of the system, and so is
 * what a link of that name leads to; nothing compares command lines. Elsewhere its start is refused (sight.h). A copy
 * that a tool carries in under another name is not covered.
 */
#pragma once

#include "base/error.h"
#include "plan/rule.h"
#include "schema/view.h"

/* What is asked about is a node of the curtain, or stays as it is where its execution is `trapped`. */
int programs_add(const struct view *view, const char *search, bool trapped, struct rules *rules, struct error *error);

/* Where names of programs are looked for: folders of the system's, and of `search`, which is PATH or NULL. */
void programs_folders(const char *search, struct strings *ret_folders);

/* Is the program at `path` one that the view doesn't let run? With `asks` it can be asked for. */
bool programs_deny(const struct view *view, bool asks, const char *path);
