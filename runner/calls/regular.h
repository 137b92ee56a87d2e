/*
 * regular: small regular files that somebody else may have planted.
 *
 * Promises: never blocks on a FIFO or device, never reads past the limit.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* The first `limit` bytes, NUL-terminated (freed by the caller); -EINVAL when it isn't a regular file. Links are
 * followed. *ret_size may be NULL. */
int regular_read(const char *path, size_t limit, char **ret_bytes, size_t *ret_size, struct error *error);
