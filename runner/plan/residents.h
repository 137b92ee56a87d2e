/*
 * residents: the sandboxes that have one home at the same time.
 *
 * Promises: each holds a lock on the folder for as long as its runner lives (F_OFD_SETLK, fcntl(2)), so that one that
 * was killed is none any more.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The runner `pid`, this process, is one for as long as the descriptor of the folder is open. 0 or -errno. */
int residents_enter(int folder, pid_t pid);
/* Is there no other one than the runner `pid`? Not known is no. The folder is open for reading. */
bool residents_alone(int folder, pid_t pid);
