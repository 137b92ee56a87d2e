/*
 * Theory of operation. A portal has died and left its mounts. The next one is told again what was put, what lies below
 * before what lies on it; each mount is known by what it lies on and by its mount point, which /proc/self/mountinfo
 * tells of covered ones, too. What is in sight is reached by its path and compared: its mount id, and the file. What is
 * covered can't be reached: its descriptor is fetched when it is needed, by moving aside for a moment what lies over
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "portal_mounts.h"
#include "portal_tree.h"

#define ASIDE_PATH "/run/sbx/aside"

enum { ASIDE_MAX = 64, /* mounts over one another */ READ_ONLY = 0x1 /* ST_RDONLY of statfs(2)'s f_flags */ };

static const struct mountinfo_entry *find_before(const struct mounts *mounts, uint64_t on, const char *path) {
	for (size_t i = 0; i < mounts->before.count; i++) {
		const struct mountinfo_entry *entry = &mounts->before.entries[i];
		if (entry->parent == on && string_equal(entry->point, path)) return entry;
	}
	return NULL;
}

static bool is_writable(enum mount_kind kind) {
	return kind == MOUNT_WRITE || kind == MOUNT_PIN || kind == MOUNT_OWN || kind == MOUNT_FRESH;
}

/* A step that was under way may have changed it. */
static void mend_flag(const struct mounts *mounts, const struct mount *mount, int there) {
	struct statfs status;
	if (mount->kind == MOUNT_CURTAIN || fstatfs(there, &status) < 0) return;
	bool wanted = !is_writable(mount->kind);
	if (wanted == ((status.f_flags & READ_ONLY) != 0) || spaces_step_in(mounts->spaces, NULL) < 0) return;
	tree_set(there, false, wanted ? MOUNT_ATTR_RDONLY : 0, wanted ? 0 : MOUNT_ATTR_RDONLY);
	spaces_step_out(mounts->spaces);
}

bool mounts_recognise(struct mounts *mounts, const struct mount *mount) {
	const struct put *on = mount->on ? mounts_find(mounts, mount->on) : NULL;
	if (mount->on && !on) return false;
	const struct mountinfo_entry *entry = find_before(mounts, on ? on->number : mounts->root, mount->path);
	if (!entry) return false;
	CLEANUP_FD int there = spaces_reach(mounts->spaces->inside, mount->path);
	struct place place;
	if (there < 0 || place_of(there, &place) < 0 || place.mount != entry->id) {
		mounts_keep(mounts, mount, -1, entry->id);
		return true;
	}
	if (mounts_compare(mount, there, NULL) < 0) return false;
	mend_flag(mounts, mount, there);
	mounts_keep(mounts, mount, fd_steal(&there), entry->id);
	return true;
}

struct aside {
	struct {
		int tree;
		char *path;
	} items[ASIDE_MAX];
	size_t count;
};

/* The mount that lies over `covered`, of those through which its path leads to `reached`. */
static const char *find_cover(const struct mountinfo *info, uint64_t reached, uint64_t covered) {
	uint64_t cover = reached;
	for (size_t i = 0; i < info->count && cover != 0; i++) {
		uint64_t parent = mountinfo_parent(info, cover);
		if (parent != 0 && mountinfo_is_below(info, covered, parent)) break;
		cover = parent;
	}
	for (size_t i = 0; i < info->count; i++)
		if (info->entries[i].id == cover) return info->entries[i].point;
	return NULL;
}

static int move_aside(struct mounts *mounts, const char *path, struct aside *aside, struct error *error) {
	struct place place;
	if (aside->count == ASIDE_MAX) return error_set(error, ELOOP, "too much lies over it");
	CLEANUP_FD int tree = spaces_reach(mounts->spaces->inside, path);
	if (tree < 0 || place_of(tree, &place) < 0 || !place.is_root)
		return error_set(error, ESTALE, "what lies over it can't be reached");
	CLEANUP_FD int point = point_reach(&mounts->points, mounts->spaces->inside, ASIDE_PATH, true, error);
	if (point < 0) return point;
	int r = tree_attach(tree, point, error);
	if (r < 0) return r;
	aside->items[aside->count].path = string_copy(path);
	aside->items[aside->count++].tree = fd_steal(&tree);
	return 0;
}

int mounts_uncover(struct mounts *mounts, struct put *put, struct aside **ret_aside, struct error *error) {
	struct aside *aside = *ret_aside = mem_new(struct aside);
	for (;;) {
		struct place place;
		CLEANUP_MOUNTINFO struct mountinfo info = {0};
		CLEANUP_FD int there = spaces_reach(mounts->spaces->inside, put->mount.path);
		if (there < 0 || place_of(there, &place) < 0) return error_errno(error, "reaching what is covered");
		if (place.mount == put->number) {
			put->tree = fd_steal(&there);
			return 0;
		}
		int r = mounts_read(mounts, &info);
		const char *cover = r < 0 ? NULL : find_cover(&info, place.mount, put->number);
		if (!cover) return error_set(error, ESTALE, "what is covered isn't there any more");
		if ((r = move_aside(mounts, cover, aside, error)) < 0) return r;
	}
}

void mounts_cover(struct mounts *mounts, struct aside *aside) {
	if (!aside) return;
	while (aside->count-- > 0) {
		const int tree = aside->items[aside->count].tree;
		CLEANUP_FD int point = spaces_reach(mounts->spaces->inside, aside->items[aside->count].path);
		if (point < 0 || tree_attach(tree, point, NULL) < 0) tree_detach(tree, mounts->spaces->self);
		fd_close(tree);
		free(aside->items[aside->count].path);
	}
	point_remove(&mounts->points, mounts->spaces->inside, ASIDE_PATH);
	free(aside);
}
