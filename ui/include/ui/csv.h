/*
 * csv: one record of comma-separated values (RFC 4180).
 *
 * Promises: every value is visible text on one line; one that a spreadsheet would take for a formula (= + - @ first)
 * gets an apostrophe in front.
 */
#pragma once

#include "base/string.h"

void csv_append(struct string *line, const char *bytes); /* a comma first, but before the first value; NULL: empty */
