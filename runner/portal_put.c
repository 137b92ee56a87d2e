/*
 * Theory of operation. A mount is made detached in our own namespace (open_tree, fsmount), where the host's files are
 * reached and compared. Then the process steps into the sandbox and attaches it to a descriptor of its mount point.
 * Runs of PUTs are made first and attached together, since stepping costs more than mounting.
 *
 * A group is put together on the stage: only since Linux 6.15 can a mount be attached to a detached one. From there it
 * is cloned with all that lies on it, and every mount in the clone is looked up and compared before the clone is
 * attached; so if something on the host is renamed meanwhile, the group fails.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "portal_mounts.h"
#include "portal_stage.h"
#include "portal_tree.h"

int mounts_compare(const struct mount *mount, int there, struct error *error) {
	struct place place;
	if (place_of(there, &place) < 0) return error_errno(error, "looking at it");
	if (mount->inode != 0 && (place.device != mount->device || place.inode != mount->inode))
		return error_set(error, ESTALE, "it was changed meanwhile: try again");
	return 0;
}

static int clone_source(const struct mounts *mounts, const struct mount *mount, bool recursive, bool read_only,
			struct error *error) {
	const char *source = mount->source ? mount->source : mount->path;
	CLEANUP_FD int fd = spaces_reach(mounts->spaces->host, source);
	if (fd < 0) return error_errno(error, "reaching it on the host");
	int r = mounts_compare(mount, fd, error);
	return r < 0 ? r : tree_clone(fd, recursive, read_only, error);
}

/* A walk asks the server for each folder on the way; many nodes lie in the same one. */
static int reach_node(struct mounts *mounts, const char *path) {
	CLEANUP_FREE char *folder = path_parent(path), *name = string_format("/%s", path_name(path));
	if (mounts->folder < 0 || !string_equal(mounts->folder_path, folder)) {
		fd_close(mounts->folder);
		free(mounts->folder_path);
		mounts->folder_path = STEAL(folder);
		mounts->folder = spaces_reach(mounts->curtain, mounts->folder_path);
	}
	return mounts->folder < 0 ? -1 : spaces_reach(mounts->folder, name);
}

static int clone_curtain(struct mounts *mounts, const struct mount *mount, struct error *error) {
	if (mounts->curtain < 0) return error_set(error, ENODEV, "there is no curtain");
	CLEANUP_FD int fd = reach_node(mounts, mount->path);
	struct place place;
	if (fd < 0 || place_of(fd, &place) < 0) return error_errno(error, "reaching its curtain");
	if ((place.mode & S_IFMT) != (mount->mode & S_IFMT)) return error_set(error, ESTALE, "its curtain is another");
	return tree_clone(fd, false, false, error);
}

int mounts_make(struct mounts *mounts, const struct mount *mount, struct error *error) {
	switch (mount->kind) {
	case MOUNT_READ:
		return clone_source(mounts, mount, true, true, error);
	case MOUNT_WRITE:
	case MOUNT_PIN:
	case MOUNT_OWN:
		return clone_source(mounts, mount, true, false, error);
	case MOUNT_HELD:
		return clone_source(mounts, mount, false, true, error);
	case MOUNT_FRESH:
		return tree_fresh(mount->mode, false, error);
	case MOUNT_HIDE_FOLDER:
		if (mount->mode == 0) return stage_clone_hidden(mounts->spaces->scratch, error);
		return tree_fresh(mount->mode, true, error);
	case MOUNT_HIDE_FILE:
		return stage_clone_void(mounts->spaces->scratch, error);
	case MOUNT_CURTAIN:
		return clone_curtain(mounts, mount, error);
	case MOUNT_LINK:
	case MOUNT_PROC:
	case MOUNT_DEV:
		break;
	}
	return error_set(error, EINVAL, "it is nothing to mount");
}

/* Attach to `path` seen from `base`; links are no mounts. */
static int attach(const struct points *points, int base, const char *path, const struct mount *mount, int tree,
		  struct error *error) {
	struct place place;
	if (mount->kind == MOUNT_LINK) return point_link(points, base, path, mount->source, error);
	if (place_of(tree, &place) < 0) return error_errno(error, "looking at a mount");
	CLEANUP_FD int point = point_reach(points, base, path, S_ISDIR(place.mode), error);
	return point < 0 ? point : tree_attach(tree, point, error);
}

struct group {
	const struct step *steps;
	size_t first, count;
	int *trees; /* of each step; -1: a link */
	struct error error;
};

static void group_finish(struct group *group) {
	for (size_t i = 0; i < group->count; i++) fd_close(group->trees[i]);
	free(group->trees);
}

/* As seen from the group's top. */
static const char *path_in_group(const struct group *group, size_t i) {
	return group->steps[i].mount.path + strlen(group->steps[0].mount.path);
}

static void add_own(struct points *points, const struct mount *mount, int tree) {
	struct place place;
	if (mount_is_own(mount) && place_of(tree, &place) == 0) points_add(points, place.mount);
}

static int put_on_stage(struct mounts *mounts, const struct group *group, int top, struct error *error) {
	struct points points = {0};
	int r = 0;
	add_own(&points, &group->steps[0].mount, top);
	for (size_t i = 1; r == 0 && i < group->count; i++) {
		const struct mount *mount = &group->steps[i].mount;
		if (mount->kind != MOUNT_LINK) {
			group->trees[i] = mounts_make(mounts, mount, error);
			r = group->trees[i] < 0 ? group->trees[i] : 0;
		}
		if (r == 0) r = attach(&points, top, path_in_group(group, i), mount, group->trees[i], error);
		if (r == 0) add_own(&points, mount, group->trees[i]);
	}
	points_finish(&points);
	return r;
}

/* Is each mount of the clone where it was put? The descriptors then are those of the clone. */
static int find_in_clone(const struct group *group, int clone, struct error *error) {
	for (size_t i = 1; i < group->count; i++) {
		struct place staged, cloned;
		if (group->trees[i] < 0) continue;
		CLEANUP_FD int there = spaces_reach(clone, path_in_group(group, i));
		if (there < 0 || place_of(there, &cloned) < 0 || place_of(group->trees[i], &staged) < 0 ||
		    !cloned.is_root || !place_same_file(&staged, &cloned))
			return error_set(error, ESTALE, "what lies in it was changed meanwhile: try again");
		fd_close(group->trees[i]);
		group->trees[i] = fd_steal(&there);
	}
	return 0;
}

/* From several mounts to one detached tree that they lie in. */
static int group_assemble(struct mounts *mounts, struct group *group, struct error *error) {
	CLEANUP_FD int top = mounts_make(mounts, &group->steps[0].mount, error);
	if (top < 0) return top;
	if (group->count == 1) {
		group->trees[0] = fd_steal(&top);
		return 0;
	}
	int r = stage_attach(mounts->spaces->scratch, top, error);
	if (r < 0) return r;
	mounts->staged = true;
	r = put_on_stage(mounts, group, top, error);
	if (r < 0) return r;
	CLEANUP_FD int clone = tree_copy(top, error);
	if (clone < 0) return clone;
	r = find_in_clone(group, clone, error);
	if (r == 0) group->trees[0] = fd_steal(&clone);
	return r;
}

static int keep(struct mounts *mounts, const struct mount *mount, int *tree, struct error *error) {
	struct place place;
	if (place_of(*tree, &place) < 0) return error_errno(error, "looking at a mount");
	mounts_keep(mounts, mount, fd_steal(tree), place.mount);
	return 0;
}

/* What had its name before was torn off by the host. */
static int group_attach(struct mounts *mounts, struct group *group, const struct report *report, struct error *error) {
	const struct mount *top = &group->steps[0].mount;
	int r = !mounts->alone && mounts_find(mounts, top->id) ? mounts_take(mounts, top, report, error) : 0;
	if (r == 0) r = attach(&mounts->points, mounts->spaces->inside, top->path, top, group->trees[0], error);
	for (size_t i = 0; r == 0 && i < group->count; i++)
		if (group->trees[i] >= 0) r = keep(mounts, &group->steps[i].mount, &group->trees[i], error);
	return r;
}

/* How many of the steps from `at` on come in one move. */
static size_t group_size(const struct mounts *mounts, const struct steps *steps, size_t at, size_t end) {
	const char *top = steps->items[at].mount.path;
	size_t count = 1;
	if (mounts->alone || steps->items[at].mount.kind == MOUNT_LINK) return 1;
	while (at + count < end && path_is_below(steps->items[at + count].mount.path, top) &&
	       !string_equal(steps->items[at + count].mount.path, top))
		count++;
	return count;
}

static int recognise_given(struct mounts *mounts, const struct mount *mount, struct error *error) {
	CLEANUP_FD int there = spaces_reach(mounts->spaces->inside, mount->path);
	if (there < 0) return error_errno(error, "bwrap has not made it");
	int r = mounts_compare(mount, there, error);
	return r < 0 ? r : keep(mounts, mount, &there, error);
}

/* Nothing is to be put: it is there. */
static bool is_there(struct mounts *mounts, const struct step *step, size_t index, const struct report *report) {
	struct error error = ERROR_NONE;
	int r = mounts->again ? mounts_recognise(mounts, step->mount.id, &error) : 0;
	if (r < 0) report_failure(report, index, step, &error);
	if (r != 0) return true;
	if (!mount_is_given(&step->mount)) return false;
	if (recognise_given(mounts, &step->mount, &error) < 0) report_failure(report, index, step, &error);
	return true;
}

static void attach_groups(struct mounts *mounts, struct group *groups, size_t count, const struct report *report) {
	struct error stuck = ERROR_NONE;
	bool inside = spaces_step_in(mounts->spaces, &stuck) == 0;
	for (size_t i = 0; i < count; i++) {
		struct group *group = &groups[i];
		if (!inside) group->error = stuck;
		if (group->error.code == 0) group_attach(mounts, group, report, &group->error);
		if (group->error.code != 0) report_failure(report, group->first, group->steps, &group->error);
	}
	if (inside) spaces_step_out(mounts->spaces);
}

void mounts_put(struct mounts *mounts, const struct steps *steps, size_t at, size_t end, const struct report *report) {
	struct group *groups = mem_array(struct group, end - at);
	size_t count = 0;
	while (at < end) {
		const struct step *step = &steps->items[at];
		if (is_there(mounts, step, at, report)) {
			at++;
			continue;
		}
		struct group *group = &groups[count++];
		*group = (struct group){.steps = step, .first = at, .count = group_size(mounts, steps, at, end)};
		group->trees = mem_array(int, group->count);
		for (size_t i = 0; i < group->count; i++) group->trees[i] = -1;
		if (step->mount.kind != MOUNT_LINK) group_assemble(mounts, group, &group->error);
		at += group->count;
	}
	if (count > 0) attach_groups(mounts, groups, count, report);
	for (size_t i = 0; i < count; i++) group_finish(&groups[i]);
	free(groups);
}
