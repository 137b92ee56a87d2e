#include "sticky.h"

#include <stdint.h>
#include <string.h>

/* The names at the front of a path pattern's normal text that hold no wildcard. */
static uint32_t fixed_depth(const char *text) {
	uint32_t depth = 0;
	while (*text == '/') {
		bool empty = true;
		for (text++; *text && *text != '/'; text++) {
			if (strchr("*?[", *text)) return depth;
			if (*text == '\\' && text[1]) text++;
			empty = false;
		}
		if (!empty) depth++;
	}
	return depth;
}

bool sticky_is_lifted(struct pattern_rank sticky, const char *pattern_text) {
	return fixed_depth(pattern_text) >= sticky.depth;
}
