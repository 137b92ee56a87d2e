#include "regular.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"

int regular_read(const char *path, size_t limit, char **ret_bytes, size_t *ret_size, struct error *error) {
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) < 0) return error_errno(error, "opening %s", path);
	if (!S_ISREG(status.st_mode)) return error_set(error, EINVAL, "%s is not a regular file", path);
	CLEANUP_STRING struct string content = {0};
	while (content.size < limit) {
		char block[8192];
		size_t want = limit - content.size < sizeof block ? limit - content.size : sizeof block;
		ssize_t got = read(fd, block, want);
		if (got < 0 && errno == EINTR) continue;
		if (got < 0) return error_errno(error, "reading %s", path);
		if (got == 0) break;
		string_append_bytes(&content, block, (size_t)got);
	}
	if (ret_size) *ret_size = content.size;
	*ret_bytes = string_steal(&content);
	return 0;
}
