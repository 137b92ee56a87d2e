/*
 * event_words: what an event of the history is about, in words: the table's WHAT.
 *
 * Promises: never NULL, freed by the caller, not yet visible text (the table makes it so). What has no words yet is
 * shown as the JSON of its details.
 */
#pragma once

#include "schema/event.h"

char *event_what(const struct event *event);
