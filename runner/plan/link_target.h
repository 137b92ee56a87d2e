/*
 * link_target: where the text of a symbolic link leads whoever follows it on the host.
 *
 * Promises: looks with lstat and readlink alone, so that nothing is opened; never at what is `shut`, such as a file
 * system that may not answer; bounded in steps, however links are laid. The answer is a moment's.
 */
#pragma once

#include <sys/types.h>

#include "base/string.h"

enum link_reach {
	LINK_THERE,   /* something is there */
	LINK_MISSING, /* nothing is, but somebody could make it */
	LINK_NOWHERE, /* in a circle, or through a file */
	LINK_UNKNOWN, /* it is shut, or too far */
};

struct link_target {
	enum link_reach reach;
	char *path;   /* without links, as far as it was walked; what comes behind that is as the links say */
	mode_t mode;  /* of LINK_THERE */
	dev_t device; /* likewise, of a device file */
};

/* `folder`: in which the link lies; canonical. `shut` may be NULL. */
void link_target_find(const char *folder, const char *text, const struct strings *shut, struct link_target *ret_target);
void link_target_finish(struct link_target *target);
#define CLEANUP_LINK_TARGET CLEANUP(link_target_finish)
