/*
 * home_size: how much of the disk is taken by what tools have left in a home.
 *
 * Promises: an inode counts once, however many names it has; no link is followed, no other file system entered, nothing
 * opened but folders. The look is bounded (LIMIT_WALK names, LIMIT_HOME_DEPTH): a tool can make more of them than
 * anybody can wait for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct home_size {
	uint64_t bytes; /* of the disk */
	bool more;      /* than that: not all was looked at */
};

void home_size(int folder, struct home_size *ret_size);
