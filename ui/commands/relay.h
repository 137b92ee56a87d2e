/*
 * relay: a terminal of its own for the process that --as-user drops to, as sudo's use_pty does it.
 *
 * Promises: whoever goes on from here can't reach root's terminal, which is neither one of 0, 1, 2 nor the controlling
 * one any more, so TIOCSTI (ioctl_tty(2)) types into the new terminal alone. Sizes, ^C, ^Z and the exit status go
 * through; root's terminal is left as it was found.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/*
 * Returns 0 in the process that is to go on (a child, unless there is no terminal to keep from it), still as root, with
 * a terminal that belongs to `uid`. The process that called relays, and ends as that one does.
 */
int relay_start(uid_t uid, struct error *error);
