#include "origin.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/string.h"

struct origin {
	size_t users;
	int folder;
};

static int open_same(const char *path, dev_t device, ino_t inode) {
	CLEANUP_FD int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) < 0 || status.st_dev != device || status.st_ino != inode) return -1;
	return fd_steal(&fd);
}

/* `root` is a path of the file system (proc_pid_mountinfo(5)), of which each mount here shows a part. */
static int open_root(const struct mountinfo_entry *mounted, const struct mountinfo *here, dev_t device, ino_t inode) {
	for (size_t i = 0; i < here->count; i++) {
		const struct mountinfo_entry *entry = &here->entries[i];
		if (entry->device != mounted->device || !path_is_below(mounted->root, entry->root)) continue;
		const char *rest = mounted->root + (string_equal(entry->root, "/") ? 0 : strlen(entry->root));
		CLEANUP_FREE char *path = string_format("%s%s", entry->point, rest);
		const int fd = open_same(path, device, inode);
		if (fd >= 0) return fd;
	}
	return -1;
}

struct origin *origin_new(const struct mountinfo *inside, const struct mountinfo *here, const char *path, dev_t device,
			  ino_t inode) {
	int fd = -1;
	for (size_t i = 0; fd < 0 && i < inside->count; i++)
		if (string_equal(inside->entries[i].point, path))
			fd = open_root(&inside->entries[i], here, device, inode);
	if (fd < 0) return NULL;
	struct origin *origin = mem_new(struct origin);
	*origin = (struct origin){.users = 1, .folder = fd};
	return origin;
}

struct origin *origin_share(struct origin *origin) {
	if (origin) origin->users++;
	return origin;
}

void origin_free(struct origin *origin) {
	if (!origin || --origin->users > 0) return;
	fd_close(origin->folder);
	free(origin);
}

/* What was removed has " (deleted)" behind its name (d_path of fs/d_path.c), as another folder may be called. */
char *origin_path(const struct origin *origin) {
	CLEANUP_FREE char *link = string_format("/proc/self/fd/%d", origin->folder);
	char path[PATH_MAX];
	struct stat status, named;
	const ssize_t size = readlink(link, path, sizeof path - 1);
	if (size <= 0 || fstat(origin->folder, &status) < 0) return NULL;
	path[size] = '\0';
	const bool there = lstat(path, &named) == 0 && named.st_dev == status.st_dev && named.st_ino == status.st_ino;
	return there ? string_copy(path) : NULL;
}
