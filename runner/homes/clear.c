/*
 * Theory of operation. A tool can make folders deeper than there are descriptors, and of any mode. So a folder is made
 * ours to read and write before it is entered, by the descriptor that was opened by name, as chmod(2) follows links;
 * and one that is too deep is renamed to the top. The top is gone through until nothing is left, or nothing more goes.
 */
#include "runner/home_clear.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/random.h"
#include "base/string.h"
#include "base/text.h"
#include "homes/tree.h"
#include "plan/residents.h"
#include "schema/limits.h"

enum { NAME_COLUMNS = 80 };

struct clearing {
	int top;
	size_t gone, stayed; /* names in this turn */
	struct error *error; /* of the first that stayed */
};

bool home_is_unused(int folder) {
	return residents_alone(folder, getpid());
}

static void stays(struct clearing *clearing, const char *name) {
	if (clearing->stayed++ > 0) return;
	const int code = errno;
	CLEANUP_FREE char *shown = text_visible_cut(name, NAME_COLUMNS);
	error_set(clearing->error, code, "removing '%s': %s", shown, strerror(code));
}

/* Open to be emptied. -1 with errno. */
static int open_folder(int at, const char *name) {
	CLEANUP_FD int reached = tree_reach(at, name, O_DIRECTORY);
	struct stat status;
	if (reached < 0 || fstat(reached, &status) < 0) return -1;
	if ((status.st_mode & 0700) != 0700 && fd_chmod(reached, 0700) < 0) return -1;
	return tree_open(reached, ".");
}

static int move_to_top(const struct clearing *clearing, int at, const char *name) {
	char token[RANDOM_TOKEN_SIZE];
	random_token(token);
	CLEANUP_FREE char *moved = string_format(".sbx-clear-%s", token);
	return renameat(at, name, clearing->top, moved);
}

static void clear_folder(struct clearing *clearing, int folder, int depth);

static bool remove_folder(struct clearing *clearing, int at, const char *name, int depth) {
	const int fd = open_folder(at, name);
	if (fd >= 0 && depth == LIMIT_HOME_DEPTH) {
		close(fd);
		return move_to_top(clearing, at, name) == 0;
	}
	if (fd >= 0) clear_folder(clearing, fd, depth + 1);
	return fd >= 0 && unlinkat(at, name, AT_REMOVEDIR) == 0;
}

static void remove_name(struct clearing *clearing, int at, const char *name, int depth) {
	bool gone = unlinkat(at, name, 0) == 0;
	if (!gone && errno == EISDIR) gone = remove_folder(clearing, at, name, depth);
	if (gone)
		clearing->gone++;
	else if (errno != ENOENT)
		stays(clearing, name);
}

/* Takes the descriptor. */
static void clear_folder(struct clearing *clearing, int folder, int depth) {
	DIR *stream = mem_expect(fdopendir(folder));
	for (const struct dirent *entry; (entry = readdir(stream));)
		if (!path_is_dots(entry->d_name)) remove_name(clearing, folder, entry->d_name, depth);
	closedir(stream);
}

int home_clear(int folder, struct error *error) {
	struct error fault = ERROR_NONE;
	struct clearing clearing = {.top = folder, .error = &fault};
	do {
		clearing.gone = clearing.stayed = 0;
		const int fd = tree_open(folder, ".");
		if (fd < 0) return error_errno(error, "opening the home");
		clear_folder(&clearing, fd, 0);
	} while (clearing.gone > 0);
	fchmod(folder, 0700); /* a tool may have changed it, and then no sandbox begins in it */
	return clearing.stayed > 0 ? error_set(error, fault.code, "%s", fault.message) : 0;
}
