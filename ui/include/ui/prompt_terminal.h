/*
 * prompt_terminal: the inline prompt in the terminal of `sbx run` (runner/run.h, run_terminal).
 *
 * Promises: what was typed before the question was there is thrown away and so is what comes in the first moment after
 * (attack B10); only a whole word and Enter allows, nothing is the default; Ctrl-C and the end of input deny this once;
 * the terminal is left as it was. Untrusted text is shown through prompt_text.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "schema/prompt.h"

enum { PROMPT_DELAY_MS = 400 };

/* run_terminal.ask; `context` is not used. */
int prompt_terminal_ask(void *context, int fd, int gone_fd, const struct prompt *prompt, json_t **ret_answer,
			struct error *error);
