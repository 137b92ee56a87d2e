/*
 * scalar: what YAML 1.1 takes an unquoted scalar for, so that "off", "~" and "12:30" are met as what other YAML readers
 * see, with an error that says to quote, and not silently as text.
 */
#pragma once

#include "node.h"

/* NODE_TEXT, NODE_NULL, NODE_BOOL or NODE_NUMBER. By https://yaml.org/type/ (null, bool, int, float, timestamp). */
enum node_kind scalar_kind(const char *plain);
