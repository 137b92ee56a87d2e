/*
 * workers: threads for what can't be done without blocking (the C library's resolver), and its results on the loop.
 *
 * Promises: a bounded number of threads, which leave when they have nothing to do; `done` runs on the loop, never from
 * inside workers_start, and not after worker_cancel or workers_free. Neither waits for work that is under way: its
 * thread finishes alone and drops what came out. Signals stay with the loop's thread.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

struct workers;
struct worker_job;

/* What is to be done with `work`, which is the job's until `drop`. */
struct worker_task {
	void (*run)(void *work);                  /* in a thread */
	void (*done)(void *work, void *argument); /* on the loop */
	void (*fail)(void *work);                 /* instead of run: there is no thread to be had */
	void (*drop)(void *work);                 /* frees it, in whichever thread; after done, or without it */
};

struct workers *workers_new(struct event_base *base, size_t threads_max);
void workers_free(struct workers *workers);

/* `task` must live as long as the program. */
struct worker_job *workers_start(struct workers *workers, const struct worker_task *task, void *work, void *argument);
void worker_cancel(struct worker_job *job);
