/*
 * streaks: what the user has denied again and again in one session, so that the third no is the last question.
 *
 * Promises: bounded; what was denied longest ago is forgotten first.
 */
#pragma once

#include <stdbool.h>

#include "schema/permission.h"

enum { STREAK_LENGTH = 3 };

struct streaks;

struct streaks *streaks_new(void);
void streaks_free(struct streaks *streaks);

/* Would one more denial of it be the STREAK_LENGTHth? */
bool streaks_are_full(struct streaks *streaks, const struct permission *permission, const char *target);
void streaks_deny(struct streaks *streaks, const struct permission *permission, const char *target);
void streaks_end(struct streaks *streaks, const struct permission *permission, const char *target); /* count anew */
