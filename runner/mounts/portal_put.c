/*
 * Theory of operation. A mount is made detached in our own namespace (open_tree, fsmount), where the host's files are
 * reached and compared. Then the process steps into the sandbox and attaches it to a descriptor of its mount point.
 * Runs of PUTs are made first and attached together, since stepping costs more than mounting.
 *
 * A group is put together on the stage: only since Linux 6.15 can a mount be attached to a detached one. From there it
 * is cloned with all that lies on it, and every mount in the clone is looked up and compared before the clone is
 * attached; so if something on the host is renamed meanwhile, the group fails.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "portal_mounts.h"
#include "portal_stage.h"
#include "portal_tree.h"

enum { PRIMED_FROM = 8 }; /* names of one folder: less are cheaper asked for one by one */

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

/* Reading a folder, the kernel learns of a hundred names in one request. What it doesn't learn is asked for. */
static void prime(struct mounts *mounts) {
	int fd = openat(mounts->behind.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : mem_expect(fdopendir(fd));
	strings_add(&mounts->primed, mounts->behind.path);
	while (stream && readdir(stream)) continue;
	if (stream) closedir(stream);
}

/* A walk asks the server for each folder on the way, and for each name. The attributes are those of the curtain's own
 * mount. */
static int clone_curtain(struct mounts *mounts, const struct mount *mount, struct error *error) {
	CLEANUP_FREE char *folder = path_parent(mount->path);
	if (mounts->curtain < 0) return error_set(error, ENODEV, "there is no curtain");
	const int at = reached_folder(&mounts->behind, mounts->curtain, folder);
	if (at < 0) return error_errno(error, "reaching its curtain");
	if (mounts->behind.uses == PRIMED_FROM && !strings_contain(&mounts->primed, folder)) prime(mounts);
	return tree_copy_of(at, path_name(mount->path), error);
}

static int make(struct mounts *mounts, const struct mount *mount, struct error *error) {
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
	case MOUNT_TEXT:
		return stage_clone_text(mounts->spaces->scratch, mount->source, error);
	case MOUNT_CURTAIN:
		return clone_curtain(mounts, mount, error);
	case MOUNT_LINK:
	case MOUNT_PROC:
	case MOUNT_DEV:
		break;
	}
	return error_set(error, EINVAL, "it is nothing to mount");
}

/* Outside: a detached mount of what the plan wants, and what it is. */
static int mounts_make(struct mounts *mounts, const struct mount *mount, struct place *ret_place, struct error *error) {
	CLEANUP_FD int tree = make(mounts, mount, error);
	if (tree < 0) return tree;
	if (place_of(tree, ret_place) < 0) return error_errno(error, "looking at a mount");
	if (mount->kind == MOUNT_CURTAIN && (ret_place->mode & S_IFMT) != (mount->mode & S_IFMT))
		return error_set(error, ESTALE, "its curtain is another");
	return fd_steal(&tree);
}

struct group {
	const struct step *steps;
	size_t first, count;
	struct part {
		int tree; /* -1: a link */
		struct place place;
	} * parts; /* of each step */
	int point; /* of the first: where it was attached; -1: not to be kept */
	struct error error;
};

static void group_finish(struct group *group) {
	for (size_t i = 0; i < group->count; i++) fd_close(group->parts[i].tree);
	free(group->parts);
	fd_close(group->point);
}

/* As seen from the group's top. */
static const char *path_in_group(const struct group *group, size_t i) {
	return group->steps[i].mount.path + strlen(group->steps[0].mount.path);
}

/* What the host has made a link of, or a link no more, is hidden otherwise: by another plan. */
static int attach_at(const struct points *points, const struct mount *mount, int tree, int point, struct error *error) {
	struct place place;
	if (place_of(point, &place) < 0) return error_errno(error, "looking at the mount point");
	if (!points_have(points, place.mount) && S_ISLNK(place.mode) != (mount->kind == MOUNT_HELD))
		return error_set(error, ESTALE, "it was changed meanwhile: try again");
	return tree_attach(tree, point, error);
}

/* Attach to its path in the group; links are no mounts. */
static int part_attach(const struct points *points, const struct group *group, size_t i, struct error *error) {
	const struct mount *mount = &group->steps[i].mount;
	const struct part *part = &group->parts[i];
	const int top = group->parts[0].tree;
	if (mount->kind == MOUNT_LINK) return point_link(points, top, path_in_group(group, i), mount->source, error);
	CLEANUP_FD int point = point_reach(points, top, path_in_group(group, i), S_ISDIR(part->place.mode), error);
	return point < 0 ? point : attach_at(points, mount, part->tree, point, error);
}

static void add_own(struct points *points, const struct group *group, size_t i) {
	if (mount_is_own(&group->steps[i].mount)) points_add(points, group->parts[i].place.mount);
}

static int part_make(struct mounts *mounts, const struct group *group, size_t i, struct error *error) {
	const struct mount *mount = &group->steps[i].mount;
	struct part *part = &group->parts[i];
	if (mount->kind == MOUNT_LINK) return 0;
	part->tree = mounts_make(mounts, mount, &part->place, error);
	return part->tree < 0 ? part->tree : 0;
}

static int put_on_stage(struct mounts *mounts, const struct group *group, struct error *error) {
	struct points points = {0};
	int r = 0;
	add_own(&points, group, 0);
	for (size_t i = 1; r == 0 && i < group->count; i++) {
		r = part_make(mounts, group, i, error);
		if (r == 0) r = part_attach(&points, group, i, error);
		if (r == 0) add_own(&points, group, i);
	}
	points_finish(&points);
	return r;
}

/* Is each mount of the clone where it was put? The descriptors then are those of the clone. */
static int find_in_clone(const struct group *group, int clone, struct error *error) {
	for (size_t i = 0; i < group->count; i++) {
		struct part *part = &group->parts[i];
		struct place cloned;
		if (part->tree < 0) continue;
		CLEANUP_FD int there = i == 0 ? clone : spaces_reach(clone, path_in_group(group, i));
		if (there < 0 || place_of(there, &cloned) < 0 || !cloned.is_root ||
		    !place_same_file(&part->place, &cloned))
			return error_set(error, ESTALE, "what lies in it was changed meanwhile: try again");
		fd_close(part->tree);
		*part = (struct part){.tree = fd_steal(&there), .place = cloned};
	}
	return 0;
}

/* From several mounts to one detached tree that they lie in. */
static int group_assemble(struct mounts *mounts, struct group *group, struct error *error) {
	int r = part_make(mounts, group, 0, error);
	if (r < 0 || group->count == 1) return r;
	r = stage_attach(mounts->spaces->scratch, group->parts[0].tree, error);
	if (r < 0) return r;
	mounts->staged = true;
	r = put_on_stage(mounts, group, error);
	if (r < 0) return r;
	int clone = tree_copy(group->parts[0].tree, error);
	return clone < 0 ? clone : find_in_clone(group, clone, error);
}

/* In the folder of the name before, if that is this one's, too, and ours: others may have been moved meanwhile. */
static int attach_near(struct mounts *mounts, const char *path, const struct part *part) {
	CLEANUP_FREE char *parent = path_parent(path);
	const int at = reached_folder(&mounts->inside, mounts->spaces->inside, parent);
	if (at < 0 || !points_have(&mounts->points, mounts->inside.mount)) return -ENOENT;
	int r = point_make(at, path_name(path), S_ISDIR(part->place.mode));
	return r < 0 ? r : tree_attach_to(part->tree, at, path_name(path), NULL);
}

static int attach_top(struct mounts *mounts, struct group *group, struct error *error) {
	const struct mount *mount = &group->steps[0].mount;
	const struct part *part = &group->parts[0];
	const int inside = mounts->spaces->inside;
	if (mount->kind == MOUNT_LINK) return point_link(&mounts->points, inside, mount->path, mount->source, error);
	int r = attach_near(mounts, mount->path, part);
	if (r < 0) {
		CLEANUP_FD int point =
			point_reach(&mounts->points, inside, mount->path, S_ISDIR(part->place.mode), error);
		r = point < 0 ? point : attach_at(&mounts->points, mount, part->tree, point, error);
		if (r == 0 && mount->kind == MOUNT_PIN && !mounts->alone) group->point = fd_steal(&point);
	}
	reached_covered(&mounts->inside, mount->path);
	return r;
}

/* False: nothing is there. No descriptor of it is left, which would keep it from being released. */
static bool look_at(const struct mounts *mounts, const char *path, struct place *ret_place) {
	CLEANUP_FD int there = spaces_reach(mounts->spaces->inside, path);
	return there >= 0 && place_of(there, ret_place) == 0;
}

/* What was put for another path, and lies at this one since the host has moved what it was mounted on; or NULL. */
static const struct put *find_stranger(const struct mounts *mounts, const char *path) {
	struct place place;
	if (!look_at(mounts, path, &place) || !place.is_root) return NULL;
	const struct put *put = mounts_find_number(mounts, place.mount);
	return put && !string_equal(put->mount.path, path) ? put : NULL;
}

static int take_known(struct mounts *mounts, const struct put *put, const struct report *report, struct error *error) {
	struct mount mount = mount_copy(&put->mount);
	reached_forget(&mounts->inside);
	int r = mounts_take(mounts, &mount, report, error);
	mount_finish(&mount);
	return r;
}

/* What had its name before was torn off by the host, or lies elsewhere by now. Nothing is taken when it can't be put.
 */
static int clear_place(struct mounts *mounts, const struct group *group, const struct report *report,
		       struct error *error) {
	const struct mount *top = &group->steps[0].mount;
	const struct put *put = mounts_find(mounts, top->id);
	struct place place;
	int r = 0;
	if (mounts->alone || top->kind == MOUNT_LINK) return 0;
	if (look_at(mounts, top->path, &place) && S_ISDIR(place.mode) != S_ISDIR(group->parts[0].place.mode))
		return error_set(error, ESTALE, "it was changed meanwhile: try again");
	if (put) r = take_known(mounts, put, report, error);
	while (r == 0 && (put = find_stranger(mounts, top->path))) r = take_known(mounts, put, report, error);
	return r;
}

static int group_attach(struct mounts *mounts, struct group *group, const struct report *report, struct error *error) {
	const struct mount *top = &group->steps[0].mount;
	int r = clear_place(mounts, group, report, error);
	if (r < 0) return r;
	r = attach_top(mounts, group, error);
	if (r < 0) { /* its mount point would be a file that nobody can read */
		reached_forget(&mounts->inside);
		point_remove(&mounts->points, mounts->spaces->inside, top->path);
	}
	for (size_t i = 0; r == 0 && i < group->count; i++) {
		struct part *part = &group->parts[i];
		if (part->tree >= 0)
			mounts_keep(mounts, &group->steps[i].mount, fd_steal(&part->tree), part->place.mount);
		if (i == 0 && group->point >= 0) mounts_find(mounts, top->id)->point = fd_steal(&group->point);
	}
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
	if (r < 0) return r;
	struct place place;
	if (place_of(there, &place) < 0) return error_errno(error, "looking at a mount");
	mounts_keep(mounts, mount, fd_steal(&there), place.mount);
	return 0;
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
		*group = (struct group){
			.steps = step, .first = at, .count = group_size(mounts, steps, at, end), .point = -1};
		group->parts = mem_array(struct part, group->count);
		for (size_t i = 0; i < group->count; i++) group->parts[i].tree = -1;
		if (step->mount.kind != MOUNT_LINK) group_assemble(mounts, group, &group->error);
		at += group->count;
	}
	if (count > 0) attach_groups(mounts, groups, count, report);
	for (size_t i = 0; i < count; i++) group_finish(&groups[i]);
	free(groups);
}

/* From what the pin covers on: a walk there doesn't come upon the pin. */
static int attach_under(struct mounts *mounts, const struct put *pin, const struct mount *mount, int tree,
			struct error *error) {
	CLEANUP_FD int point = spaces_reach(pin->point, mount->path + strlen(pin->mount.path));
	if (point < 0) return error_errno(error, "reaching what is covered");
	return attach_at(&mounts->points, mount, tree, point, error);
}

int mounts_put_under(struct mounts *mounts, const struct step *step, struct error *error) {
	const struct put *pin = mounts_find(mounts, step->under);
	struct place place;
	if (!pin || pin->point < 0 || !path_is_below(step->mount.path, pin->mount.path) ||
	    string_equal(step->mount.path, pin->mount.path))
		return error_set(error, ESTALE, "what is covered can't be reached any more");
	CLEANUP_FD int tree = mounts_make(mounts, &step->mount, &place, error);
	if (tree < 0) return tree;
	int r = spaces_step_in(mounts->spaces, error);
	if (r < 0) return r;
	r = attach_under(mounts, pin, &step->mount, tree, error);
	spaces_step_out(mounts->spaces);
	if (r == 0) mounts_keep(mounts, &step->mount, fd_steal(&tree), place.mount);
	return r;
}
