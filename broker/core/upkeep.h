/*
 * upkeep: the history's index, tallies and retention, when nobody waits for anything else.
 *
 * Promises: bounded work a turn of the loop (a block of rows, a few milliseconds) with pauses in between that leave
 * most of the time to clients; whatever is behind is caught up with.
 */
#pragma once

#include <stdint.h>

struct broker;
struct upkeep;

struct upkeep *upkeep_new(struct broker *broker);
void upkeep_free(struct upkeep *upkeep); /* NULL is allowed */

void upkeep_look(struct upkeep *upkeep, int64_t keep_ms); /* once a second; rows are kept so long, 0: for ever */
