/*
 * home_list: the homes that profiles have of their own, and one of them opened.
 *
 * Promises: only what sbx's own folder has; nothing in a home is looked at. A link, or what isn't the user's, is no
 * home. Its mode says nothing: a tool can change that.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct home_entry {
	char *profile;
	char *project; /* NAME-HASH of the project that it is for; NULL: all */
	char *folder;  /* where it lies */
};

struct home_list {
	struct home_entry *items; /* those for all projects first, then by project and profile */
	size_t count;
};

/* `home` is the user's. */
void home_list_read(const char *home, struct home_list *ret_list);
void home_list_finish(struct home_list *list);
#define CLEANUP_HOME_LIST CLEANUP(home_list_finish)

/* Open for reading; -ENOENT: there is none. The caller owns the descriptor. */
int home_open(const char *folder, struct error *error);
