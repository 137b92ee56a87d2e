/*
 * as_user: `sbx run --as-user NAME`, for those who are root: become that user first, then start over.
 *
 * Promises: what follows has exactly that user's ids and groups and no way back, and nothing of root's environment but
 * the terminal, the language, PATH and what --env names; descriptors but 0, 1, 2 are closed (attack K8), and root's
 * terminal is out of its reach: it gets one of its own (relay.h). Never returns to a half-dropped process: it either
 * starts over or fails.
 */
#pragma once

#include "base/error.h"
#include "base/string.h"

/* Returns only on error; -EPERM when we aren't root. `argv` is sbx's own whole command line. */
int as_user_start_over(const char *name, const struct strings *kept_variables, bool elsewhere, char *const *argv,
		       struct error *error);
