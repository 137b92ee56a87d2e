/*
 * git_config: values of a key in a git configuration file and what it includes (git-config(1), Syntax).
 *
 * Promises: bounded in bytes, lines and include depth; a file that is missing or malformed gives what could be read.
 */
#pragma once

#include "base/string.h"

/*
 * Adds to `values` each value of `key` ("core.hookspath": section and name in lower case, no subsection) in `file`
 * and its includes, and to `files` each file that was read or would be. A leading ~/ is expanded with `home`.
 */
void git_config_values(const char *file, const char *home, const char *key, struct strings *values,
		       struct strings *files);

/* The same of each value that names a program, or is a line for a shell. */
void git_config_commands(const char *file, const char *home, struct strings *lines, struct strings *files);

/* A path as git reads it: a leading ~/ is `home`, and ~USER/ that one's. Freed by the caller. */
char *git_config_expand(const char *value, const char *home);
