#include "runner/homes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "plan/point.h"
#include "schema/home.h"

enum { NAME_BYTES = 40, HASH_DIGITS = 16 }; /* of the name of what a project has for itself */

char *homes_folder(const char *variable, const char *home, const char *fallback) {
	const char *value = getenv(variable);
	CLEANUP_FREE char *base = value && value[0] == '/' ? string_copy(value) : path_join(home, fallback);
	CLEANUP_FREE char *joined = path_join(base, "sbx");
	char *normal = NULL;
	return path_normalise(NULL, joined, &normal, NULL) == 0 ? normal : STEAL(joined);
}

char *homes_state(const char *home) {
	return homes_folder("XDG_STATE_HOME", home, ".local/state");
}

char *homes_of_project(const char *home, const char *project) {
	char hash[HASH_HEX_SIZE];
	hash_hex(hash, project, strlen(project));
	CLEANUP_FREE char *state = homes_state(home);
	return string_format("%s/projects/%.*s-%.*s", state, NAME_BYTES, path_name(project), HASH_DIGITS, hash);
}

char *homes_place(enum view_home kind, const char *home, const char *profile, const char *project) {
	CLEANUP_FREE char *state = NULL;
	switch (kind) {
	case VIEW_HOME_OWN:
		state = homes_state(home);
		break;
	case VIEW_HOME_PROJECT:
		state = homes_of_project(home, project);
		break;
	case VIEW_HOME_EPHEMERAL:
	case VIEW_HOME_HIDDEN:
		return NULL;
	}
	return string_format("%s/homes/%s", state, profile);
}

/* A folder that many programs share stands for what is in it. Nothing is asked of the server of a file system: that may
 * be us, for what is mounted there. */
static bool is_told(int folder, const char *name, const char *path) {
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	struct statx status;
	if (path_is_dots(name) || statx(folder, name, flags, STATX_BASIC_STATS, &status) < 0) return false;
	if (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) return false;
	return !(S_ISDIR(status.stx_mode) && home_has_folder("", path)) && !point_is_made(&status);
}

/* Of the home's own folders, not of what is mounted there. */
static int open_folder(int home, const char *folder) {
	const int fd = file_reach(home, folder[0] ? folder + 1 : ".", O_DIRECTORY);
	struct statx status;
	if (fd < 0 || !folder[0]) return fd;
	const int r = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status);
	if (r == 0 && !(status.stx_attributes & STATX_ATTR_MOUNT_ROOT)) return fd;
	fd_close(fd);
	return -1;
}

static void add_names(int home, const char *folder, struct strings *names) {
	CLEANUP_FD int at = open_folder(home, folder);
	const int fd = at < 0 ? -1 : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : mem_expect(fdopendir(fd));
	for (const struct dirent *entry; stream && names->count < HOMES_NAMES_MAX && (entry = readdir(stream));) {
		CLEANUP_FREE char *path = string_format("%s/%s", folder, entry->d_name);
		if (is_told(fd, entry->d_name, path)) strings_add(names, path + 1);
	}
	if (stream) closedir(stream);
}

void homes_names(int folder, struct strings *ret_names) {
	for (size_t i = 0; i < HOME_FOLDER_COUNT; i++) add_names(folder, home_folders[i], ret_names);
	strings_sort(ret_names);
}

/* A time of last access before all others is one that the kernel changes (MS_RELATIME, mount(2)). */
void homes_unread(int folder) {
	static const struct timespec never[] = {{0}, {.tv_nsec = UTIME_OMIT}};
	for (size_t i = 0; i < HOME_FOLDER_COUNT; i++) {
		CLEANUP_FD int at = file_reach(folder, i == 0 ? "." : home_folders[i] + 1, O_DIRECTORY);
		if (at >= 0) utimensat(at, "", never, AT_EMPTY_PATH);
	}
}
