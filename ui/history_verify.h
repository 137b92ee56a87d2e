/*
 * history_verify: `sbx history --verify`: walk the chain, say how far it got on a terminal.
 */
#pragma once

#include "base/error.h"

/* Exit status: 0 intact, 1 with the first bad row named. */
int history_verify(struct error *error);
