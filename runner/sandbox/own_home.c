#include "own_home.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "plan/point.h"
#include "plan/residents.h"
#include "schema/home.h"

/* A tool can make what looks like mount points. What is past these stays. */
enum { ENTRIES_MAX = 10000, DEPTH_MAX = 64 };
enum { ASIDE_MAX = 100 };

struct sweep {
	const char *home;
	const struct plan *plan;
	size_t left;
};

/* The first mount, or link, of the plan at the path or below it; NULL: there is none. */
static const struct mount *mount_below(const struct plan *plan, const char *path) {
	size_t low = 0, high = plan->count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (path_compare(plan->mounts[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < plan->count && path_is_below(plan->mounts[low].path, path) ? &plan->mounts[low] : NULL;
}

static bool leads_to(int at, const char *name, const char *text) {
	char found[PATH_MAX];
	const ssize_t size = readlinkat(at, name, found, sizeof found);
	return size >= 0 && (size_t)size == strlen(text) && memcmp(found, text, (size_t)size) == 0;
}

static bool is_used(const struct plan *plan, int at, const char *name, const char *path, mode_t mode) {
	const struct mount *mount = mount_below(plan, path);
	const bool link = mount && mount->kind == MOUNT_LINK && string_equal(mount->path, path);
	if (S_ISLNK(mode)) return link && leads_to(at, name, mount->source);
	return mount && !link;
}

static void sweep_folder(struct sweep *sweep, int at, const char *name, const char *path, int depth);

static void sweep_name(struct sweep *sweep, int at, const char *name, const char *path, int depth) {
	struct statx status;
	if (statx(at, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status) < 0) return;
	const bool folder = S_ISDIR(status.stx_mode), made = point_is_made(&status);
	if (folder && (made || home_has_folder(sweep->home, path))) sweep_folder(sweep, at, name, path, depth + 1);
	if (made && !is_used(sweep->plan, at, name, path, status.stx_mode))
		unlinkat(at, name, folder ? AT_REMOVEDIR : 0);
}

static void sweep_folder(struct sweep *sweep, int at, const char *name, const char *path, int depth) {
	const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : mem_expect(fdopendir(fd));
	for (const struct dirent *entry; stream && depth < DEPTH_MAX && sweep->left > 0 && (entry = readdir(stream));) {
		CLEANUP_FREE char *below = path_join(path, entry->d_name);
		sweep->left--;
		if (!path_is_dots(entry->d_name)) sweep_name(sweep, fd, entry->d_name, below, depth);
	}
	if (stream) closedir(stream);
}

/* Does what a tool has made there do as a mount point? A link of the sandbox's isn't made where something is. */
static bool fits(const struct mount *mount, const struct statx *status) {
	struct stat host = {.st_mode = mount->mode};
	if (mount->kind == MOUNT_LINK) return true;
	if (mount->kind != MOUNT_CURTAIN && lstat(mount->source ? mount->source : mount->path, &host) < 0) return true;
	return !S_ISLNK(status->stx_mode) && S_ISDIR(status->stx_mode) == S_ISDIR(host.st_mode);
}

/* `path`: of the name, seen from the home. */
static void put_aside(int folder, const char *name, const char *path, const struct statx *status) {
	if (point_is_made(status)) {
		unlinkat(folder, name, S_ISDIR(status->stx_mode) ? AT_REMOVEDIR : 0);
		return;
	}
	for (int i = 1; i <= ASIDE_MAX; i++) {
		CLEANUP_FREE char *aside = string_format("%s.own%d", name, i), *shown = text_visible(path);
		if (renameat2(folder, name, folder, aside, RENAME_NOREPLACE) < 0) continue;
		log_notice("~/%s of the sandbox's own home is ~/%s.own%d there now, since yours is shown in its place",
			   shown, shown, i);
		return;
	}
}

/* A tool can change the mode of what is its own, and would keep the next run out. */
static void restore_mode(int at, const char *path, mode_t wanted) {
	CLEANUP_FD int folder = openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	if (folder < 0 || fstat(folder, &status) < 0 || status.st_uid != geteuid()) return;
	if ((status.st_mode & 07777) != wanted) fd_chmod(folder, wanted);
}

/* What would be in a mount's way, as a tool has made something else by its name or above it: the host's wins. One name
 * after the other, since another sandbox's tool may be at work there. */
static void clear_way(int folder, const char *home, const struct mount *mount) {
	CLEANUP_FD int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	for (const char *name = mount->path + strlen(home) + 1, *end; at >= 0 && *name; name = end + (*end == '/')) {
		end = name + strcspn(name, "/");
		CLEANUP_FREE char *one = string_copy_bytes(name, (size_t)(end - name));
		struct statx status;
		if (statx(at, one, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status) < 0) return;
		if (!(*end ? S_ISDIR(status.stx_mode) : fits(mount, &status))) {
			CLEANUP_FREE char *path = string_copy_bytes(mount->path + strlen(home) + 1,
								    (size_t)(end - mount->path) - strlen(home) - 1);
			put_aside(at, one, path, &status);
			return;
		}
		if (S_ISDIR(status.stx_mode) && (status.stx_mode & S_IRWXU) != S_IRWXU)
			restore_mode(at, one, (status.stx_mode & 07777) | S_IRWXU);
		const int next = *end ? file_reach(at, one, O_DIRECTORY) : -1;
		fd_close(at);
		at = next;
	}
}

/* The folders that many programs share are there where the user has them. */
static void make_folders(int folder, const char *home) {
	for (size_t i = 1; i < HOME_FOLDER_COUNT; i++) {
		CLEANUP_FREE char *path = string_format("%s%s", home, home_folders[i]),
				  *above = path_parent(home_folders[i]);
		CLEANUP_FD int at = file_reach(folder, above[1] ? above + 1 : ".", O_DIRECTORY);
		struct stat status;
		if (at >= 0 && lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) mkdirat(at, path_name(path), 0700);
	}
}

/* Whoever enters meanwhile waits for nothing, as a tool could keep it waiting. */
static int enter(int folder, const char *home, const struct plan *plan) {
	struct sweep sweep = {home, plan, ENTRIES_MAX};
	const bool first = flock(folder, LOCK_EX | LOCK_NB) == 0;
	if (first && residents_alone(folder, getpid())) sweep_folder(&sweep, folder, ".", home, 0);
	for (size_t i = 0; i < plan->count; i++)
		if (path_is_below(plan->mounts[i].path, home) && !string_equal(plan->mounts[i].path, home))
			clear_way(folder, home, &plan->mounts[i]);
	const int r = residents_enter(folder, getpid());
	if (first) flock(folder, LOCK_UN);
	return r;
}

int own_home_enter(const char *place, const char *home, const struct plan *plan, int *ret_fd, struct error *error) {
	restore_mode(AT_FDCWD, place, 0700);
	CLEANUP_FD int folder = file_open_private_directory(place, error);
	if (folder < 0) return error_prefix(error, "the profile's own home");
	const int r = enter(folder, home, plan);
	if (r < 0) return error_set(error, -r, "the profile's own home: a lock of its folder: %s", strerror(-r));
	make_folders(folder, home);
	*ret_fd = fd_steal(&folder);
	return 0;
}
