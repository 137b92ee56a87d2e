/*
 * ranges: is a code point in one of Unicode's tables?
 *
 * Promises: by halves; the ranges are sorted and don't overlap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
	uint32_t first, last;
};

bool ranges_contain(const struct range *ranges, size_t count, uint32_t point);
