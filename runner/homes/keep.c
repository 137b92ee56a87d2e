/*
 * Theory of operation. Looking and copying are the same walk: each name is reached without being opened (O_PATH),
 * judged, counted, and only then opened, as what was judged (/proc/self/fd), so that what is renamed in between is
 * never opened. The copy stops where there is more than was shown, and counts only where in the end there was as much.
 */
#include "runner/home_keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/random.h"
#include "base/string.h"
#include "base/text.h"
#include "homes/keep_place.h"
#include "homes/tree.h"
#include "plan/point.h"
#include "runner/home_clear.h"
#include "schema/limits.h"

enum { PATH_COLUMNS = 80, COPY_BYTES = 64 * 1024 };

struct walk {
	const struct keep *keep;
	const struct keep_thing *shown; /* NULL: we look */
	struct keep_thing found;
	struct error *error;
};

/* Where a name goes; `folder` -1: nowhere, we look. */
struct place {
	int folder;
	const char *name;
};

static int refuse(const struct walk *walk, int code, const char *path, const char *why) {
	CLEANUP_FREE char *shown = text_visible_cut(path, PATH_COLUMNS);
	return error_set(walk->error, code, "~/%s %s", shown, why);
}

static int fails(const struct walk *walk, const char *path, const char *what) {
	CLEANUP_FREE char *shown = text_visible_cut(path, PATH_COLUMNS);
	return error_errno(walk->error, "%s ~/%s", what, shown);
}

static int has_changed(const struct walk *walk) {
	return refuse(walk, EAGAIN, walk->keep->path,
		      "changed while it was copied, and nothing of it was kept: try again when no sandbox has it ('sbx "
		      "sessions')");
}

/* Judging */

static const char *kind_refused(mode_t mode) {
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
		return NULL;
	case S_IFLNK:
		return "is a link, and links aren't kept: name what it leads to, or remove it in the sandbox first";
	case S_IFIFO:
		return "is a pipe: only files and folders can be kept, so remove it in the sandbox or name the others";
	case S_IFSOCK:
		return "is a socket: only files and folders can be kept, so remove it in the sandbox or name the "
		       "others";
	default:
		return "is a device: only files and folders can be kept, so remove it in the sandbox or name the "
		       "others";
	}
}

static int judge(const struct walk *walk, const struct statx *status, const char *path) {
	const char *why = kind_refused(status->stx_mode);
	if (why) return refuse(walk, EPERM, path, why);
	if (point_is_made(status))
		return refuse(
			walk, EPERM, path,
			"is what sbx made to mount something on, nothing of the tool's: name what lies beside it");
	if (status->stx_mode & (S_ISUID | S_ISGID))
		return refuse(walk, EPERM, path,
			      "has a set-ID bit: take it off in the sandbox first (chmod ug-s), then keep it");
	return 0;
}

static bool add_size(uint64_t *bytes, uint64_t more) {
	return !__builtin_add_overflow(*bytes, more, bytes);
}

static int count(struct walk *walk, const struct statx *status, const char *path) {
	struct keep_thing *found = &walk->found;
	const bool file = S_ISREG(status->stx_mode);
	if (file && (status->stx_mode & 0111)) found->program = true;
	if (++found->names > (walk->shown ? walk->shown->names : LIMIT_KEEP))
		return walk->shown ? has_changed(walk)
				   : error_set(walk->error, E2BIG,
					       "there are more than %d names in it: name folders in it, one by one",
					       LIMIT_KEEP);
	if (!walk->shown && file && !add_size(&found->bytes, status->stx_size))
		return refuse(walk, EFBIG, path, "is too large to be kept");
	return 0;
}

/* Copying */

static int copy_block(struct walk *walk, int from, int to, const char *path, size_t *ret_got) {
	char block[COPY_BYTES];
	const ssize_t got = read(from, block, sizeof block);
	*ret_got = got > 0 ? (size_t)got : 0;
	if (got < 0) return fails(walk, path, "reading");
	if (!add_size(&walk->found.bytes, *ret_got) || walk->found.bytes > walk->shown->bytes) return has_changed(walk);
	if (walk->keep->progress && !walk->keep->progress(walk->keep->context, walk->found.bytes))
		return refuse(walk, ECANCELED, walk->keep->path, "was broken off: nothing of it was kept");
	return fd_write_all(to, block, *ret_got, walk->error);
}

static int copy_content(struct walk *walk, int from, int to, const char *path) {
	size_t got = 0;
	int r = 0;
	do r = copy_block(walk, from, to, path, &got);
	while (r == 0 && got > 0);
	if (r == 0 && !walk->found.folder && fsync(to) < 0) r = fails(walk, path, "saving");
	return r;
}

static int copy_file(struct walk *walk, int reached, mode_t mode, const char *path, struct place place) {
	/* what was judged, a regular file: to open it doesn't block */
	CLEANUP_FD int from = fd_reopen(reached, O_RDONLY | O_NOCTTY | O_NONBLOCK);
	if (from < 0) return fails(walk, path, "reading");
	const mode_t own = (mode & 0755) | 0400;
	CLEANUP_FD int to = openat(place.folder, place.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, own);
	if (to < 0) return fails(walk, path, "making the copy of");
	return copy_content(walk, from, to, path);
}

/* The walk */

static int walk_name(struct walk *walk, int at, const char *name, const char *path, struct place place, int depth);

/* Takes the descriptor. */
static int walk_entries(struct walk *walk, int folder, const char *path, int copy, int depth) {
	DIR *stream = mem_expect(fdopendir(folder));
	int r = 0;
	for (const struct dirent *entry; r == 0 && (entry = readdir(stream));) {
		CLEANUP_FREE char *below = path_join(path, entry->d_name);
		const struct place place = {copy, entry->d_name};
		if (!path_is_dots(entry->d_name)) r = walk_name(walk, folder, entry->d_name, below, place, depth);
	}
	closedir(stream);
	return r;
}

static int walk_folder(struct walk *walk, int reached, mode_t mode, const char *path, struct place place, int depth) {
	CLEANUP_FD int copy = -1;
	if (depth == LIMIT_HOME_DEPTH)
		return refuse(walk, E2BIG, path, "is too deep in folders: name something less deep");
	CLEANUP_FD int folder = tree_open(reached, ".");
	if (folder < 0) return fails(walk, path, "reading");
	if (place.folder >= 0) {
		if (mkdirat(place.folder, place.name, (mode & 0755) | 0700) < 0)
			return fails(walk, path, "making the copy of");
		copy = tree_open(place.folder, place.name);
		if (copy < 0) return fails(walk, path, "making the copy of");
	}
	return walk_entries(walk, fd_steal(&folder), path, copy, depth + 1);
}

static int cannot_reach(const struct walk *walk, const char *path) {
	if (walk->shown) return has_changed(walk);
	if (errno == ELOOP)
		return refuse(walk, ELOOP, path, "lies behind a link, and no link is followed: name it where it is");
	if (errno == ENOENT || errno == ENOTDIR)
		return refuse(walk, ENOENT, path, "isn't in the profile's own home: 'sbx home' lists what is");
	return fails(walk, path, "reaching");
}

static int walk_name(struct walk *walk, int at, const char *name, const char *path, struct place place, int depth) {
	struct statx status;
	CLEANUP_FD int reached = tree_reach(at, name, 0);
	if (reached < 0 || statx(reached, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) < 0)
		return cannot_reach(walk, path);
	int r = judge(walk, &status, path);
	if (r == 0) r = count(walk, &status, path);
	if (r < 0) return r;
	if (depth == 0) walk->found.folder = S_ISDIR(status.stx_mode);
	if (S_ISDIR(status.stx_mode)) return walk_folder(walk, reached, status.stx_mode, path, place, depth);
	return place.folder < 0 ? 0 : copy_file(walk, reached, status.stx_mode, path, place);
}

int keep_look(const struct keep *keep, struct keep_thing *ret_thing, struct error *error) {
	struct walk walk = {.keep = keep, .error = error};
	bool there = false;
	int r = place_look(keep->home, keep->path, &there, error);
	if (r == 0) r = walk_name(&walk, keep->from, keep->path, keep->path, (struct place){-1, NULL}, 0);
	if (r == 0 && there && walk.found.folder)
		r = refuse(&walk, EEXIST, keep->path, "is a file in your home and a folder here: move that away first");
	*ret_thing = walk.found;
	ret_thing->there = there;
	return r;
}

/* The copy's place */

static int check_room(const struct keep *keep, const struct keep_thing *shown, int folder, struct error *error) {
	struct statvfs status;
	if (fstatvfs(folder, &status) < 0 || shown->bytes / status.f_frsize < status.f_bavail) return 0;
	CLEANUP_FREE char *path = text_visible_cut(keep->path, PATH_COLUMNS);
	return error_set(error, ENOSPC, "there is no room for ~/%s in your home: make room, or name less", path);
}

static void take_away(struct place place) {
	CLEANUP_FD int folder = unlinkat(place.folder, place.name, 0) == 0 ? -1 : tree_open(place.folder, place.name);
	if (folder < 0) return;
	home_clear(folder, NULL);
	unlinkat(place.folder, place.name, AT_REMOVEDIR);
}

static int put(const struct walk *walk, struct place place) {
	const struct keep *keep = walk->keep;
	const unsigned flags = keep->replace ? 0 : RENAME_NOREPLACE;
	if (renameat2(place.folder, place.name, place.folder, path_name(keep->path), flags) == 0) {
		fsync(place.folder);
		return 0;
	}
	if (errno == EEXIST)
		return refuse(walk, EEXIST, keep->path, "is there already: --replace puts this one in its place");
	return fails(walk, keep->path, "renaming the copy to");
}

static bool is_as_shown(const struct walk *walk) {
	return walk->found.names == walk->shown->names && walk->found.bytes == walk->shown->bytes &&
	       walk->found.folder == walk->shown->folder;
}

int keep_copy(const struct keep *keep, const struct keep_thing *shown, struct error *error) {
	struct walk walk = {.keep = keep, .shown = shown, .error = error};
	CLEANUP_FD int folder = place_open(keep->home, keep->path, error);
	int r = folder < 0 ? folder : check_room(keep, shown, folder, error);
	if (r < 0) return r;
	char token[RANDOM_TOKEN_SIZE];
	random_token(token);
	CLEANUP_FREE char *name = string_format(".sbx-keep-%.8s", token);
	const struct place place = {folder, name};
	r = walk_name(&walk, keep->from, keep->path, keep->path, place, 0);
	if (r == 0 && !is_as_shown(&walk)) r = has_changed(&walk);
	/* of a folder once, for all: an fsync(2) for each of 100,000 files would take minutes */
	if (r == 0 && shown->folder && syncfs(folder) < 0) r = fails(&walk, keep->path, "saving");
	if (r == 0) r = put(&walk, place);
	if (r < 0) take_away(place);
	return r;
}
