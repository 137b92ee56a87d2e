/*
 * rule_name: which rule of the policy speaks of a path, as the broker explains it (message `why`); for sentences alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "schema/channel.h"

/* "FILE:LINE"; NULL: none does, or that can't be told. `takes`: what takes the path away or asks about it, also to be
 * written, comes before what gives it. Freed by the caller. */
char *rule_name(struct channel *channel, int64_t session, const char *path, bool takes);
