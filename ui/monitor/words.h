/*
 * words: the longer texts of `sbx monitor`: all that is known of the chosen line, and the form's question.
 *
 * Promises: visible text alone, no line wider than `width` (at least 40).
 */
#pragma once

#include "model.h"

void words_details(const struct monitor_model *model, size_t width, struct string *out); /* "" when nothing is chosen */
void words_help(size_t width, struct string *out);

/* "today: 41 decisions, 2 asked, 1 denied", or that the broker is gone. Freed by the caller. */
char *words_state(const struct monitor_model *model);
