/*
 * arrivals: names that come to be on the host while a sandbox runs and that are to be masked in it: paths that a rule
 * hides or makes read-only and that weren't there (plan.h, `awaited`), and what patterns hide. And links that come to
 * be where one leads what is denied or asked about to another place (plan.h, `ways`).
 *
 * Promises: inotify(7) on each folder in which such a name can appear, and for a path on those above it, which may be
 * moved or removed and made anew; names alone. Where a folder can't be watched
 * (quotas, more than a quarter of the user's, more than LIMIT_ARRIVALS), that is said once, and all of them are looked
 * through again and again instead, with pauses of ARRIVALS_PAUSE_MS or ten times as long as a look takes. Each turn of
 * the loop is short. Who made a name is not told by the kernel: those that the sandbox makes are found like the host's.
 * Nothing is watched in the first ARRIVALS_BEGINS_MS (as watched.h); what came before is found then.
 */
#pragma once

#include <event2/event.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/pattern.h"

struct arrivals;

enum { ARRIVALS_BEGINS_MS = 100, ARRIVALS_PAUSE_MS = 1000 };

struct arrivals_options {
	struct event_base *base;
	struct pattern_scope scope; /* of the patterns; its texts are borrowed */
	/* `by_pattern`: also one that was told before; else an awaited one, or a link on a way. */
	void (*found)(void *context, const char *path, bool by_pattern);
	void *context;
};

struct arrivals *arrivals_new(const struct arrivals_options *options);

/* From now on these: normal texts of patterns, canonical folders in which they are looked for (sorted), names, and
 * ways, of which only links are told. */
void arrivals_follow(struct arrivals *arrivals, const struct strings *patterns, const struct strings *trees,
		     const struct strings *names, const struct strings *ways);
/* Folders in the trees have been swapped for others, which aren't watched yet. */
void arrivals_look(struct arrivals *arrivals);
void arrivals_free(struct arrivals *arrivals);
