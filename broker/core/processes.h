/*
 * processes: a sandbox's processes, as /proc shows them below its process 1: stopped, continued, counted.
 *
 * Promises: a signal goes by a pidfd, and only to what was seen below process 1 while the pidfd was held: a number that
 * was given out again meets nobody. The caller must know that process 1 lives.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_seen {
	pid_t pid, parent;
	uint64_t start; /* ticks since boot (proc_pid_stat(5)): with the number it names one process */
	uint64_t runs;  /* how often its threads have left a processor, where all of them are stopped; else 0 */
};

/* Zero-initialise. */
struct processes {
	struct process_seen *items;
	size_t count;
};

void processes_finish(struct processes *processes);

bool process_is_below(pid_t process, pid_t ancestor);

/* Its session (setsid(2)) and the number of the device that is its controlling terminal, 0 for none; false: it is gone.
 */
bool process_terminal(pid_t process, pid_t *ret_session, int *ret_device);
/* Its session where that has one; 0: it has none. */
pid_t process_terminal_session(pid_t process);
bool process_is_in_background(pid_t process); /* of the terminal that it has */
bool process_has_ended(int pidfd);            /* all its threads have; not where that can't be seen (peer_has_ended) */
bool process_is_foreign(pid_t process);       /* another user's, as far as that can be seen */

/* It runs no instruction: stopped (^Z, SIGSTOP, a debugger), or its control group is frozen. */
bool process_is_halted(pid_t process);
bool process_is_stopped(pid_t process); /* not frozen alone */

/* One of its threads may be in a system call: it has neither stopped nor ended, nor is it frozen, or that can't be
 * seen.
 */
bool process_has_moving(pid_t process);

enum processes_stand { PROCESSES_RUN, PROCESSES_STAND, PROCESSES_WENT_ON };

/*
 * One pass. SIGSTOP goes to process 1 first, and to every process below it that isn't stopped yet; those are added to
 * `stopped`. PROCESSES_STAND: the pass found all of them stopped, or sure to stop before their next instruction (in the
 * kernel, or frozen, with the signal pending). One such pass may have overlooked a process that was handed from parent
 * to parent. PROCESSES_WENT_ON: one has run that was stopped at the pass before, which left `seen`; a SIGCONT that its
 * own timer sends is enough for that (kill(2), timer_create(2)).
 */
enum processes_stand processes_stop(pid_t first, struct processes *stopped, struct processes *seen);

/* SIGCONT to those, the last that was found first: process 1 goes on when all others do. It is empty then. */
void processes_continue(struct processes *stopped);

/* All that there are, process 1 first. */
void processes_list(pid_t first, struct processes *ret_list);

/* How many there are, without process 1, which is sbx-init; at most LIMIT_PROCESSES. */
size_t processes_count(pid_t first);
