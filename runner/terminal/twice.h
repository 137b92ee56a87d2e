/*
 * twice: a question whose picture somebody else may paint over is asked twice, the second time on a cleared screen, and
 * only the second answer allows (attack R19).
 *
 * Promises: runs in the question's own process, with the tool's output held. The second question isn't put before
 * whoever reads the output, and the programs behind it, have read all that was handed on.
 */
#pragma once

#include <jansson.h>

#include "output.h"
#include "runner/options.h"

struct twice {
	const struct run_terminal *user;
	const struct output *output;            /* or NULL */
	bool others_write;                      /* somebody else may write to the terminal */
	bool (*is_busy)(void *context, int fd); /* others may have more to write to this terminal; NULL: none */
	void *context;
};

/* As run_terminal.ask, which it is for. */
int twice_ask(const struct twice *twice, const struct run_question *question, int fd, int gone_fd, json_t **ret_answers,
	      struct error *error);
