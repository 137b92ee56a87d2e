/*
 * exec_verdict: what the program of an exec line reads and writes (sbx-policy(5), PROGRAMS THAT DECIDE).
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "policy/stack.h"
#include "schema/request.h"

/* One line of JSON. Freed by the caller. */
char *exec_verdict_ask(const struct request *request);

/* *ret_answer without its command. -EINVAL when it is no verdict to the letter. */
int exec_verdict_read(const char *output, size_t size, struct stack_exec_answer *ret_answer, struct error *error);
