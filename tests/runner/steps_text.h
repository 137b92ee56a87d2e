/*
 * steps_text: steps as text for golden files, one line a step.
 */
#pragma once

#include <assert.h>

#include "base/memory.h"
#include "base/string.h"
#include "plan/steps.h"

/* Freed by the caller. */
static inline char *steps_text(const struct steps *steps) {
	static const char *const words[] = {[STEP_PUT] = "put",
					    [STEP_PUT_UNDER] = "put-under",
					    [STEP_TAKE] = "take",
					    [STEP_RELEASE] = "release",
					    [STEP_READ_ONLY] = "read-only",
					    [STEP_WRITABLE] = "writable",
					    [STEP_REMOVE_LINK] = "remove",
					    [STEP_TELL] = "tell"};
	static_assert(ARRAY_LENGTH(words) == STEP_KIND_COUNT, "a word for every step");
	struct string text = {0};
	for (size_t i = 0; i < steps->count; i++) {
		CLEANUP_FREE char *mount = mount_text(&steps->items[i].mount);
		string_appendf(&text, "%-9s %s\n", words[steps->items[i].kind], mount);
	}
	return string_steal(&text);
}
