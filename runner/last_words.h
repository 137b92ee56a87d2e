/*
 * last_words: what `sbx run` says when the command has ended, on stderr.
 *
 * Promises: one line for each of the first ten targets that were denied with what can be done about it
 * (schema/advice.h) and where the others are found (with --record: for all), one for each of the first
 * ten connections that broke where the tool can't have seen why, one for
 * variables that were not passed (on a terminal, or with SBX_DEBUG), one for each masked path that appeared; everything
 * that came from inside is made visible.
 */
#pragma once

#include "net/denied.h"
#include "net/gate.h"
#include "scene.h"

/* `denied`: one for each kind of permission. `gate` may be NULL. */
void last_words(const struct scene *scene, const struct gate *gate, const struct denied *denied, int64_t session);

/* The exit status: the tool's, or 125 with --fail-on-deny when anything was denied. */
int last_words_status(const struct scene *scene, const struct gate *gate, const struct denied *denied, int status);

/* The names in our own environment, at most LIMIT_ENVIRONMENT. */
void last_words_variable_names(struct strings *names);
