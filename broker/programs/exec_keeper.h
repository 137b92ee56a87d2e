/*
 * exec_keeper: the process between the executor and one program of an exec line, so that nothing of it stays.
 *
 * Promises: when the program ends, when SIGTERM comes or the executor dies, all that the program has started is killed,
 * in whatever session or process group it is; then the keeper ends as the program has ended. The exception: a program
 * that kills its keeper (it may, being the user's) takes itself along, but not what it has put into other sessions.
 */
#pragma once

#include <sys/types.h>

/* In a process newly forked by `executor`. `pipes` become the program's stdin, stdout and stderr. */
_Noreturn void exec_keeper_run(char *const *argv, const int pipes[3], pid_t executor);
