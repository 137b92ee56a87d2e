/*
 * yaml_text: a text as one YAML scalar that means just it.
 *
 * Promises: always in double quotes, the one style in which every character can be written (YAML 1.1, 5.6 and 9.1.1):
 * no trap of plain scalars (`*`, `[`, `#`, `off`, `~`, `1:30`) bites, the scalar is on one line, and what can't be seen
 * is escaped, so that what a person reads is what the parser takes.
 */
#pragma once

#include <stdbool.h>

#include "base/string.h"

/* False, with nothing appended, when the bytes are no UTF-8: YAML has no way to say them. */
bool yaml_append_quoted(struct string *out, const char *text);
