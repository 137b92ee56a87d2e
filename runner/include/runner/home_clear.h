/*
 * home_clear: remove all that is in a home.
 *
 * Promises: by descriptors, below the folder alone: no link is followed and no mount crossed, whatever is renamed
 * meanwhile. Nothing that is as deep or as locked (mode 0000) as a tool likes stays. The folder itself stays,
 * with mode 0700.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Has no sandbox the home that is open for reading? Not known is no. */
bool home_is_unused(int folder);

/* All of the folder that is open for reading. The error names what can't be removed; the rest is. */
int home_clear(int folder, struct error *error);
