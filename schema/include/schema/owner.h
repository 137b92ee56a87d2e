/*
 * owner: who holds one of the broker's locks, told across namespaces by the lock's own file.
 *
 * Promises: only words for a person depend on what the file says, and whether its holder lives in our user and PID
 * namespace; a broker never serves anybody of another (docs/protocol.md), which a container that shares the home or
 * runtime directory can't know from the socket.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Says in the locked file that it is us; on a full disk it says nothing. */
void owner_write(int lock);

/* -EXDEV: the lock is held by a process of another user or PID namespace. 0: it isn't, or that can't be told. */
int owner_refuse_foreign(const char *path, struct error *error);

/* The lock of the database is held by a process of this namespace: *error becomes what names it, unless it has not said
 * so. */
void owner_explain(const char *path, struct error *error);
