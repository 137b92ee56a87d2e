/*
 * judge: who says what holds for paths that a pattern matched: the broker, by its message `resolve`, or a test.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/string.h"
#include "schema/view.h"

/* What the broker says of paths that patterns matched (message `resolve`). `modes` has room for all of them. */
struct layout_mode {
	enum view_mode mode;
	bool ask_write;
	enum view_denial denial;
	bool mask;
};
struct layout_judge {
	int (*resolve)(void *context, const struct strings *paths, struct layout_mode *modes, struct error *error);
	void *context;
};
