/*
 * glob: wildcards within one name or text: `*` any run, `?` one character, `[a-z]` `[!a-z]` one of a set, `\` takes the
 * next character as it is. A leading dot is nothing special.
 *
 * Promises: no allocation; time at most text × pattern (one backtrack point).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool glob_match(const char *pattern, size_t pattern_size, const char *text, size_t text_size);
bool glob_has_wildcard(const char *pattern);
/* The size of the pattern's first element: a star, `?`, a set, or a character, with its backslash if it has one. */
size_t glob_step(const char *pattern, size_t size);
bool glob_step_is_wild(const char *step, size_t size); /* `?` or a set */
uint32_t glob_fixed(const char *pattern);              /* how many bytes of what it matches it spells out */
char *glob_quote(const char *text);                    /* freed by the caller */
char *glob_unquote(const char *pattern);               /* of a pattern without wildcards; freed by the caller */
