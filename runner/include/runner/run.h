/*
 * run: one sandbox from launch to end (design section 7). `sbx run` is a thin command on top.
 *
 * Promises: nothing of the sandbox survives the return of run_sandbox; every failure to set up is an error before the
 * tool has run one instruction. Knows the broker only as a channel and the user only as run_terminal.
 */
#pragma once

#include "base/error.h"
#include "runner/options.h"

/* Returns the exit status, or a negative errno with *error filled (ui prints it and exits 125 … 127). */
int run_sandbox(const struct run_options *options, struct error *error);
