#include "sticky.h"

#include <stdint.h>
#include <string.h>

#include "base/string.h"

size_t pattern_fixed_part(const char *pattern_text, uint32_t *ret_depth) {
	const char *end = pattern_text;
	uint32_t depth = 0;
	while (end[0] == '/' && end[1]) {
		const char *p = end + 1;
		for (; *p && *p != '/' && !strchr("*?[", *p); p++)
			if (*p == '\\' && p[1]) p++;
		if (*p && *p != '/') break;
		end = p;
		depth++;
	}
	if (ret_depth) *ret_depth = depth;
	return (size_t)(end - pattern_text);
}

char *pattern_fixed_target(const char *pattern_text) {
	const char *end = pattern_text + pattern_fixed_part(pattern_text, NULL);
	struct string target = {0};
	string_append(&target, "");
	for (const char *p = pattern_text; p < end; p++) {
		if (*p == '\\' && p + 1 < end) p++;
		string_append_char(&target, *p);
	}
	return string_steal(&target);
}

bool sticky_is_lifted(struct pattern_rank sticky, const char *pattern_text) {
	uint32_t depth;
	pattern_fixed_part(pattern_text, &depth);
	return depth >= sticky.depth;
}
