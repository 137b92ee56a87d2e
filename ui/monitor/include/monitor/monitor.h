/*
 * monitor: `sbx monitor`, full screen: the terminal, its signals and the loop around monitor_model.
 *
 * Promises: the terminal is given back as it was found, however it ends but by SIGKILL; asleep while nothing happens,
 * awake once a second where a time left is shown.
 */
#pragma once

#include "base/error.h"

/* The exit status: 0 after `q`, 128 + the signal that ended it; -ENOTTY without a terminal. */
int monitor_run(struct error *error);
