/*
 * Theory of operation. A portal has died and left its mounts. The next one is first told again what had been put, what
 * lies below before what lies on it (KNOW): each mount is known by what it lies on and by its mount point, which
 * /proc/self/mountinfo tells of covered ones, too. Then what was under way is taken, as far as it is there and not
 * known, and last come the PUTs of the plan that was in force: what is there gets its descriptor and its flags, what is
 * missing is put. What was covered and is gone can't be put below what covers it: the runner hears of it and forgets
 * it, or a later step would lead to a mount that isn't there and leave the one that is.
 *
 * A covered mount can't be reached by a path: what lies over it is moved aside for a moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "portal_mounts.h"
#include "portal_tree.h"
#include "sandbox/bwrap.h"

#define ASIDE_FOLDER BWRAP_RUN "/aside" /* mounts_clear knows them */
#define ASIDE_FILE   BWRAP_RUN "/aside-file"

enum {
	ASIDE_MAX = 64, /* mounts over one another */
	READ_ONLY = 0x1 /* ST_RDONLY of statfs(2)'s f_flags */
};

static const struct mountinfo_entry *find_entry(const struct mountinfo *info, uint64_t on, const char *path) {
	for (size_t i = 0; i < info->count; i++) {
		const struct mountinfo_entry *entry = &info->entries[i];
		if (entry->parent == on && string_equal(entry->point, path)) return entry;
	}
	return NULL;
}

/* False: it isn't there. */
static bool know(struct mounts *mounts, const struct mountinfo *info, const struct mount *mount) {
	const struct put *on = mount->on ? mounts_find(mounts, mount->on) : NULL;
	if (mount->on && !on) return false;
	if (string_equal(mount->path, "/")) {
		mounts_keep(mounts, mount, -1, mounts->root);
		return true;
	}
	const struct mountinfo_entry *entry = find_entry(info, on ? on->number : mounts->root, mount->path);
	if (entry) mounts_keep(mounts, mount, -1, entry->id);
	return entry != NULL;
}

int mounts_know(struct mounts *mounts, const struct steps *steps, struct portal_applied *applied, struct error *error) {
	CLEANUP_MOUNTINFO struct mountinfo info = {0};
	mounts_clear(mounts);
	int r = spaces_step_in(mounts->spaces, error);
	if (r < 0) return r;
	r = mounts_read(mounts, &info);
	spaces_step_out(mounts->spaces);
	if (r < 0) return error_set(error, -r, "reading what is mounted: %s", strerror(-r));
	for (size_t i = 0; i < steps->count; i++) {
		const struct mount *mount = &steps->items[i].mount;
		if (mount->kind == MOUNT_LINK || know(mounts, &info, mount)) continue;
		applied->failed = array_grow(applied->failed, applied->failed_count, sizeof *applied->failed);
		applied->failed[applied->failed_count++] = (uint32_t)i;
	}
	return 0;
}

struct aside {
	struct {
		int tree;
		char *path;
	} items[ASIDE_MAX];
	size_t count;
};

/* As far as `path` leads through what lies over it. */
static int reach_some(const struct mounts *mounts, const char *path) {
	CLEANUP_FREE char *at = string_copy(path);
	for (;;) {
		int fd = spaces_reach(mounts->spaces->inside, at);
		if (fd >= 0 || at[1] == '\0') return fd;
		char *folder = path_parent(at);
		free(at);
		at = folder;
	}
}

/* The mount that lies over `covered`, of those through which its path leads to `reached`. */
static const struct mountinfo_entry *find_cover(const struct mountinfo *info, uint64_t reached, uint64_t covered) {
	uint64_t cover = reached;
	for (size_t i = 0; i < info->count && cover != 0; i++) {
		uint64_t parent = mountinfo_parent(info, cover);
		if (parent != 0 && mountinfo_is_below(info, covered, parent)) break;
		cover = parent;
	}
	return mountinfo_find(info, cover);
}

/* A folder can be moved onto a folder only, and a file onto a file. */
static int move_aside(const struct mounts *mounts, const char *path, struct aside *aside, struct error *error) {
	struct place place;
	if (aside->count == ASIDE_MAX) return error_set(error, ELOOP, "too much lies over it");
	CLEANUP_FD int tree = spaces_reach(mounts->spaces->inside, path);
	if (tree < 0 || place_of(tree, &place) < 0 || !place.is_root)
		return error_set(error, ESTALE, "what lies over it can't be reached");
	const bool folder = S_ISDIR(place.mode);
	CLEANUP_FD int point =
		point_reach(&mounts->points, mounts->spaces->inside, folder ? ASIDE_FOLDER : ASIDE_FILE, folder, error);
	if (point < 0) return point;
	int r = tree_attach(tree, point, error);
	if (r == -ENOENT && tree_detach(tree, mounts->spaces->self) == 0) return 0; /* the host has deleted it */
	if (r < 0) return r;
	aside->items[aside->count].path = string_copy(path);
	aside->items[aside->count++].tree = fd_steal(&tree);
	return 0;
}

/* 1, or 0 when it is not mounted any more. Inside. */
static int uncover(const struct mounts *mounts, struct put *put, struct aside *aside, struct error *error) {
	for (;;) {
		struct place place;
		CLEANUP_MOUNTINFO struct mountinfo info = {0};
		CLEANUP_FD int there = reach_some(mounts, put->mount.path);
		if (there < 0 || place_of(there, &place) < 0) return error_errno(error, "reaching what is covered");
		if (place.mount == put->number && place.is_root) {
			put->tree = fd_steal(&there);
			return 1;
		}
		int r = mounts_read(mounts, &info);
		if (r < 0) return error_set(error, -r, "reading what is mounted: %s", strerror(-r));
		if (!mountinfo_find(&info, put->number)) return 0;
		const struct mountinfo_entry *over = find_cover(&info, place.mount, put->number);
		if (!over) return error_set(error, ESTALE, "what lies over it isn't known");
		if ((r = move_aside(mounts, over->point, aside, error)) < 0) return r;
	}
}

static void cover(const struct mounts *mounts, struct aside *aside) {
	while (aside->count-- > 0) {
		const int tree = aside->items[aside->count].tree;
		CLEANUP_FD int point = spaces_reach(mounts->spaces->inside, aside->items[aside->count].path);
		if (point < 0 || tree_attach(tree, point, NULL) < 0) tree_detach(tree, mounts->spaces->self);
		fd_close(tree);
		free(aside->items[aside->count].path);
	}
	point_remove(&mounts->points, mounts->spaces->inside, ASIDE_FOLDER);
	point_remove(&mounts->points, mounts->spaces->inside, ASIDE_FILE);
}

static bool is_writable(enum mount_kind kind) {
	return kind == MOUNT_WRITE || kind == MOUNT_PIN || kind == MOUNT_OWN || kind == MOUNT_FRESH;
}

/* A step that was under way may have changed it. */
static void mend_flag(const struct put *put) {
	struct statfs status;
	if (put->mount.kind == MOUNT_CURTAIN || mount_is_given(&put->mount) || fstatfs(put->tree, &status) < 0) return;
	bool wanted = !is_writable(put->mount.kind);
	if (wanted != ((status.f_flags & READ_ONLY) != 0))
		tree_set(put->tree, false, wanted ? MOUNT_ATTR_RDONLY : 0, wanted ? 0 : MOUNT_ATTR_RDONLY);
}

int mounts_recognise(struct mounts *mounts, uint32_t id, struct error *error) {
	struct put *put = mounts_find(mounts, id);
	struct aside aside = {.count = 0};
	if (!put || put->tree >= 0) return 0;
	int r = spaces_step_in(mounts->spaces, error);
	if (r < 0) return r;
	r = uncover(mounts, put, &aside, error);
	if (r == 1 && mounts_compare(&put->mount, put->tree, NULL) < 0) { /* the host has another there by now */
		r = mounts_drop(mounts, &put->tree, error);
	}
	if (r == 1) mend_flag(put);
	cover(mounts, &aside);
	spaces_step_out(mounts->spaces);
	if (r == 0) mounts_forget(mounts, id);
	return r;
}
