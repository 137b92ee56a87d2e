#include "homes/tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_beneath(int at, const char *path, int flags) {
	const struct open_how how = {.flags = (unsigned)(O_CLOEXEC | O_NOFOLLOW | flags),
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
						RESOLVE_NO_XDEV};
	return (int)syscall(SYS_openat2, at, path, &how, sizeof how);
}

int tree_reach(int at, const char *path, int flags) {
	return open_beneath(at, path, O_PATH | flags);
}

int tree_open(int at, const char *name) {
	return open_beneath(at, name, O_RDONLY | O_DIRECTORY);
}
