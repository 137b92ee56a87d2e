/*
 * Theory of operation. Each runner has a read lock of one byte of the folder, at the offset that is its number, so all
 * have theirs at once. Who would have to wait for a write lock of the bytes before and behind its own isn't alone.
 * Numbers are those of one PID namespace: two runners of different ones may have the same byte, and each take itself
 * for alone when there is no third one.
 */
#include "residents.h"

#include <errno.h>
#include <fcntl.h>

int residents_enter(int folder, pid_t pid) {
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = pid, .l_len = 1};
	return fcntl(folder, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

/* `size` 0: to the end. */
static bool is_free(int folder, off_t start, off_t size) {
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = size};
	return fcntl(folder, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

bool residents_alone(int folder, pid_t pid) {
	return is_free(folder, 0, pid) && is_free(folder, pid + 1, 0);
}
