/*
 * symlink: where a symbolic link leads for the host's programs, and whether that is to be asked about (attack R2).
 *
 * Promises: a link that leads to what the sandbox may write itself, in the tree that the link is in, or to what the
 * user can't write, is silent; so is one that is made where the host's programs don't meet it. All others are asked
 * about, also those of which it can't be told, and all that lie in a git directory, but for git's own trial.
 */
#pragma once

#include <stdbool.h>

#include "curtain/doorbell.h"

/* All of it owned. Zero-initialise. */
struct symlink {
	char *place;   /* of the link, as the sandbox calls it; what is the host's is called so there, too */
	char *from;    /* where it lies, if it is only brought there; or NULL */
	char *text;    /* of the link */
	char *target;  /* what the text says, seen from there; "/" where it can't be told */
	char *real;    /* that behind the host's links, as far as it is there; NULL: it can't be told */
	bool twisted;  /* a `..` behind a name, which may become another folder, or a link */
	bool git;      /* it lies in a git directory, or leads to one or a folder in one */
	bool writable; /* `real` may be written by the user, or made */
};

/* By what the host has there, with the user's own rights: for any thread, but not where nobody may wait. */
void symlink_read(const char *place, const char *text, struct symlink *ret_link);

/* Borrowed: what is asked about, what it leads to. NULL: nothing is. Lexical. */
const char *symlink_asks(const struct symlink *link, struct sight (*sight)(void *context, const char *path),
			 void *context);

bool symlink_folder_is_git(const char *folder); /* a git directory, or below one */

void symlink_finish(struct symlink *link);
#define CLEANUP_SYMLINK __attribute__((cleanup(symlink_finish)))
