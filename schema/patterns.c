#include "schema/patterns.h"

#include <stdlib.h>

int patterns_add(struct patterns *patterns, enum permission_kind kind, const char *text,
		 const struct pattern_scope *scope, struct error *error) {
	const struct permission permission = permission_of(kind);
	struct pattern *pattern = NULL;
	const int r = pattern_compile(&permission, text, scope, &pattern, error);
	if (r < 0) return r;
	patterns->items = array_grow(patterns->items, patterns->count, sizeof(struct pattern *));
	patterns->items[patterns->count++] = pattern;
	return 0;
}

void patterns_finish(struct patterns *patterns) {
	for (size_t i = 0; i < patterns->count; i++) pattern_free(patterns->items[i]);
	free(patterns->items);
	*patterns = (struct patterns){0};
}

bool patterns_match(const struct patterns *patterns, const char *target) {
	for (size_t i = 0; i < patterns->count; i++)
		if (pattern_match(patterns->items[i], target, NULL)) return true;
	return false;
}
