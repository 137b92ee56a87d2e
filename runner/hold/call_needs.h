/*
 * call_needs: what a trapped call would need that the sandbox doesn't have and that a rule asks about.
 *
 * Promises: lexical, by `sight` alone, so that where nothing is asked nothing is looked at (no oracle for what the
 * host has), but for what a mask in a writable tree lies on, whose name the sandbox sees; nothing below /proc, /sys and
 * /dev is ever asked about, but for the interpreters of what is executed there. Only once it is certain that somebody
 * will be asked, a file's being there decides between the file and its folder; only where programs are asked about, a
 * visible one's links and interpreters are followed.
 */
#pragma once

#include <stddef.h>

#include "base/string.h"
#include "calls/call.h"
#include "curtain/doorbell.h"

enum { NEEDS_MAX = 8 }; /* a folder that is moved takes several links along */

struct call_needs {
	struct need items[NEEDS_MAX]; /* one after the other; no two alike, but links to one place */
	size_t count;
	char *owned[NEEDS_MAX]; /* that paths of items are borrowed from; the others are the call's */
	bool made;              /* once they are had, what the call makes is made on the host (host_make.h) */
	int code;               /* whatever else it needs, the call fails with it; or 0 */
};

struct call_world {
	struct sight (*sight)(void *context, const char *path);
	/* On the host, of a path that is seen or asked about: */
	bool (*exists)(void *context, const char *path);
	/* Nothing is there, or an empty folder, which a rename replaces. */
	bool (*vacant)(void *context, const char *path);
	/* In the sandbox: nothing is at the path, and its folder is one that nobody but sbx has made, or a home. */
	bool (*lands)(void *context, const char *path);
	/* What the sandbox has at the path was made on the host for a call of this run, and is that still. */
	bool (*made)(void *context, const char *path);
	/* A masked name below the folder; borrowed for as long as the needs are used. NULL: none, and without this
	 * function it is the folder that is asked about. */
	const char *(*mask_below)(void *context, const char *folder);
	/* In the sandbox, of a path by which a program is asked about: a file that may be executed. */
	bool (*is_program)(void *context, const char *path);
	void (*programs)(void *context, const char *path, struct strings *ret_paths); /* interpreters_find */
	void *context;
};

/* `wanted`: of enum traps_wanted (filter.h). The call is borrowed for as long as the needs are used. */
void call_needs_find(const struct call *call, unsigned wanted, const struct call_world *world,
		     struct call_needs *ret_needs);
/* Those of `from`, whose paths are taken over, that are not among them take their place. */
void call_needs_take_others(struct call_needs *needs, struct call_needs *from);
void call_needs_finish(struct call_needs *needs);
#define CLEANUP_CALL_NEEDS __attribute__((cleanup(call_needs_finish)))
