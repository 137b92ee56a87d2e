#include "homes/keep_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "base/text.h"
#include "runner/homes.h"

enum { PATH_COLUMNS = 80 };

/* sbx's own folders */

static char *config_folder(const char *home) {
	const char *value = getenv("XDG_CONFIG_HOME");
	CLEANUP_FREE char *base = value && value[0] == '/' ? string_copy(value) : path_join(home, ".config");
	return path_join(base, "sbx");
}

/* Also by the name that it has past all links; of what isn't there the folder above it says. */
static void add_folder(struct strings *folders, char *folder) {
	char *real = mem_expect(realpath(folder, NULL));
	CLEANUP_FREE char *parent = path_parent(folder), *above = real ? NULL : mem_expect(realpath(parent, NULL));
	if (above) real = path_join(above, path_name(folder));
	if (real) strings_take(folders, real);
	strings_take(folders, folder);
}

static void own_folders(const char *home, struct strings *folders) {
	add_folder(folders, path_join(home, ".config/sbx"));
	add_folder(folders, path_join(home, ".local/state/sbx"));
	add_folder(folders, config_folder(home));
	add_folder(folders, homes_state(home));
}

static bool touches(const char *path, const struct strings *folders) {
	for (size_t i = 0; i < folders->count; i++)
		if (path_is_below(path, folders->items[i]) || path_is_below(folders->items[i], path)) return true;
	return false;
}

static int refuse_own(const char *home, const char *path, const char *shown, struct error *error) {
	CLEANUP_STRINGS struct strings folders = {0};
	CLEANUP_FREE char *real = mem_expect(realpath(home, NULL));
	CLEANUP_FREE char *place = path_join(home, path), *real_place = path_join(real ? real : home, path);
	own_folders(home, &folders);
	if (!touches(place, &folders) && !touches(real_place, &folders)) return 0;
	return error_set(error, EPERM,
			 "~/%s is one of sbx's own folders, in one or around one: what a tool made is never put there",
			 shown);
}

/* Folders of the user's */

/* O_PATH; -1 with errno. The home may itself be reached by a link, nothing below it is. */
static int open_home(const char *home) {
	return open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int cannot_reach(const char *path, struct error *error) {
	const int code = errno;
	CLEANUP_FREE char *shown = text_visible_cut(path, PATH_COLUMNS);
	if (code == ELOOP)
		return error_set(error, code,
				 "~/%s lies behind a link in your home, and no link is followed: copy it by hand",
				 shown);
	if (code == ENOTDIR)
		return error_set(error, code, "~/%s can't be there: what is above it in your home is no folder", shown);
	return error_set(error, code, "reaching ~/%s in your home: %s", shown, strerror(code));
}

static int refuse_there(const struct stat *status, const char *shown, struct error *error) {
	if (S_ISREG(status->st_mode)) return 0;
	return error_set(error, EEXIST, "~/%s is there already and no file: %s", shown,
			 S_ISDIR(status->st_mode) ? "name what is in it, or move that folder away first"
						  : "move it away first");
}

int place_look(const char *home, const char *path, bool *ret_there, struct error *error) {
	CLEANUP_FREE char *shown = text_visible_cut(path, PATH_COLUMNS);
	struct stat status;
	int r = refuse_own(home, path, shown, error);
	if (r < 0) return r;
	CLEANUP_FD int at = open_home(home);
	if (at < 0) return error_errno(error, "opening your home");
	CLEANUP_FD int there = file_reach(at, path, 0);
	*ret_there = there >= 0;
	if (there < 0) return errno == ENOENT ? 0 : cannot_reach(path, error);
	if (fstat(there, &status) < 0) return cannot_reach(path, error);
	return refuse_there(&status, shown, error);
}

/* One folder further down, made where it is missing. -1 with errno. */
static int step(int at, const char *name) {
	int fd = file_reach(at, name, O_DIRECTORY);
	if (fd >= 0 || errno != ENOENT) return fd;
	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST) return -1;
	return file_reach(at, name, O_DIRECTORY);
}

int place_open(const char *home, const char *path, struct error *error) {
	CLEANUP_FREE char *rest = string_copy(path);
	CLEANUP_FD int at = open_home(home);
	char *name = rest;
	for (char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
		*slash = '\0';
		const int below = step(at, name);
		fd_close(at);
		at = below;
	}
	const int fd = at < 0 ? -1 : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? cannot_reach(path, error) : fd;
}
