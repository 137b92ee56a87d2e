/*
 * nearest: "did you mean …?" for a mistyped word.
 *
 * Promises: offers only what is near (a third of the letters may differ, at least one), by edit distance with swapped
 * neighbours counted once; ties go to the word offered first.
 */
#pragma once

#include <stddef.h>

enum { NEAREST_WORD_MAX = 32 }; /* longer words are never near to anything */

struct nearest {
	const char *word;  /* borrowed */
	const char *found; /* borrowed */
	size_t distance;
};

struct nearest nearest_start(const char *word);
void nearest_offer(struct nearest *nearest, const char *candidate);
const char *nearest_found(const struct nearest *nearest); /* NULL when nothing is near */
