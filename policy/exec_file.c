#include "policy/exec_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"

enum { LINKS_MAX = 40 }; /* path_resolution(7) */

static int check_owner(const char *place, const struct stat *status, uid_t owner, struct error *error) {
	if (status->st_uid != 0 && status->st_uid != owner)
		return error_set(error, EPERM, "%s doesn't belong to root", place);
	bool guarded = S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX);
	if (!S_ISLNK(status->st_mode) && (status->st_mode & 0022) && !guarded)
		return error_set(error, EPERM, "%s can be changed by others than root", place);
	return 0;
}

static int check_program(const char *place, const struct stat *status, struct error *error) {
	if (!S_ISREG(status->st_mode)) return error_set(error, EACCES, "%s is no regular file", place);
	if (!(status->st_mode & 0111)) return error_set(error, EACCES, "%s is not executable", place);
	return 0;
}

/* Where the link at `place` leads, with what stood behind it. */
static int follow(const char *place, const char *rest, char **ret_path, struct error *error) {
	char target[PATH_MAX];
	ssize_t size = readlink(place, target, sizeof target - 1);
	if (size < 0) return error_errno(error, "%s", place);
	target[size] = '\0';
	CLEANUP_FREE char *folder = path_parent(place);
	CLEANUP_FREE char *path = string_format("%s%s", target, rest);
	return path_normalise(folder, path, ret_path, error);
}

/* One walk from the root; *ret_next is where it goes on when there was a link, else NULL. */
static int walk(const char *path, uid_t owner, char **ret_next, struct error *error) {
	for (size_t end = 1;; end++) {
		bool last = path[end] == '\0';
		if (!last && path[end] != '/' && end > 1) continue;
		/* The root itself, and then each part. */
		CLEANUP_FREE char *place = string_copy_bytes(path, end);
		struct stat status;
		if (lstat(place, &status) < 0) return error_errno(error, "%s", place);
		int r = check_owner(place, &status, owner, error);
		if (r < 0) return r;
		if (S_ISLNK(status.st_mode)) return follow(place, path + end, ret_next, error);
		if (last) return check_program(place, &status, error);
	}
}

int exec_file_check(const char *path, uid_t owner, struct error *error) {
	CLEANUP_FREE char *now = string_copy(path);
	for (int i = 0; i < LINKS_MAX; i++) {
		char *next = NULL;
		int r = walk(now, owner, &next, error);
		if (r < 0 || !next) return r;
		free(now);
		now = next;
	}
	return error_set(error, ELOOP, "%s leads over too many links", path);
}
