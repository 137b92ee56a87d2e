/*
 * roots: the folders of a project for which ${root} stood in a session of it: what was found to be a repository of its
 * own (attack R8).
 *
 * Promises: at most LIMIT_ROOTS_FOUND of a project, of which the first ones stay: no later one takes the place of
 * another.
 */
#pragma once

#include "base/error.h"
#include "base/string.h"
#include "store/store.h"

/* In the order in which they were found, added to *roots. */
int roots_of(struct store *store, const char *project, struct strings *roots, struct error *error);
/* Both within a transaction. */
int roots_add(struct store *store, const char *project, const char *path, struct error *error);
int roots_remove(struct store *store, const char *project, const char *path, struct error *error);
