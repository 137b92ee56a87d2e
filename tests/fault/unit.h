/*
 * unit: a part of sbx used in this process, telling line by line what came of it, so that the same can be done with its
 * n-th allocation failing and be compared.
 *
 * Promises: each use is a process of its own, in a folder of its own; what it told survives it. A struck use is good
 * when it ended with 0 or 125 and told nothing but what the sound one told, in that order, up to an error with a
 * sentence; behind one, lines may be missing, never others be there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "schema/verdict.h"

struct unit {
	const char *what;
	void (*prepare)(void); /* before it, in a process that isn't struck; or NULL */
	void (*use)(void);
	bool late; /* it calls unit_strike itself */
	/* Afterwards, not struck: what is there now. No line that the sound one hasn't, in any order; unit_lose. Or
	 * NULL. */
	void (*look)(void);
};

struct unit_room {
	const char *name; /* for the table */
	const struct unit *units;
	size_t count;
};
#define UNIT_ROOM(name, array)                                                                                         \
	{ (name), (array), ARRAY_LENGTH(array) }

extern const struct unit_room units_base, units_schema, units_policy, units_broker, units_runner, units_net, units_ui,
	units_monitor, units_notify, units_suggest; /* units_notify: with SBX_NOTIFY */

/* For units. */
void unit_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void unit_tell_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* True when `r` is an error, whose sentence is told then. */
bool unit_failed(int r, const struct error *error);
void unit_tell_verdict(const struct verdict *verdict);
void unit_strike(void);
const char *unit_file(const char *name); /* in the folder; borrowed until the next call */
void unit_write(const char *name, const char *text, size_t size);
bool unit_told(const char *line); /* the use has told it */
void unit_lose(const char *what);

/* How much is tried, by SBX_FAULT_ROUNDS and SBX_FAULT_SEED. */
struct unit_sample {
	double rounds;
	double start; /* 0 … 1: where in its first step an even sample begins */
};
struct unit_sample unit_sample(void);

/* All units of a room; prints the claim. Returns how many uses were lost. SBX_FAULT_UNIT and SBX_FAULT_AT name one unit
 * and one allocation alone, SBX_FAULT_LOG shows what is told. */
int unit_room_run(const struct unit_room *room, struct unit_sample sample);
