/*
 * file: whole files in, whole files out, and directories that may be trusted.
 *
 * Promises: reads are bounded; links are not followed where the name says so; directories and files that hold
 * state are ours (owner, mode) or refused (attack B11). No name is ever made in /tmp (B22).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* The whole file as NUL-terminated bytes (freed by the caller); -EFBIG past `limit`. *ret_size may be NULL. */
int file_read(const char *path, size_t limit, char **ret_bytes, size_t *ret_size, struct error *error);
int file_read_fd(int fd, const char *name, size_t limit, char **ret_bytes, size_t *ret_size, struct error *error);

/* Replace the file in one step (temporary name beside it, fsync, rename). */
int file_write(const char *path, const char *bytes, size_t size, mode_t mode, struct error *error);

/* Has the path a name that is there, or the folder one? Also that of a link, wherever it leads. */
bool file_is_there(const char *path);
bool file_is_in(const char *folder, const char *name);

/* What a file or directory must be like to be believed. */
struct file_demand {
	mode_t kind; /* S_IFREG or S_IFDIR */
	uid_t owner;
	bool or_root; /* root as owner will do, too */
	mode_t never; /* bits that its mode must not have: 0022, 0002, 0 */
};

/*
 * Open for reading what is called `name` below the directory `at` (AT_FDCWD where it is absolute); errors call it
 * `shown`. A link in its last part isn't followed: -ELOOP, with why. -EPERM says which demand isn't met. Never blocks.
 */
int file_open_demanded(int at, const char *name, const char *shown, const struct file_demand *demand,
		       struct error *error);

/*
 * Open (making it and its missing parents with mode 0700) a directory that must belong to us and be writable by
 * nobody else; the last component must not be a link. -EPERM says which rule was broken. Caller owns the fd.
 */
int file_open_private_directory(const char *path, struct error *error);

/* Open by name alone (O_PATH, and `flags`) what a path names that has no "..": an absolute one, or seen from the
 * directory `at`, "." for that itself. No link is followed: one on the way is ELOOP, one at the end is reached itself.
 * -1 with errno. */
int file_reach(int at, const char *path, int flags);
/* The same without a wait: EAGAIN where a file system would have to be asked. Before Linux 5.12 it is asked. */
int file_reach_cached(int at, const char *path, int flags);

/* Make the directory and its missing parents (0700). An existing one is left as it is. */
int file_make_directories(const char *path, struct error *error);
