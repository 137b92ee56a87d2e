/*
 * exec_file: may this file decide for everybody (the program of an exec line)?
 *
 * Promises: the file, every link and every folder on the way to it belong to root (or `owner`, for tests) and can be
 * changed by nobody else. A folder for all with the sticky bit will do, since what lies in it is looked at, too.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* `path` is absolute. -EPERM, -ENOENT, -EACCES … with a sentence that begins with the place at fault. */
int exec_file_check(const char *path, uid_t owner, struct error *error);
