#include "portal_curtain.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "portal_tree.h"

enum { CURTAIN_MAP_MS = 5000 }; /* bwrap writes its user namespace's map after it has made its child */

/* Numbers of a user mean nothing in a user namespace without a map (user_namespaces(7)). */
static int wait_for_map(const struct spaces *spaces, struct error *error) {
	for (int waited = 0; waited < CURTAIN_MAP_MS * 10; waited++) {
		char byte;
		CLEANUP_FD int fd = openat(spaces->self, "gid_map", O_RDONLY | O_CLOEXEC);
		if (fd < 0) return error_errno(error, "reading the user namespace's map");
		if (read(fd, &byte, 1) == 1) return 0;
		poll(NULL, 0, waited < 10 ? 0 : 1);
	}
	return error_set(error, ETIMEDOUT, "the sandbox's user namespace has no map");
}

static int set_number(int context, const char *key, unsigned value, const char *format) {
	char text[16];
	snprintf(text, sizeof text, format[0] == 'o' ? "%o" : "%u", value);
	return (int)syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, text, 0);
}

/* Not noexec: that would refuse a program before its node is asked (open for execve(2) in fs/namei.c). */
static int make_mount(int device, struct error *error) {
	CLEANUP_FD int context = (int)syscall(SYS_fsopen, "fuse", FSOPEN_CLOEXEC);
	if (context < 0) return error_errno(error, "making a FUSE file system");
	if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "source", "sbx-curtain", 0) < 0 ||
	    set_number(context, "fd", (unsigned)device, "u") < 0 || set_number(context, "rootmode", S_IFDIR, "o") < 0 ||
	    set_number(context, "user_id", getuid(), "u") < 0 || set_number(context, "group_id", getgid(), "u") < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, "default_permissions", NULL, 0) < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return error_errno(error, "making a FUSE file system");
	const unsigned flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	int tree = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, flags);
	return tree < 0 ? error_errno(error, "mounting a FUSE file system") : tree;
}

/* On the scratch, so that it can be cloned. */
static int place_mount(const struct spaces *spaces, int tree, int *ret_spare, struct error *error) {
	if (mkdirat(spaces->scratch, "curtain", 0) < 0 && errno != EEXIST)
		return error_errno(error, "making a mount point");
	CLEANUP_FD int point = openat(spaces->scratch, "curtain", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (point < 0) return error_errno(error, "reaching a mount point");
	int r = tree_attach(tree, point, error);
	if (r < 0) return r;
	int spare = tree_copy(tree, error);
	if (spare < 0) return spare;
	*ret_spare = spare;
	return 0;
}

int superblock_make(const struct spaces *spaces, int *ret_device, int *ret_root, int *ret_spare, struct error *error) {
	if (spaces->scratch < 0) return error_set(error, EINVAL, "the portal has joined no sandbox");
	int r = wait_for_map(spaces, error);
	if (r < 0) return r;
	/* only a descriptor that was opened in the very user namespace is taken */
	CLEANUP_FD int device = openat(spaces->host, "dev/fuse", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (device < 0) return error_errno(error, "opening /dev/fuse");
	CLEANUP_FD int tree = make_mount(device, error);
	if (tree < 0) return tree;
	r = place_mount(spaces, tree, ret_spare, error);
	if (r < 0) return r;
	*ret_device = fd_steal(&device);
	*ret_root = fd_steal(&tree);
	return 0;
}

int superblock_adopt(const struct spaces *spaces, int spare, int *ret_root, int *ret_spare, struct error *error) {
	if (spaces->scratch < 0) return error_set(error, EINVAL, "the portal has joined no sandbox");
	CLEANUP_FD int tree = fcntl(spare, F_DUPFD_CLOEXEC, 0);
	if (tree < 0) return error_errno(error, "keeping the curtain");
	int r = place_mount(spaces, tree, ret_spare, error);
	if (r == 0) *ret_root = fd_steal(&tree);
	return r;
}
