/*
 * interpreters: which files the kernel runs when a program is executed: its own file behind the links, and what `#!`
 * lines and ELF headers name.
 *
 * Promises: advisory, in the sandbox's view (lead.h); not for one with a curtain. Opens nothing but regular files (a
 * tool may have put a link there), never writes, never blocks on a pipe or device; bounded.
 */
#pragma once

#include <sys/types.h>

#include "base/string.h"

/* Adds real paths and interpreters in the order in which the kernel comes to them. `folder`: where a path begins that
 * isn't absolute (lead.h). 0, or what execve(2) fails with where there is no file that may be executed (ENOENT, EACCES
 * of a folder …). Negative: what the kernel would run can't be told (a file of the user's that may be executed and not
 * read among them). */
int interpreters_find(pid_t thread, int folder, const char *path, struct strings *ret_paths);
