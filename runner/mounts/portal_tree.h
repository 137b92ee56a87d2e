/*
 * portal_tree: mounts as descriptors: made or cloned detached, attached, changed, known again.
 *
 * Promises: each is nosuid, nodev (but what is named a device) and private; flags that the host has locked stay
 * (mount_setattr(2) only adds). A call on a mount that is attached needs the process to stand in its mount namespace.
 * Negative errno and a sentence.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* What `fd` (O_PATH) is, cloned; with `recursive` the mounts below it, too. */
int tree_clone(int fd, bool recursive, bool read_only, struct error *error);
int tree_copy(int tree, struct error *error); /* of ours that is attached, with all that lies on it, as it is */
int tree_fresh(unsigned mode, bool read_only, struct error *error); /* an empty tmpfs */
int tree_clone_device(int fd, struct error *error);                 /* one file that stays a device */
int tree_terminals(struct error *error);                            /* a devpts of its own */
int tree_attach(int tree, int point, struct error *error);          /* `tree` then is what is attached */

/* The same of a name in a folder: no link is followed. */
int tree_copy_of(int folder, const char *name, struct error *error);
int tree_attach_to(int tree, int folder, const char *name, struct error *error);

/* MOUNT_ATTR_…; -EBUSY: something is open for writing. */
int tree_set(int tree, bool recursive, uint64_t set, uint64_t clear);

/* Take it off, whatever lies on it, and wherever that is now; only what nobody holds any more: others would then see
 * behind what lies on it. `self` is the process's folder in /proc. -EINVAL: it is mounted nowhere. */
int tree_detach(int tree, int self);

/* Take off what is mounted on a name, if nothing lies on it and nobody has anything of it open: files, folders, also in
 * messages that wait (mnt_count, umount2(2)); -EBUSY. */
int tree_release(int folder, const char *name);

struct place {
	dev_t device;
	ino_t inode;
	mode_t mode;
	uint64_t mount; /* STATX_MNT_ID */
	bool is_root;   /* of that mount */
	off_t size;
};
int place_of(int fd, struct place *ret_place); /* asks no server of a network or FUSE file system */
bool place_same_file(const struct place *a, const struct place *b);
