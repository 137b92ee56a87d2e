/*
 * prompt_answers: what can be answered to a question in the terminal, and what each answer does, in words.
 *
 * Promises: as prompt_text's: visible text, no line wider than `width`. Nothing is said by colour.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"
#include "schema/prompt.h"

/* The list of a question about several things. False: there is no room for all of a target, and its middle is cut. */
bool prompt_answers_things(const struct prompt *prompts, size_t count, int64_t now_ms, size_t width, size_t rows,
			   struct string *out);

/* Does a denial of all of them, without other words, hold until the run ends? */
bool prompt_answers_last(const struct prompt *prompts, size_t count);

/*
 * A question about one thing where there is room for so many lines of `width` columns, at least 12: who wants what, the
 * whole target, and all that an allow covers. False: it needs more, and what stands there is cut.
 */
bool prompt_answers_short(const struct prompt *prompt, size_t width, size_t lines, struct string *out);

/* The most rows that a terminal of `width` columns needs for these lines, as wide as it may draw letters that are not
 * ASCII's. What follows the last newline is no row. */
size_t prompt_answers_rows(const char *text, size_t width);

/* The words, with the code that belongs to those that allow. */
void prompt_answers_words(const struct prompt *prompts, size_t count, const char *code, size_t width,
			  struct string *out);

/* All that is known of one, uncut, and what each answer does, here and on a command line. */
void prompt_answers_details(const struct prompt *prompt, int64_t now_ms, size_t width, struct string *out);
