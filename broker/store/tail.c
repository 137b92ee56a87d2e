#include "tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"

/* More than the caller ever lets it grow to. */
static const size_t SIZE_MAX_READ = 256UL * 1024 * 1024;

struct tail {
	char *path;
	int fd;
	off_t size;
};

int tail_open(const char *path, struct tail **ret_tail, struct error *error) {
	CLEANUP_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) < 0) return error_errno(error, "%s", path);
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
		return error_set(error, EPERM, "%s: it must be a file of your own", path);
	if (fchmod(fd, 0600) < 0) return error_errno(error, "%s: making it private", path);
	struct tail *tail = mem_new(struct tail);
	*tail = (struct tail){string_copy(path), fd_steal(&fd), status.st_size};
	*ret_tail = tail;
	return 0;
}

void tail_free(struct tail *tail) {
	if (!tail) return;
	free(tail->path);
	fd_close(tail->fd);
	free(tail);
}

int tail_read(const struct tail *tail, char **ret_bytes, size_t *ret_size, struct error *error) {
	if (lseek(tail->fd, 0, SEEK_SET) < 0) return error_errno(error, "%s", tail->path);
	return file_read_fd(tail->fd, tail->path, SIZE_MAX_READ, ret_bytes, ret_size, error);
}

int tail_append(struct tail *tail, const char *line, size_t size, struct error *error) {
	ssize_t written = pwrite(tail->fd, line, size, tail->size);
	if (written == (ssize_t)size) {
		tail->size += written;
		return 0;
	}
	if (written >= 0) errno = ENOSPC; /* only a full disk or a quota breaks off a regular file's write (write(2)) */
	int r = error_errno(error, "%s", tail->path);
	tail_cut(tail, (size_t)tail->size, NULL); /* should this fail too: the next line is written over it */
	return r;
}

bool tail_is_whole(const struct tail *tail) {
	struct stat opened, named;
	return fstat(tail->fd, &opened) == 0 && lstat(tail->path, &named) == 0 && opened.st_ino == named.st_ino &&
	       opened.st_dev == named.st_dev && opened.st_size >= tail->size;
}

int tail_cut(struct tail *tail, size_t size, struct error *error) {
	tail->size = (off_t)size;
	if (ftruncate(tail->fd, tail->size) < 0) return error_errno(error, "%s", tail->path);
	return 0;
}
