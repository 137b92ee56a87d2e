#include "denied.h"

#include <limits.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"

struct verdict verdict_copy(const struct verdict *verdict) {
	struct verdict copy = *verdict;

	copy.why = verdict->why ? string_copy(verdict->why) : NULL;
	copy.rule = verdict->rule ? string_copy(verdict->rule) : NULL;
	return copy;
}

void denied_add(struct denied *denied, const char *target, const struct verdict *verdict) {
	denied_add_named(denied, NULL, target, verdict);
}

/* In the same words, or as what follows from the very answer that the first one was. */
static bool says_the_same(const struct verdict *verdict, const struct verdict *first) {
	CLEANUP_FREE char *again = string_format(VERDICT_WHY_AGAIN, (long long)first->prompt);
	return string_equal(verdict->why, first->why) || (first->prompt > 0 && string_equal(verdict->why, again));
}

static void count_again(struct denied_target *item, const struct verdict *verdict) {
	if (item->count < UINT_MAX) item->count++;
	item->brought = false;
	free(item->last);
	item->last = says_the_same(verdict, &item->verdict) ? NULL : string_copy_or_null(verdict->why);
}

void denied_add_named(struct denied *denied, const char *permission, const char *target,
		      const struct verdict *verdict) {
	for (size_t i = 0; i < denied->count; i++) {
		struct denied_target *item = &denied->items[i];

		if (!string_equal(item->target, target) || !string_equal(item->permission, permission)) continue;
		return count_again(item, verdict);
	}
	if (denied->count == LIMIT_DENIED) return;
	denied->items = array_grow(denied->items, denied->count, sizeof *denied->items);
	denied->items[denied->count++] = (struct denied_target){.permission = string_copy_or_null(permission),
								.target = string_copy(target),
								.count = 1,
								.verdict = verdict_copy(verdict)};
}

void denied_mark_brought(struct denied *denied, const char *target) {
	for (size_t i = 0; i < denied->count; i++)
		if (string_equal(denied->items[i].target, target)) denied->items[i].brought = true;
}

bool denied_has(const struct denied *denied, const char *target) {
	for (size_t i = 0; i < denied->count; i++)
		if (string_equal(denied->items[i].target, target)) return true;
	return false;
}

void denied_release(struct denied *denied, const int64_t *grants, size_t count) {
	for (size_t i = 0; i < denied->count; i++)
		for (size_t k = 0; k < count; k++)
			if (denied->items[i].verdict.grant == grants[k]) denied->items[i].verdict.grant = 0;
}

void denied_finish(struct denied *denied) {
	for (size_t i = 0; i < denied->count; i++) {
		free(denied->items[i].permission);
		free(denied->items[i].target);
		verdict_finish(&denied->items[i].verdict);
		free(denied->items[i].last);
	}
	free(denied->items);
	*denied = (struct denied){0};
}
