/*
 * prompt_ending: how a question ended, in the words of those who were asked and see it taken down.
 *
 * Promises: one short line without an end and without "sbx:", whatever the push says; what it doesn't know it passes
 * over.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* "allowed for 1h, on the desktop", "nobody answered: denied". `gone`: the push `prompt-gone` (docs/protocol.md), or
 * NULL when the broker that asked is gone. Freed by the caller. */
char *prompt_ending(const json_t *gone);

bool prompt_is_put_off(
	const json_t *gone); /* it hasn't ended: the run that asks is about to stop (runner/terminal/ask.c) */
