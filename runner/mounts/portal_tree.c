#include "portal_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/stat.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

/* <sys/mount.h>, <sys/stat.h> and the kernel's own headers don't go together in glibc 2.36. */
int umount2(const char *target, int flags);
enum {
	TREE_DETACH = 2 /* MNT_DETACH */,
	TREE_NOFOLLOW = 8 /* UMOUNT_NOFOLLOW */,
	TREE_PRIVATE = 0x40000 /* MS_PRIVATE */,
	TREE_OMIT = (1 << 30) - 2, /* UTIME_OMIT */
};

int tree_set(int tree, bool recursive, uint64_t set, uint64_t clear) {
	const unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
	struct mount_attr attributes = {.attr_set = set, .attr_clr = clear};
	return syscall(SYS_mount_setattr, tree, "", flags, &attributes, sizeof attributes) < 0 ? -errno : 0;
}

int tree_clone(int fd, bool recursive, bool read_only, struct error *error) {
	const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
	CLEANUP_FD int tree = (int)syscall(SYS_open_tree, fd, "", flags);
	if (tree < 0) return error_errno(error, "cloning a mount");
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, .propagation = TREE_PRIVATE};
	if (read_only) attributes.attr_set |= MOUNT_ATTR_RDONLY;
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) < 0)
		return error_errno(error, "setting a mount's attributes");
	return fd_steal(&tree);
}

int tree_copy(int tree, struct error *error) {
	const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE;
	int copy = (int)syscall(SYS_open_tree, tree, "", flags);
	return copy < 0 ? error_errno(error, "cloning mounts") : copy;
}

int tree_copy_of(int folder, const char *name, struct error *error) {
	const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
	int copy = (int)syscall(SYS_open_tree, folder, name, flags);
	return copy < 0 ? error_errno(error, "cloning a mount") : copy;
}

int tree_fresh(unsigned mode, bool read_only, struct error *error) {
	char octal[8];
	snprintf(octal, sizeof octal, "%04o", mode & 07777);
	CLEANUP_FD int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "mode", octal, 0) < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return error_errno(error, "making a tmpfs");
	/* When it was last listed tells who walks through it (walking.h): never, at first. */
	const struct timespec times[2] = {{0}, {.tv_nsec = TREE_OMIT}};
	const unsigned flags =
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_STRICTATIME | (read_only ? MOUNT_ATTR_RDONLY : 0U);
	int tree = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, flags);
	if (tree < 0) return error_errno(error, "mounting a tmpfs");
	syscall(SYS_utimensat, tree, "", times, AT_EMPTY_PATH);
	return tree;
}

int tree_clone_device(int fd, struct error *error) {
	CLEANUP_FD int tree = tree_copy(fd, error);
	if (tree < 0) return tree;
	const struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID, .propagation = TREE_PRIVATE};
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) < 0)
		return error_errno(error, "setting a mount's attributes");
	return fd_steal(&tree);
}

int tree_terminals(struct error *error) {
	CLEANUP_FD int context = (int)syscall(SYS_fsopen, "devpts", FSOPEN_CLOEXEC);
	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, "newinstance", NULL, 0) < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "ptmxmode", "0666", 0) < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "mode", "620", 0) < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return error_errno(error, "making a devpts");
	int tree = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	return tree < 0 ? error_errno(error, "mounting a devpts") : tree;
}

int tree_attach(int tree, int point, struct error *error) {
	if (syscall(SYS_move_mount, tree, "", point, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_errno(error, "attaching a mount");
	return 0;
}

int tree_attach_to(int tree, int folder, const char *name, struct error *error) {
	if (syscall(SYS_move_mount, tree, "", folder, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return error_errno(error, "attaching a mount");
	return 0;
}

/* By the descriptor's name in /proc, which works for files and folders alike and leads to that very mount. */
int tree_detach(int tree, int self) {
	char name[24];
	CLEANUP_FD int fds = openat(self, "fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(name, sizeof name, "%d", tree);
	if (fds < 0 || fchdir(fds) < 0) return -errno;
	return umount2(name, TREE_DETACH) < 0 ? -errno : 0;
}

int tree_release(int folder, const char *name) {
	if (fchdir(folder) < 0) return -errno;
	return umount2(name, TREE_NOFOLLOW) < 0 ? -errno : 0;
}

int place_of(int fd, struct place *ret_place) {
	struct statx status;
	const unsigned mask = STATX_TYPE | STATX_MODE | STATX_INO | STATX_SIZE | STATX_MNT_ID;
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW, mask, &status) < 0)
		return -errno;
	*ret_place = (struct place){.device = makedev(status.stx_dev_major, status.stx_dev_minor),
				    .inode = status.stx_ino,
				    .mode = status.stx_mode,
				    .mount = status.stx_mnt_id,
				    .is_root = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0,
				    .size = (off_t)status.stx_size};
	return 0;
}

bool place_same_file(const struct place *a, const struct place *b) {
	return a->device == b->device && a->inode == b->inode;
}
