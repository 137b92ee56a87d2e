#include "ranges.h"

bool ranges_contain(const struct range *ranges, size_t count, uint32_t point) {
	size_t first = 0;
	while (first < count) {
		const size_t middle = first + (count - first) / 2;
		if (point < ranges[middle].first)
			count = middle;
		else if (point > ranges[middle].last)
			first = middle + 1;
		else
			return true;
	}
	return false;
}
