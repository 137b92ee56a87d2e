/*
 * interpreters: which files the kernel runs when a program is executed: its own file behind the links, and what `#!`
 * lines and ELF headers name.
 *
 * Promises: advisory, in the sandbox's view (lead.h), never into the curtain: what lies there its nodes stand for.
 * Opens nothing but regular files (a tool may have put a link there), never writes, never blocks on a pipe or device;
 * bounded.
 */
#pragma once

#include "base/string.h"
#include "plan/lead.h"

/* Adds real paths and interpreters in the order in which the kernel comes to them; `first`: who walks, and from where.
 * 0, or what execve(2) fails with where there is no file that may be executed (ENOENT, EACCES of a folder …). Negative:
 * what the kernel would run can't be told (a file of the user's that may be executed and not read among them). */
int interpreters_find(const struct lead *first, const char *path, struct strings *ret_paths);
