/*
 * job: the tool as a job of the user's shell: what stops, goes on, and is signalled with it.
 *
 * Promises: signals that we get are the tool's (SIGHUP: hangup.h), but for those that were ignored when we were
 * started, and SIGTSTP while a call of the tool waits for an answer: the signal would end that call (EINTR), so we stop
 * alone. When the tool stops, we stop in the eyes of our shell, with the pipeline that
 * we are in, and when we go on it goes on, with the terminal where it had it.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

#include "launch.h"
#include "terminal/terminal.h"

struct job;

struct job_options { /* borrowed, until job_free */
	struct event_base *base;
	struct launch *launch;
	struct terminal *terminal;    /* or NULL */
	const bool *is_terminal;      /* of 0, 1, 2 */
	bool (*waits)(void *context); /* a call of the tool waits for an answer, which isn't asked for just now; or it
					 has ended */
	bool (*asks)(void *context);  /* a question stands on the terminal, which was the tool's */
	void (*stopping)(void *context);  /* we are about to stop */
	void (*going_on)(void *context);  /* we may be in the foreground now */
	void (*not_taken)(void *context); /* an order could not be given to the sandbox */
	void *context;
};

struct job *job_new(const struct job_options *options);
void job_stopped(struct job *job, int number); /* the tool, by that signal. Back when it goes on, or after SIGSTOP */
void job_suspend(struct job *job);             /* ^Z while a call waits for an answer: the tool isn't stopped */
void job_free(struct job *job);
