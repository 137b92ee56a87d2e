/*
 * walking: does a process that asks for something go through a tree, and through which?
 *
 * Promises: what is found only words a question. Reads /proc alone; bounded (descriptors, words of a command line).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct walking_world {
	struct promptly *promptly; /* for the command line, which lies in the tool's memory; NULL: it is waited for */
	void *context;
	/* Has somebody listed this folder within the last so many milliseconds, as far as it is known? */
	bool (*listed)(void *context, const char *folder, int64_t within_ms);
};

/* The uppermost folder above `target` that the process walks through; NULL: it doesn't. Freed by the caller. */
char *walking_tree(pid_t thread, const char *target, const struct walking_world *world);
