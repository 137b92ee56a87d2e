/*
 * den: a process in a user, mount and network namespace of its own under a filter that holds connect(2) and sendto(2)
 * with an address: what socket_calls hand on, without the rest of a sandbox.
 *
 * Inside: the host's paths, but for TOP/hidden, where a tmpfs lies. Process 1 of its own pid namespace is the den's
 * (`init`); the tool is its child.
 */
#pragma once

#include <event2/event.h>
#include <sys/types.h>

#include "calls/socket_calls.h"
#include "net/sockets/diag.h"

struct den {
	char *top; /* of the host: TOP/shown, TOP/hidden */
	struct event_base *base;
	void (*handle)(void *context, struct socket_call *call); /* before den_run; context is the den */
	/* of what runs */
	pid_t outer, init;
	struct socket_calls *calls;
	struct socket_caller caller;
	struct diag *diag;
	int listener, said;
	struct event *held, *heard;
	size_t taken; /* calls that were handed on */
	char output[4096];
	size_t output_size;
	bool ended;
};

void den_make(struct den *den); /* for the whole program */
void den_remove(struct den *den);

/* Run `tool` inside, whose words (den_say) are the output; den_run returns when it has ended, or when somebody breaks
 * the loop: then it is called again. */
void den_start(struct den *den, void (*tool)(const char *top));
void den_run(struct den *den);
void den_end(struct den *den); /* and what remains is ended */

/* Of the tool: a line "WHAT: worked" or "WHAT: ERRNO" by what a call returned; a line. */
void den_say(const char *what, long result);
void den_write(const char *line);
