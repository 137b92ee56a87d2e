/*
 * last_words: what `sbx run` says when the command has ended, on stderr.
 *
 * Promises: what was denied and what can be done about it (blocked.h), a line for each of the first ten connections
 * that broke where the tool can't have seen why, one for variables that were not passed (on a terminal, or with
 * SBX_DEBUG), at most one for each kind of finding (findings.h), one
 * of what is new in its home (kept.h; NULL: nothing is); everything that came from inside is made visible.
 */
#pragma once

#include "blocked.h"
#include "findings.h"

void last_words(const struct blocked *blocked, const struct findings *findings, const char *kept);

/* The exit status: the tool's, or 125 with --fail-on-deny when anything was denied. */
int last_words_status(const struct blocked *blocked, int status);

/* The names in our own environment, at most LIMIT_ENVIRONMENT. */
void last_words_variable_names(struct strings *names);
