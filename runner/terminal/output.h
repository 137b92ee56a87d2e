/*
 * output: the run's standard output and error where they are pipes or sockets, so that what the tool writes there can
 * be held while a question stands on the terminal (attack R19): whoever reads them may write it to that very terminal.
 *
 * Promises: where there is no controlling terminal nothing is between the tool and its descriptors. The descriptions
 * that we were given are not changed (O_NONBLOCK is the shell's, too). A tool whose output is held is not: it waits
 * once its pipe is full, as for a slow reader. It gets SIGPIPE or EPIPE as soon as the reader has ended, all that it
 * wrote is handed on in its order, and a reader that takes its time keeps nothing else in the runner waiting, until
 * output_drain.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/memory.h"

struct output;

/* stdio: what the tool is to have as 0, 1 and 2; *ret_output stays NULL where nobody reads
 * what the tool writes, but for the terminal. */
int output_new(struct event_base *base, int stdio[3], struct output **ret_output, struct error *error);

/* All below take NULL. */
void output_begin(struct output *output); /* the sandbox has the tool's ends */
enum output_reason { OUTPUT_OWN_QUESTION = 1, OUTPUT_OTHERS_QUESTION = 2 };
void output_hold(struct output *output, enum output_reason why, bool held); /* passed on when there is no reason */

/* What was handed on has been read, or nobody reads it any more. */
bool output_is_read(const struct output *output);
bool output_has_more(const struct output *output); /* or some of it is still to be handed on */
void output_leave(struct output *output);          /* in a child: ours are not to be kept open by it */

/* Nobody writes any more: hand on what is left, `patiently`: however long it takes, else as much as has room. */
void output_drain(struct output *output, bool patiently);
void output_free(struct output *output);
DEFINE_CLEANUP(struct output *, output_free);
