/*
 * portal_dev: a sandbox's /dev: the harmless devices of the host, terminals of its own, shared memory.
 *
 * Promises: the same as bwrap's --dev makes, in a twentieth of its time (it reads all mounts again for each device).
 */
#pragma once

#include "base/error.h"
#include "portal_spaces.h"

/* On the folder /dev of a sandbox that was entered and has none yet. */
int dev_make(const struct spaces *spaces, struct error *error);
