/*
 * start: what whoever started this process left it with, made what every program here relies on.
 *
 * Promises: 0, 1 and 2 are open (/dev/null where they were closed: no file of ours gets such a number, which would be
 * written to, or handed to the tool; attack R22); no signal is blocked, and SIGCHLD is not ignored, which would hide
 * how children end (wait(2)); the program has a name for its messages, though it was started without any word. Other
 * signals that are ignored stay so: nohup(1). A descriptor that can't be opened, or a stack that is too
 * small to say more, ends the process with 125.
 */
#pragma once

#include <sys/types.h>

void start_process(void); /* first of all in main */

/* Fork a child's child, for which nobody has to wait: 0 in it, above 0 in the caller, -1: there is none (errno). */
pid_t start_orphan(void);
