/*
 * portal_reached: the folder that was walked to last: many names lie in the same one, and each walk anew costs.
 *
 * Promises: what is returned is the folder that its path led to when it was walked to; whoever mounts something at or
 * above it says so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reached {
	int fd;         /* O_PATH; -1: none */
	uint64_t mount; /* STATX_MNT_ID: what it lies on */
	char *path;
	size_t uses;
};
#define REACHED_NONE                                                                                                   \
	{ .fd = -1 }

/* `folder` (absolute, normal) below `root`: borrowed until the next call; -1 with errno. */
int reached_folder(struct reached *reached, int root, const char *folder);

/* Something was mounted at `path`, or taken from it. */
void reached_covered(struct reached *reached, const char *path);
void reached_forget(struct reached *reached);
