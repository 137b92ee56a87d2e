/*
 * home_words: what the commands about profiles' own homes have in common: which one is meant, and asking.
 *
 * Promises: a profile is named by what policies can call one, so no path comes of it.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* A profile's own home. */
struct own_home {
	char *folder; /* where it lies */
	char *words;  /* "npm's own home in ~/app", visible */
	int fd;       /* open for reading */
};

/* `project`: the directory of the one that it is for, which may be gone; NULL: all. -ENOENT says what there is. Zero it
 * before. */
int own_home_open(const char *profile, const char *project, struct own_home *ret_home, struct error *error);
void own_home_finish(struct own_home *own);
#define CLEANUP_OWN_HOME CLEANUP(own_home_finish)

/* Ask at the terminal: 1 for yes, 0 for no; -EPERM: there is none, and `--yes` or another option must have said so. */
int home_ask(const char *question, const char *otherwise, struct error *error);
