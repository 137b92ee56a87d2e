/*
 * command: which program a command name means, and what must be visible for it to run (design section 7).
 *
 * Promises: the caller's PATH decides, through links and `#!` lines as the kernel and env(1) follow them, bounded. A
 * place is never $HOME, what is above it, /, or a folder that merely collects things (~/.local, /run, /tmp …).
 */
#pragma once

#include "base/error.h"
#include "base/string.h"

struct command {
	char *path;            /* absolute, as found on PATH: what is executed */
	char *real;            /* links resolved: what a profile is chosen by */
	struct strings places; /* folders or files to show read-only, as found (links not resolved) */
};

/*
 * `name` with a slash is taken from `directory` (the working directory), else from `search` (PATH). -ENOENT: not
 * found; -EACCES: found but not executable (exit codes 127 and 126 of shells). A link or `#!` line below `untrusted`
 * (the project, canonical; or NULL) makes nothing visible but known installers' places: a tool may have aimed it.
 */
int command_find(const char *name, const char *search, const char *directory, const char *home, const char *untrusted,
		 struct command *ret_command, struct error *error);
void command_finish(struct command *command);
#define CLEANUP_COMMAND CLEANUP(command_finish)

/* The folders of `search` for which `visible` says yes, in order, joined by ':'. Relative ones are dropped. */
char *command_visible_path(const char *search, bool (*visible)(const void *context, const char *path),
			   const void *context);
