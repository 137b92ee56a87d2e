/*
 * writable: the trees that any sandbox of this user could ever write, since a link that lies in one may be a tool's
 * work (attack R20).
 *
 * Promises: what was added is never forgotten: a link that was planted stays when the grant has ended. A path that
 * can't be looked up counts as writable.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "store/store.h"

bool writable_has(struct store *store, const char *path); /* at or below one of them; `path` is normal, without links */
/* Within a transaction. */
int writable_add(struct store *store, const char *path, struct error *error);
