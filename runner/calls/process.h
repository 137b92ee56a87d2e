/*
 * process: who asks: the process of a thread and those above it, up to the sandbox's first.
 *
 * Promises: a name is what the process calls itself (prctl(2), PR_SET_NAME): for a person to read, never to judge by.
 * Reads /proc alone; bounded (LIMIT_PARENTS, LIMIT_PROCESS). It is read anew each time: one that becomes another
 * program (execve(2)) has another name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/string.h"

/* What it calls itself; "?" when it is gone. Freed by the caller. */
char *process_name(pid_t pid);

/* What /proc/TASK/NAME ("cwd", "fd/5") leads to, as a text: nobody follows it. Empty when there is none. Freed by the
 * caller. */
char *process_link(pid_t task, const char *name);

/* Its process's number and its own, as we count or, `inside`, as those do who live where it does; false: it is gone. */
bool process_numbers(pid_t task, bool inside, pid_t *ret_process, pid_t *ret_task);

/* When it began, since the machine did (CLOCK_BOOTTIME), and how long it has had the processor; -1: it is gone. In
 * milliseconds, as precise as a tick of proc_pid_stat(5), mostly 10 ms. */
int64_t process_start_ms(pid_t task);
int64_t process_ran_ms(pid_t task);

/* The number behind "NAME:\t" in a file of /proc that has such lines (status, fdinfo/5), 0 where there is none. */
unsigned long process_number(const char *path, const char *name, int base);

/* Does it live in the same pid namespace as `init`? Where nobody may see its namespace: does it descend from `init`? */
bool process_is_in(pid_t pid, pid_t init);

/* Those who were described lately are kept at hand: two system calls for each instead of six. NULL: nobody is kept. */
struct processes;
struct processes *processes_new(void);
void processes_free(struct processes *processes);

/* "curl (412)": the same for each of its threads. *ret_process is NULL when it is gone; parents nearest first, without
 * `init`. Both freed by the caller. */
void process_describe(struct processes *processes, pid_t thread, pid_t init, char **ret_process,
		      struct strings *ret_parents);
