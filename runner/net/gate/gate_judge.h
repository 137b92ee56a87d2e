/*
 * gate_judge: what the gate asks the broker, and tells it: functions that the runner gives.
 */
#pragma once

#include <stdint.h>

#include "base/string.h"
#include "schema/verdict.h"

/* Who asks, for the words of a question alone; each may be NULL. */
struct gate_caller {
	const char *process;           /* "curl (412)" */
	const struct strings *parents; /* nearest first */
	const char *says; /* the host that its first bytes ask for, when it isn't the one that it connects to */
};

/* What the runner gives: ask the broker. `done` is called exactly once, now or later, unless cancelled before. */
struct gate_judge {
	void *context;
	/* Returns a ticket for cancel, 0 if done was already called. */
	uint64_t (*check)(void *context, const char *target /* host:port */, const struct gate_caller *caller,
			  void (*done)(void *argument, const struct verdict *verdict), void *argument);
	/* The same, but nobody is asked: what would be asked about is denied. */
	uint64_t (*check_unasked)(void *context, const char *target,
				  void (*done)(void *argument, const struct verdict *verdict), void *argument);
	/* The same for what lives already: nobody is asked and nothing recorded. NULL when there is no judge now. */
	uint64_t (*check_again)(void *context, const char *target,
				void (*done)(void *argument, const struct verdict *verdict), void *argument);
	/* The same for "ADDRESS:PORT" that a name which is allowed leads to: is it denied by what names addresses? */
	uint64_t (*check_address)(void *context, const char *target,
				  void (*done)(void *argument, const struct verdict *verdict), void *argument);
	void (*cancel)(void *context, uint64_t ticket);
	/* Allowed, and yet not made by the gate (a private address), or ended by it (which host its first bytes ask for
	 * isn't certain): for the history. May be NULL. */
	void (*refuse)(void *context, const char *target, int64_t grant, const char *why);
	/* The upstream proxy does not do its part: a sentence for the user, some of them. May be NULL. */
	void (*complain)(void *context, const char *sentence);
	/* A finished connection, for the history (kind `connection`). */
	void (*report)(void *context, const char *target, int64_t grant, const char *door, uint64_t sent,
		       uint64_t received, int64_t duration_ms, const char *error /* or NULL */);
};
