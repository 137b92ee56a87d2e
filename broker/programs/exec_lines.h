/*
 * exec_lines: the command lines that the administrator's stack allows, as the executor itself reads them.
 *
 * Promises: what sbxd says is not believed: only a command that stands there word for word, with a time-out that is no
 * longer than the line's, is found. The files are read by policy_source_read, which checks owner and mode, and again
 * when they have changed; those with errors leave the lines as they were, as in sbxd.
 */
#pragma once

#include "policy/source.h"
#include "policy/stack.h"

struct exec_lines;

/* `folder` and `owner`: policy_source; copied. */
struct exec_lines *exec_lines_new(const char *folder, uid_t owner);
void exec_lines_free(struct exec_lines *lines);

/* `argv` ends with NULL. */
bool exec_lines_has(struct exec_lines *lines, char *const *argv, int64_t timeout_ms);
