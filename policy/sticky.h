/*
 * sticky: what a rule or grant must be to lift one of base's masks and sensitive places.
 *
 * Promises: only a pattern whose part without wildcards reaches down to where the sticky rule's match ends lifts it.
 * So ~/.ssh/config and ~/.ssh/x* lift ~/.ssh, but the home itself never does, and no wildcard right behind it, however
 * deep that happens to match.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/ruleset.h"

bool sticky_is_lifted(struct pattern_rank sticky, const char *pattern_text);

/* The front of a path pattern's normal text that holds no wildcard: "/a" of "/a/b*c/d", "" of "/" and of a pattern that
 * begins with a wildcard. Returns its size; its names are in *ret_depth (may be NULL). */
size_t pattern_fixed_part(const char *pattern_text, uint32_t *ret_depth);
/* The same as a target, without the pattern's backslashes. Freed by the caller. */
char *pattern_fixed_target(const char *pattern_text);
