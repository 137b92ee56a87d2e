/*
 * columns: how much room a letter takes on a terminal.
 *
 * Promises: what most terminals do, which is what Unicode says of each code point alone; the locale has no part in it.
 * Where one does otherwise a line is too long or too short, no more.
 */
#pragma once

#include <stdint.h>

/* 2: wide; 0: it is drawn over the letter before it; 1: all others, also what has no letter. */
unsigned columns_of(uint32_t point);
