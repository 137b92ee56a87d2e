/*
 * home_keep: copy what a tool has left in a profile's own home to the same place in the user's.
 *
 * Promises: files and folders alone. A link, a device, pipe or socket, set-ID bits and mount points of sbx's are
 * refused by name, also in a folder, and then nothing of it is kept; nothing is opened to find that out, so nothing
 * blocks. No link is followed, neither there nor here. What was shown is what is copied, as far as its size and the
 * number of its names say; else nothing is. The copy is made beside its place and renamed to it, so that it is there
 * whole or not at all. sbx's own folders and those that many programs share are no place. Nobody else can write what
 * was kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What `text` names, relative to the home: a path as it is there, "~/…", or an absolute one below the user's `home`.
 * -EINVAL says what to name instead. Freed by the caller. */
int keep_path(const char *home, const char *text, char **ret_path, struct error *error);

struct keep_thing {
	bool folder;
	bool program;   /* a file that can be run, or a folder with one */
	bool there;     /* a file of that name is in the user's home */
	uint64_t bytes; /* of content */
	size_t names;   /* with its own */
};

struct keep {
	const char *home; /* the user's */
	int from;         /* the profile's own, open */
	const char *path; /* of keep_path */
	bool replace;     /* a file that is there */
	/* So much is copied of what it is about: false breaks it off, and nothing is kept (-ECANCELED). Or NULL. */
	bool (*progress)(void *context, uint64_t bytes);
	void *context;
};

/* What it is, without opening it. Refused: -EPERM, -ENOENT, -EEXIST, … with a sentence that says what to do. */
int keep_look(const struct keep *keep, struct keep_thing *ret_thing, struct error *error);

/* Copy what keep_look has shown. Missing folders above it are made (0700). */
int keep_copy(const struct keep *keep, const struct keep_thing *shown, struct error *error);
