/*
 * prompt_terminal: the inline prompt in the terminal of `sbx run` (runner/options.h, run_terminal).
 *
 * Promises: what was typed before the question was there is thrown away and so is what comes in the first moment after
 * (attack B10); nothing the tool wrote before keeps the prompt from being seen, and only a whole word, this prompt's
 * own code and Enter allow, so an answer to a picture of a prompt doesn't; what an allow is about is within the window
 * when it is typed, all of it; nothing is the default; Ctrl-C and Ctrl-D deny this once; a terminal that is gone
 * answers nothing (-EIO). Several prompts are one question, whose words are for all of them, or `choose` (-E2BIG, also
 * where the window has no room for all of them). The terminal's modes of the kernel (termios) are left as they were,
 * what the tool had switched on in the terminal itself (mouse, bracketed paste, margins) is off; who knows what that
 * was puts it back (runner/terminal/terminal.h). Untrusted text is shown through prompt_text. A question that ends
 * otherwise says how in its last line. Nothing is said by colour, or by bold letters alone.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "runner/run.h"
#include "schema/prompt.h"

enum { PROMPT_DELAY_MS = 400 };

/* For who has no pipe in which it says how a question ended (run_terminal). */
struct prompt_gone {
	json_t *(*how)(
		void *context); /* the push `prompt-gone`, or NULL when the broker is gone; freed by the caller */
	void *context;
};

/* run_terminal.ask; `context`: a struct prompt_gone, or NULL. */
int prompt_terminal_ask(void *context, const struct run_question *asked, int fd, int gone_fd, json_t **ret_answers,
			struct error *error);
