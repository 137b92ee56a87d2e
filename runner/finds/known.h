/*
 * known: the folders that a look has gone through (walk.h, new_links.h), with what it found in each, kept in a file
 * from one run to the next.
 *
 * Promises: a folder is taken to have the names that it had only while its device, inode and time of last change are
 * what they were; that time is the kernel's own, which no tool can set. It isn't believed of a folder that changed less
 * than KNOWN_SETTLED_MS before it was read, nor on a file system of which it isn't known that it keeps it. A file that
 * isn't as it should be is as none, and one for other patterns, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/string.h"

enum { KNOWN_SETTLED_MS = 100, KNOWN_FILE = 64 * 1024 * 1024 /* bytes */ };

struct known;

/* What lies in it: the names, one behind the other with a NUL after each, and the folders that were gone into. */
struct known_folder {
	const char *name; /* in the folder that it is in; of a tree, its path */
	const char *matches, *sockets;
	uint32_t match_count, socket_count;
	uint32_t entries;                     /* all that it has */
	const struct known_folder *in, *next; /* the first folder in it; the one behind it in the same one; or NULL */
	uint64_t device, inode;
	int64_t seconds; /* its time of last change; 0: it is to be looked at */
	uint32_t nanoseconds;
};

/* `patterns`: what was looked for; none: nothing, but for the folders. Never NULL. */
struct known *known_load(const char *path, const struct strings *patterns);
int known_read(const char *bytes, size_t size, const struct strings *patterns, struct known **ret_known);
void known_free(struct known *known);
DEFINE_CLEANUP(struct known *, known_free);
#define CLEANUP_KNOWN CLEANUP(known_free_p)

/* A tree, or a folder in one. NULL: it isn't known. */
const struct known_folder *known_tree(const struct known *known, const char *path);
/* NULL also where it is not near behind the one that was found last, *hint. */
const struct known_folder *known_child(const struct known_folder *folder, const char *name,
				       const struct known_folder **hint);
bool known_is_same(const struct known_folder *folder, const struct statx *status);

/* A folder as it is before it is read. 0 or -errno. */
struct known_seen {
	struct stat status;
	bool settled; /* what comes from now on has another time than the folder's */
};
int known_see(int fd, struct known_seen *ret_seen);

/* For the next run: a folder that was read (fd, as it was seen before), one that couldn't be (`found` NULL), and one
 * that was taken as it is. Returns its number, which those in it are added with; for a tree that is KNOWN_TREE. */
#define KNOWN_TREE UINT32_MAX
struct known_found {
	struct strings matches, sockets; /* names */
	uint32_t entries;
};
uint32_t known_add(struct known *known, uint32_t above, const char *name, int fd, const struct known_seen *seen,
		   const struct known_found *found);
uint32_t known_keep(struct known *known, uint32_t above, const char *name, const struct known_folder *folder);

/* If it is worth it, and the file has not nearly all of it. */
int known_save(struct known *known, const char *path, struct error *error);
