/*
 * check_terminal: `sbx check` asks in the terminal that it was typed in, as `sbx run` does (prompt_terminal).
 *
 * Promises: whoever sits there counts as somebody who can be asked; only the question that this very check raises is
 * shown; an answer from elsewhere takes it down. Without a terminal that is ours to read, it's a plain call.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"

/* The `check` request (`body` is taken over) and its reply, however long that takes. */
int check_call(json_t *body, json_t **ret_reply, struct error *error);
