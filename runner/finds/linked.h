/*
 * linked: places that a view's patterns name by a link (`~/link` of `~/link/` + `*.pem`), and where the links lead. A
 * rule holds for what its path leads to, and so does what a pattern names behind its beginning.
 *
 * Promises: only the part of a pattern before its first wildcard is followed; what lies behind a link further on is
 * found by its own name alone. Of a moment (facts.h).
 */
#pragma once

#include "base/string.h"
#include "plan/facts.h"

/* Zero-initialise. */
struct linked {
	struct strings names, places; /* the way by a link, and where that leads, in one order */
};

void linked_finish(struct linked *linked);
#define CLEANUP_LINKED __attribute__((cleanup(linked_finish)))
bool linked_equal(const struct linked *linked, const struct linked *other);

/* Of normal texts of patterns. */
void linked_find(const struct strings *patterns, struct fact_book *book, struct linked *ret_linked);

/* The folders in these canonical trees that have a name by a link: each with it, for walk.h. */
void linked_trees(const struct linked *linked, const struct strings *trees, struct strings *ret_trees,
		  struct strings *ret_names);

/* Adds the names by links that a canonical path has. */
void linked_names(const struct linked *linked, const char *path, struct strings *names);

/* Adds to these patterns what they are where the links lead. */
void linked_patterns(const struct linked *linked, struct strings *patterns);
