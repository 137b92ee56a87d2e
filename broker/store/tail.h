/*
 * tail: a file of lines beside the database: what was written but isn't in the database yet.
 *
 * Promises: a line is there as a whole or not at all, also after the end of this process (not of the machine: nothing
 * is synced here); private, as the database (attack B11). What is in it is for the reader to judge.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct tail;

/* The file at `path`, made when there is none. */
int tail_open(const char *path, struct tail **ret_tail, struct error *error);
void tail_free(struct tail *tail);

/* All of it, for the caller to free. */
int tail_read(const struct tail *tail, char **ret_bytes, size_t *ret_size, struct error *error);

/* Behind the last line; `line` ends with a line feed. */
int tail_append(struct tail *tail, const char *line, size_t size, struct error *error);

/* Is it still the file that has this name, and as long as it was made? */
bool tail_is_whole(const struct tail *tail);

/* Keep only the first `size` bytes. */
int tail_cut(struct tail *tail, size_t size, struct error *error);
