/*
 * history_tally: how much of what happened when to whom, so that a summary reads no rows. For history*.c alone.
 *
 * Promises: the tallies are the sum over the rows up to tallied_seq that retention has left, exactly: what goes is
 * taken off again. history_verify compares the two.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "history_row.h"

enum { TALLY_SESSIONS, TALLY_DECISIONS, TALLY_ASKED, TALLY_DENIED, TALLY_COUNT };
enum { QUARTER_MS = 15 * 60 * 1000 }; /* every time zone's days begin with one */

static inline int64_t quarter_of(int64_t time_ms) {
	return time_ms / QUARTER_MS - (time_ms % QUARTER_MS < 0);
}

struct tally {
	int64_t session; /* 0 = of all */
	int64_t quarter;
	char *profile, *project;
	int64_t counts[TALLY_COUNT];
};

struct tallies {
	struct tally *items;
	size_t count;
};
void tallies_finish(struct tallies *tallies);
#define CLEANUP_TALLIES __attribute__((cleanup(tallies_finish)))

void tallies_add_row(struct tallies *tallies, const struct row *row);

/* Within a transaction; `sign` 1 adds, -1 takes off. */
int tallies_write(struct history *history, const struct tallies *tallies, int sign, struct error *error);

/*
 * The same number for equal sums, and almost surely another for others: whichever way they are split, the digests of
 * the parts add up to that of the whole (modulo 2⁶⁴).
 */
uint64_t tally_digest(const struct tally *tally);
