/*
 * led: a path that leads elsewhere by a link is judged as a run finds it: by the name of where it leads, unless it is
 * denied, or given there, by its own name.
 *
 * Promises: looks at links as they are now, asks the broker (`why`) and records nothing. In doubt it is the name of
 * where the path leads, which gives no more than a run would.
 */
#pragma once

#include <jansson.h>

#include "schema/permission.h"

/* The name to ask about in the place of `target`, for whom `whose` says ("profile", "project", "session", as of `why`).
 * NULL: the target's own. Freed by the caller. */
char *led_name(const json_t *whose, const struct permission *permission, const char *target);
