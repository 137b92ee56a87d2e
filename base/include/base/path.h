/*
 * path: absolute paths as text. Nothing here touches the file system.
 *
 * Promises: byte-exact (any byte but NUL may be in a name); a normal path is absolute, has no "//", "." or ".."
 * and no trailing slash (but "/" itself).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* `path` seen from `directory` (absolute; may be NULL when path is), normalised as text: ".." removes the name
 * before it, never above "/". -ENAMETOOLONG past PATH_MAX or for a name over NAME_MAX, -EINVAL if not absolute or
 * empty. */
int path_normalise(const char *directory, const char *path, char **ret_path, struct error *error);

bool path_is_below(const char *path, const char *tree); /* equal counts; both normal */
bool path_is_below_any(const char *path, const char *const *trees, size_t count);
size_t path_depth(const char *path);            /* "/" is 0, "/a" is 1 */
int path_compare(const char *a, const char *b); /* an order in which what is below a path directly follows it */
char *path_join(const char *directory, const char *name);
char *path_parent(const char *path);     /* of "/" is "/" */
const char *path_name(const char *path); /* borrowed: what is behind the last slash */
bool path_is_dots(const char *name);     /* "." or ".." */
bool path_has_up(const char *path);      /* is one of its names ".."? */
/* Where the last name begins and how long it is, also of a path that isn't normal: without the slashes behind it. */
const char *path_last(const char *path, size_t *ret_size);
