/*
 * problems: what is wrong with one policy file, each with its place.
 *
 * Promises: at most LIMIT_POLICY_ERRORS are kept; they come out in the order of the file, as
 * "file:line:column: what, and what was expected". Texts from the file must have been made visible by the caller
 * (SHOWN does it).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/string.h"

/* Counted from 1; a column is a character, not a byte. */
struct place {
	unsigned line, column;
};

struct problem {
	struct place place;
	char *text;
};

struct problems {
	const char *file; /* borrowed */
	struct problem *items;
	size_t count;
	size_t total; /* also those that were not kept */
};

void problems_add(struct problems *problems, struct place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool problems_are_full(const struct problems *problems);

/* Sorts them into *errors (may be NULL) and empties the list. */
void problems_finish(struct problems *problems, struct strings *errors);

/* A variable `name` with the text of a file, visible and short, freed at the end of its scope. */
#define SHOWN(name, text) CLEANUP_FREE char *name = text_visible_cut((text), 60)
