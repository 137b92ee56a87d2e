/*
 * mountinfo: the mounts of a namespace (proc_pid_mountinfo(5)), as text → records.
 *
 * Promises: pure; a line that isn't as documented is passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mountinfo_entry {
	uint64_t id, parent;
	dev_t device; /* its file system's, which stat(2) may not tell (btrfs) */
	char *root;   /* what of its file system is mounted, escapes undone */
	char *point;  /* as the reader's root sees it, likewise */
	bool read_only;
	bool deleted; /* its root has no name any more */
};

struct mountinfo {
	struct mountinfo_entry *entries;
	size_t count;
};

enum { MOUNTINFO_MAX = 8 * 1024 * 1024 }; /* bytes of it that are read */

/* Read what there is behind `fd`, from its beginning. Negative errno. */
int mountinfo_read(int fd, struct mountinfo *ret_info);
void mountinfo_finish(struct mountinfo *info);
#define CLEANUP_MOUNTINFO __attribute__((cleanup(mountinfo_finish)))

const struct mountinfo_entry *mountinfo_find(const struct mountinfo *info, uint64_t id); /* or NULL */
uint64_t mountinfo_parent(const struct mountinfo *info, uint64_t id);                    /* 0: not known */

/* Is `id` the mount `top` or below it? */
bool mountinfo_is_below(const struct mountinfo *info, uint64_t id, uint64_t top);
