/*
 * bystanders: other processes that may write to the terminal while a question stands there: what reads a run's output,
 * background jobs of the shell.
 *
 * Promises: a look at /proc, without signals or tracing; whoever can't be looked at counts. One in another session that
 * was given the terminal isn't seen: it is looked for in ours alone, for a terminal controls one session
 * (tty_ioctl(4)).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Is there anybody else in this session with `tty` open? Not counted: `run` and each of `held` with all below them,
 * what `run` was started by (the shell), who writes our standard input and has the terminal as its own input and error
 * alone, and what is stopped.
 */
bool bystanders_are_there(int tty, pid_t run, const pid_t *held, size_t held_count);

/* Does one of them have more to read in its standard input, a pipe, and so perhaps more to write? */
bool bystanders_are_busy(int tty, pid_t run, const pid_t *held, size_t held_count);
