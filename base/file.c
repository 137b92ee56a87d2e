#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/random.h"
#include "base/string.h"

int file_read_fd(int fd, const char *name, size_t limit, char **ret_bytes, size_t *ret_size, struct error *error) {
	CLEANUP_STRING struct string content = {0};
	string_append(&content, "");
	for (;;) {
		char block[16384];
		ssize_t got = read(fd, block, sizeof block);
		if (got < 0 && errno == EINTR) continue;
		if (got < 0) return error_errno(error, "reading %s", name);
		if (got == 0) break;
		string_append_bytes(&content, block, (size_t)got);
		if (content.size > limit) return error_set(error, EFBIG, "%s is larger than %zu bytes", name, limit);
	}
	if (ret_size) *ret_size = content.size;
	*ret_bytes = string_steal(&content);
	return 0;
}

int file_read(const char *path, size_t limit, char **ret_bytes, size_t *ret_size, struct error *error) {
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) return error_errno(error, "opening %s", path);
	return file_read_fd(fd, path, limit, ret_bytes, ret_size, error);
}

int file_write(const char *path, const char *bytes, size_t size, mode_t mode, struct error *error) {
	char token[RANDOM_TOKEN_SIZE];
	random_token(token);
	CLEANUP_FREE char *temporary = string_format("%s.%.8s", path, token);
	CLEANUP_FD int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0) return error_errno(error, "making %s", temporary);
	int r = fd_write_all(fd, bytes, size, error);
	if (r == 0 && fsync(fd) < 0) r = error_errno(error, "saving %s", temporary);
	if (r == 0 && rename(temporary, path) < 0) r = error_errno(error, "renaming to %s", path);
	if (r < 0) {
		unlink(temporary);
		return error_prefix(error, "writing %s", path);
	}
	return 0;
}

static int reach(int at, const char *path, int flags, uint64_t resolve) {
	const struct open_how how = {.flags = (unsigned)(O_PATH | O_CLOEXEC | O_NOFOLLOW | flags),
				     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve};
	return (int)syscall(SYS_openat2, at, path, &how, sizeof how);
}

int file_reach(int at, const char *path, int flags) {
	return reach(at, path, flags, 0);
}

int file_reach_cached(int at, const char *path, int flags) {
	const int fd = reach(at, path, flags, RESOLVE_CACHED);
	return fd < 0 && errno == EINVAL ? reach(at, path, flags, 0) : fd;
}

int file_make_directories(const char *path, struct error *error) {
	if (mkdir(path, 0700) == 0 || errno == EEXIST) return 0;
	if (errno != ENOENT || strcmp(path, "/") == 0) return error_errno(error, "making the directory %s", path);
	CLEANUP_FREE char *parent = path_parent(path);
	int r = file_make_directories(parent, error);
	if (r < 0) return r;
	if (mkdir(path, 0700) < 0 && errno != EEXIST) return error_errno(error, "making the directory %s", path);
	return 0;
}

/* What a link leads to may lie where anybody can write, a sandbox for one (attack B11). */
static int refuse_link(int at, const char *name, const char *shown, struct error *error) {
	struct stat status;
	int code = errno;
	if (fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
		return error_set(error, ELOOP,
				 "%s is a link and isn't followed, for others may be able to write what it leads to: "
				 "put the thing itself in its place",
				 shown);
	errno = code;
	return error_errno(error, "opening %s", shown);
}

static int check_demand(const struct stat *status, const char *shown, const struct file_demand *demand,
			struct error *error) {
	if ((status->st_mode & S_IFMT) != demand->kind)
		return error_set(error, EINVAL, "%s is no %s", shown,
				 demand->kind == S_IFDIR ? "directory" : "regular file");
	if (status->st_uid != demand->owner && !(demand->or_root && status->st_uid == 0))
		return error_set(error, EPERM, "%s belongs to user %u, not to %s (%u)", shown, status->st_uid,
				 demand->owner == 0 ? "root" : "you", demand->owner);
	mode_t too_much = status->st_mode & demand->never;
	if (too_much != 0)
		return error_set(error, EPERM, "%s can be written by others (mode %04o): chmod %sw it", shown,
				 status->st_mode & 07777, demand->never & 0020 ? "go-" : "o-");
	return 0;
}

int file_open_demanded(int at, const char *name, const char *shown, const struct file_demand *demand,
		       struct error *error) {
	/* Not blocking: a FIFO in its place must not stop us. */
	CLEANUP_FD int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) return refuse_link(at, name, shown, error);
	struct stat status;
	if (fstat(fd, &status) < 0) return error_errno(error, "looking at %s", shown);
	int r = check_demand(&status, shown, demand, error);
	return r < 0 ? r : fd_steal(&fd);
}

int file_open_private_directory(const char *path, struct error *error) {
	const struct file_demand demand = {.kind = S_IFDIR, .owner = geteuid(), .never = 0022};
	int r = file_make_directories(path, error);
	return r < 0 ? r : file_open_demanded(AT_FDCWD, path, path, &demand, error);
}

bool file_is_there(const char *path) {
	struct stat status;
	return lstat(path, &status) == 0;
}

bool file_is_in(const char *folder, const char *name) {
	CLEANUP_FREE char *path = path_join(folder, name);
	return file_is_there(path);
}
