#include "ui/notify_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "schema/channel.h"

/* "open file description locks" of fcntl(2): of the descriptor, and they can be looked at. */
static struct flock whole_file(void) {
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static int open_file(bool make, struct error *error) {
	CLEANUP_FREE char *socket = NULL;
	int r = channel_socket_path(&socket, error);
	if (r < 0) return r;
	CLEANUP_FREE char *folder = path_parent(socket);
	CLEANUP_FREE char *path = path_join(folder, "notify.lock");
	CLEANUP_FD int directory = make ? file_open_private_directory(folder, error) : -1;
	if (make && directory < 0) return directory;
	int fd = open(path, O_RDWR | (make ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? error_errno(error, "opening %s", path) : fd;
}

int notify_lock_take(struct error *error) {
	CLEANUP_FD int fd = open_file(true, error);
	struct flock lock = whole_file();
	if (fd < 0) return fd;
	if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return fd_steal(&fd);
	if (errno == EAGAIN || errno == EACCES) return error_set(error, EBUSY, "sbx-notify runs already");
	return error_errno(error, "locking notify.lock");
}

bool notify_lock_is_taken(void) {
	CLEANUP_FD int fd = open_file(false, NULL);
	struct flock lock = whole_file();
	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
