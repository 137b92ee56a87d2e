/*
 * host_made: the files and folders that calls of this run have made on the host (host_make.h).
 *
 * Promises: each is known by its path and inode, so that what somebody has put in its place isn't taken for it; at most
 * HOST_MADE_MOST. For several threads at once.
 */
#pragma once

#include <stdbool.h>

#include "base/memory.h"

enum { HOST_MADE_MOST = 1000 };

struct host_made;

struct host_made *host_made_new(void);
void host_made_add(struct host_made *made, const char *path); /* what the host has there now */
bool host_made_has(struct host_made *made, const char *path); /* likewise */
void host_made_free(struct host_made *made);
