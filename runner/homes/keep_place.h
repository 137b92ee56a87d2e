/*
 * keep_place: where in the user's home something is kept.
 *
 * Promises: no link is followed to it; it is not in a folder of sbx's, nor around one. `path` is keep_path's.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Is it a place, and is a file there already? -EPERM, -EEXIST, -ELOOP, -ENOTDIR with a sentence. */
int place_look(const char *home, const char *path, bool *ret_there, struct error *error);

/* The folder that it is in, which is made, with those above it, where it is missing. The caller owns the descriptor. */
int place_open(const char *home, const char *path, struct error *error);
