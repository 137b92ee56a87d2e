/* `sbx suggest` for the session that `sbx run --record` has just ended. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

int suggest_session(int64_t session, FILE *out, struct error *error);
