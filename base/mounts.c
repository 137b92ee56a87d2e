#include "base/mounts.h"

#include <mntent.h>
#include <stdio.h>

#include "base/memory.h"

/* They answer from memory or from a disk of this machine: filesystems(5) and Documentation/filesystems of Linux. Any
 * other may wait for another machine or process. */
static const char *const answering[] = {
	"bcachefs", "binfmt_misc", "bpf",       "btrfs",   "cgroup",     "cgroup2",    "configfs",  "debugfs",
	"devpts",   "devtmpfs",    "efivarfs",  "erofs",   "exfat",      "ext2",       "ext3",      "ext4",
	"f2fs",     "fusectl",     "hugetlbfs", "iso9660", "jfs",        "mqueue",     "nsfs",      "ntfs3",
	"overlay",  "proc",        "pstore",    "ramfs",   "rpc_pipefs", "securityfs", "selinuxfs", "squashfs",
	"sysfs",    "tmpfs",       "tracefs",   "udf",     "vfat",       "xfs",        "zfs",
};

/* It answers itself, but a look at what lies below it waits for its server to mount that (autofs(5)). */
static bool is_automount(const struct mntent *mount) {
	return string_equal(mount->mnt_type, "autofs");
}

static bool may_hang(const struct mntent *mount) {
	for (size_t i = 0; i < ARRAY_LENGTH(answering); i++)
		if (string_equal(mount->mnt_type, answering[i])) return false;
	return true;
}

static void mounts_add(struct strings *ret_points, bool automounts) {
	FILE *mounts = mem_expect(setmntent("/proc/self/mounts", "re"));
	for (const struct mntent *mount; mounts && (mount = getmntent(mounts));)
		if (is_automount(mount) ? automounts : may_hang(mount)) strings_add(ret_points, mount->mnt_dir);
	if (mounts) endmntent(mounts);
}

void mounts_that_may_hang(struct strings *ret_points) {
	mounts_add(ret_points, false);
}

void mounts_that_may_hang_below(struct strings *ret_points) {
	mounts_add(ret_points, true);
}
