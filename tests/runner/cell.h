/*
 * cell: a real sandbox (bwrap, sbx-init, the filter) as an ordinary user, whose trapped calls the test judges: bwrap's
 * own mounts, no plan, no broker. The tool is calls.c.
 *
 * Inside: the host's paths. The tool's working folder has w and ask, which can be written, and read, which can't;
 * secret isn't there; /usr is the host's.
 */
#pragma once

#include <event2/event.h>

#include "calls/call.h"
#include "hold/traps.h"
#include "session/clearance.h"

struct cell {
	char *top; /* the working folder; its file `out` is what the tool printed */
	struct event_base *base;
	struct traps *traps;
	void (*called)(void *context, pid_t thread);            /* or NULL */
	struct sight (*sight)(void *context, const char *path); /* NULL: of the names, see cell_sight */
	bool (*plain)(void *context, const char *path);         /* traps_view; NULL: none is */
	uint64_t (*hold)(void *context, pid_t thread, const struct need *need, held_done *done, void *argument);
	void (*drop)(void *context, uint64_t ticket);
	struct clearance *clearance;   /* given, unless the test follows a file */
	bool (*behind)(void *context); /* NULL: never */
	/* NULL: at once */
	void (*carried_out)(void *context, void (*done)(void *argument), void *argument);
	/* of what runs */
	pid_t bwrap;
	int orders, wait_status;
	bool killable, ended;
	struct traps_counts counts;
};

/* For the whole program; started as root it becomes an ordinary user. */
void cell_make(struct cell *cell);
void cell_remove(struct cell *cell);

/* Start `/calls WORD…` (NULL ends the words) under the filter; cell_run serves until it has ended. */
void cell_start(struct cell *cell, unsigned wanted, const char *const *words);
void cell_run(struct cell *cell);
char *cell_output(const struct cell *cell); /* freed by the caller */

/* w is written freely, ask is read and writing is asked, read is read, /usr/bin/true is asked about as a program,
 * w/masked is a masked name that is missing, secret is asked about, the rest absent. */
struct sight cell_sight(void *context, const char *path);
