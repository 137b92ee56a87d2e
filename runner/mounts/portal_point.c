#include "portal_point.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "plan/point.h"
#include "plan/residents.h"
#include "portal_spaces.h"
#include "portal_tree.h"

/* Of what is looked through for one mount point: a tool can make folders that look like these, and the portal has other
 * things to take. What is past it stays. */
enum { POINT_ENTRIES_MAX = 1000, POINT_DEPTH_MAX = 64 };

void points_add(struct points *points, uint64_t mount) {
	points->mounts = array_grow(points->mounts, points->count, sizeof *points->mounts);
	points->mounts[points->count++] = mount;
}

void points_share(struct points *points, uint64_t mount, int tree, int host, pid_t runner) {
	if (points->shared != 0) fd_close(points->folder);
	points->shared = mount;
	points->folder = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	points->host = host;
	points->runner = runner;
}

void points_remove(struct points *points, uint64_t mount) {
	for (size_t i = 0; i < points->count; i++)
		if (points->mounts[i] == mount) points->mounts[i--] = points->mounts[--points->count];
}

bool points_have(const struct points *points, uint64_t mount) {
	for (size_t i = 0; i < points->count; i++)
		if (points->mounts[i] == mount) return true;
	return false;
}

void points_finish(struct points *points) {
	if (points->shared != 0) fd_close(points->folder);
	free(points->mounts);
	*points = (struct points){0};
}

static bool is_own(const struct points *points, int folder) {
	struct place place;
	return place_of(folder, &place) == 0 && points_have(points, place.mount);
}

/* May the name at the path, in the folder, be removed? */
static bool is_removable(const struct points *points, int folder, const char *path) {
	struct stat status;
	struct place place;
	if (place_of(folder, &place) < 0 || !points_have(points, place.mount)) return false;
	if (place.mount != points->shared || residents_alone(points->folder, points->runner)) return true;
	return fstatat(points->host, path + 1, &status, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

int point_twin(int folder) {
	CLEANUP_FD int twin = tree_clone(folder, false, false, NULL);
	if (twin < 0 || tree_set(twin, false, 0, MOUNT_ATTR_RDONLY) < 0) return -1;
	return fd_steal(&twin);
}

/* What is done to a name in a folder; 0 or -1 with errno. */
typedef int change_name(int folder, const char *name, const void *argument);

static int change_own(int folder, const char *name, change_name *change, const void *argument) {
	if (change(folder, name, argument) == 0) return 0;
	if (errno != EROFS) return -errno;
	CLEANUP_FD int twin = point_twin(folder);
	return twin < 0 || change(twin, name, argument) < 0 ? -errno : 0;
}

static int change_in(const struct points *points, int folder, const char *name, change_name *change,
		     const void *argument) {
	return is_own(points, folder) ? change_own(folder, name, change, argument) : -ENOENT;
}

static int make_name(int folder, const char *name, const void *argument) {
	if (*(const bool *)argument) return mkdirat(folder, name, POINT_FOLDER);
	return mknodat(folder, name, S_IFREG | POINT_FILE, 0);
}

static int make_link(int folder, const char *name, const void *argument) {
	return symlinkat(argument, folder, name) < 0 ? -1 : point_mark_link(folder, name);
}

static int remove_name(int folder, const char *name, const void *argument) {
	return unlinkat(folder, name, *(const int *)argument);
}

int point_make(int at, const char *name, bool folder) {
	int r = change_own(at, name, make_name, &folder);
	return r == -EEXIST ? 0 : r;
}

/* A name in a folder that hasn't got it. */
static int make(const struct points *points, int at, const char *name, bool folder) {
	CLEANUP_FREE char *path = string_format("/%s", name);
	int r = is_own(points, at) ? point_make(at, name, folder) : -ENOENT;
	if (r < 0) return r;
	int fd = spaces_reach(at, path);
	return fd < 0 ? -errno : fd;
}

/* `path` isn't there: from the deepest folder on the way that is. */
static int make_way(const struct points *points, int base, const char *path, bool folder) {
	CLEANUP_FREE char *above = path_parent(path);
	CLEANUP_FD int at = spaces_reach(base, above);
	if (at < 0 && errno != ENOENT) return -errno;
	if (at < 0 && (at = make_way(points, base, above, true)) < 0) return at;
	return make(points, at, path_name(path), folder);
}

int point_reach(const struct points *points, int base, const char *path, bool folder, struct error *error) {
	int fd = spaces_reach(base, path);
	if (fd < 0) fd = errno == ENOENT ? make_way(points, base, path, folder) : -errno;
	if (fd >= 0) return fd;
	if (fd == -ENOENT) return error_set(error, ENOENT, "there is nothing to mount it on, and it can't be made");
	return error_set(error, -fd, "reaching the mount point: %s", strerror(-fd));
}

int point_link(const struct points *points, int base, const char *path, const char *text, struct error *error) {
	CLEANUP_FREE char *folder = path_parent(path);
	CLEANUP_FD int at = point_reach(points, base, folder, true, error);
	if (at < 0) return at;
	int r = change_in(points, at, path_name(path), make_link, text);
	return r < 0 && r != -EEXIST ? error_set(error, -r, "making a link: %s", strerror(-r)) : 0;
}

void point_unlink(const struct points *points, int base, const char *path, const char *text) {
	CLEANUP_FREE char *folder = path_parent(path);
	CLEANUP_FD int at = spaces_reach(base, folder);
	char found[4096];
	ssize_t size = at < 0 ? -1 : readlinkat(at, path_name(path), found, sizeof found);
	if (size < 0 || (text && ((size_t)size != strlen(text) || memcmp(found, text, (size_t)size) != 0))) return;
	change_in(points, at, path_name(path), remove_name, &(int){0});
	point_remove(points, base, folder);
}

static bool remove_made(const struct points *points, int base, const char *path, int depth, size_t *left);

/* What was made in a folder for what was covered when it was taken. */
static void remove_below(const struct points *points, int base, const char *path, int folder, int depth, size_t *left) {
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : mem_expect(fdopendir(fd));
	if (!stream) {
		fd_close(fd);
		return;
	}
	for (const struct dirent *entry; *left > 0 && (entry = readdir(stream));) {
		if (string_equal(entry->d_name, ".") || string_equal(entry->d_name, "..")) continue;
		CLEANUP_FREE char *below = path_join(path, entry->d_name);
		--*left;
		remove_made(points, base, below, depth + 1, left);
	}
	closedir(stream);
}

static bool remove_made(const struct points *points, int base, const char *path, int depth, size_t *left) {
	CLEANUP_FREE char *folder = path_parent(path);
	CLEANUP_FD int at = spaces_reach(base, folder);
	CLEANUP_FD int there = spaces_reach(base, path);
	struct place place;
	if (at < 0 || there < 0 || place_of(there, &place) < 0 || place.is_root) return false;
	bool is_folder = S_ISDIR(place.mode);
	if (!point_has_mode(place.mode, place.size) || !is_removable(points, at, path)) return false;
	if (is_folder && depth < POINT_DEPTH_MAX) remove_below(points, base, path, there, depth, left);
	const int flags = is_folder ? AT_REMOVEDIR : 0;
	return change_in(points, at, path_name(path), remove_name, &flags) == 0;
}

void point_remove(const struct points *points, int base, const char *path) {
	CLEANUP_FREE char *at = string_copy(path);
	size_t left = POINT_ENTRIES_MAX;
	while (at[1] && remove_made(points, base, at, 0, &left)) {
		char *folder = path_parent(at);
		free(at);
		at = folder;
	}
}
