/*
 * settled: processes that still held something when a right had ended, as the broker is told of them (message
 * `settled`).
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/memory.h"

struct holder {
	pid_t pid; /* here, not inside */
	char *command, *path;
};

/* Zero-initialise. */
struct holders {
	struct holder *items; /* the first LIMIT_HOLDERS_TOLD */
	size_t count;         /* of items */
	size_t all;
};
void holders_finish(struct holders *holders);
