/*
 * links: the symbolic links that a call makes, or brings to another place by a rename or a hard link.
 *
 * Promises: one that is made is made here, by the text and in the folder that were judged: the tool may change its
 * memory and its paths meanwhile. What a rename or hard link brings is looked at before the call goes on, and the tool
 * can race that (docs/threat-model.md). A folder is looked through, up to a bound.
 */
#pragma once

#include <sys/types.h>

#include "call_needs.h"
#include "calls/call.h"
#include "symlink.h"

enum { LINKS_MAX = 64 };

/* Zero-initialise. */
struct links {
	struct symlink items[LINKS_MAX]; /* in the folder, if it is one, those that it would lead elsewhere */
	size_t count;
	bool many; /* more than could be looked at */
	bool made; /* it is made here (links_open, links_make) */
};

/* Of a call that makes names and whose places are found (call->paths); `curtain`: the device of its nodes, 0: there are
 * none. Allocated only where there is one; NULL: the call has to do with none. */
struct links *links_read(pid_t thread, const struct call *call, dev_t curtain);
void links_free(struct links *links);

/* After a call was held: what it would bring may have been exchanged meanwhile. */
bool links_are_as_read(const struct links *links, pid_t thread, const struct call *call, dev_t curtain);

/* What is to be asked about, borrowed from the links; or what the call fails with: EXDEV where there are too many, so
 * that whoever moves a folder copies it, link by link. 0: see *ret_needs, of which there may be none. */
int links_judge(const struct links *links, struct sight (*sight)(void *context, const char *path), void *context,
		struct call_needs *ret_needs);

/* Adds to the keys those of the links that are asked about: for when they were allowed. NULL: nothing. */
void links_note(const struct links *links, struct sight (*sight)(void *context, const char *path), void *context,
		struct strings *keys);
char *links_key(const char *place, const char *text); /* no two links have the same, and none is a path */

/* What is seen now. */
struct links_view {
	dev_t curtain;
	struct sight (*sight)(void *context, const char *path);
	void *context;
};

/* 0 and the folder of a link that is made, as a name alone (O_PATH); or what the call fails with. It is the thread's if
 * that has been waiting all the while. */
int links_open(const struct links *links, pid_t thread, const struct call *call, const struct links_view *view,
	       int *ret_fd);
/* 0, or what the call fails with. */
int links_make(const struct links *links, const struct call *call, int fd);
