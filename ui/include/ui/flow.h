/*
 * flow: visible text (base/text.h) over several lines.
 */
#pragma once

#include <stddef.h>

#include "base/string.h"

/*
 * The last line of `out` has `indent` columns already; the text goes on there, broken at spaces, and anywhere in what
 * is longer than a line (a path has no spaces); further lines begin below. Ends with a newline. No line is wider than
 * `width`, which is more than `indent`.
 */
void flow_append(struct string *out, const char *visible, size_t indent, size_t width);
