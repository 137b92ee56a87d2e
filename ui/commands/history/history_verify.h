/*
 * history_verify: `sbx history --verify`: walk the chain, say how far it got on a terminal.
 */
#pragma once

#include "base/error.h"

/*
 * Exit status: 0 intact, 1 with the first bad row or what else was changed named. `head`: "SEQ:HASH" of a row that must
 * be there, or NULL.
 */
int history_verify(const char *head, struct error *error);
