#include "runner/home_size.h"

#include <dirent.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "homes/tree.h"
#include "schema/limits.h"

enum { BLOCK = 512 }; /* bytes of st_blocks' unit (inode(7)) */

struct sizing {
	struct home_size size;
	size_t left;  /* names that may still be looked at */
	void *inodes; /* that have several names: a tree of tsearch(3) */
};

static int compare(const void *a, const void *b) {
	const ino_t one = *(const ino_t *)a, two = *(const ino_t *)b;
	return (one > two) - (one < two);
}

/* All is on one file system, so the number says which it is. */
static bool is_known(struct sizing *sizing, const struct stat *status) {
	if (S_ISDIR(status->st_mode) || status->st_nlink < 2) return false;
	ino_t *own = mem_copy(&status->st_ino, sizeof status->st_ino);
	const bool known = *(ino_t **)mem_expect(tsearch(own, &sizing->inodes, compare)) != own;
	if (known) free(own);
	return known;
}

static void add_folder(struct sizing *sizing, int at, const char *name, int depth);

static void add_name(struct sizing *sizing, int at, const char *name, int depth) {
	struct stat status;
	if (fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0) return;
	if (!is_known(sizing, &status)) sizing->size.bytes += (uint64_t)status.st_blocks * BLOCK;
	if (S_ISDIR(status.st_mode)) add_folder(sizing, at, name, depth + 1);
}

static void add_folder(struct sizing *sizing, int at, const char *name, int depth) {
	const int fd = depth > LIMIT_HOME_DEPTH ? -1 : tree_open(at, name);
	DIR *stream = fd < 0 ? NULL : mem_expect(fdopendir(fd));
	if (!stream) sizing->size.more = true;
	for (const struct dirent *entry; stream && (entry = readdir(stream));) {
		if (path_is_dots(entry->d_name)) continue;
		if (sizing->left == 0) {
			sizing->size.more = true;
			break;
		}
		sizing->left--;
		add_name(sizing, fd, entry->d_name, depth);
	}
	if (stream) closedir(stream);
}

void home_size(int folder, struct home_size *ret_size) {
	struct sizing sizing = {.left = LIMIT_WALK};
	add_folder(&sizing, folder, ".", 0);
	tdestroy(sizing.inodes, free);
	*ret_size = sizing.size;
}
