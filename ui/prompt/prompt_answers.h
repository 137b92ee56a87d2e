/*
 * prompt_answers: what can be answered to a question in the terminal, and what each answer does, in words.
 *
 * Promises: as prompt_text's: visible text, no line wider than `width`. Nothing is said by colour.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"
#include "schema/prompt.h"

/* The list of a question about several things. */
void prompt_answers_things(const struct prompt *prompts, size_t count, int64_t now_ms, size_t width, size_t rows,
			   struct string *out);

/* Does a denial of all of them, without other words, hold until the run ends? */
bool prompt_answers_last(const struct prompt *prompts, size_t count);

/* The words, with the code that belongs to those that allow. */
void prompt_answers_words(const struct prompt *prompts, size_t count, const char *code, size_t width,
			  struct string *out);

/* All that is known of one, uncut, and what each answer does, here and on a command line. */
void prompt_answers_details(const struct prompt *prompt, int64_t now_ms, size_t width, struct string *out);
