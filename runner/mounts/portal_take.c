/*
 * Theory of operation. TAKE: a mount and all that lies on it. First nothing in it can be written or run any more, by
 * whoever has it open, then it goes, by its descriptor. Which mounts went is read in /proc/self/mountinfo, opened while
 * inside: also those of the host that came along below it.
 *
 * umount2(MNT_DETACH) would take the masks off the tree as well, and who has a folder of it open would see what they
 * hid. But when a mount point is removed, which another mount namespace can do, the kernel detaches what is mounted
 * there together with what lies on it (detach_mounts in fs/namespace.c, since Linux 4.3). So the tree is moved to the
 * attic, a name made for it, and that is removed from outside. Where nothing lies on it, umount2 without MNT_DETACH
 * comes first: it succeeds when nobody has anything of it, which no look through /proc could prove. A tree whose
 * root the host has deleted can't be moved any more (ENOENT, attach_recursive_mnt of the same file); then nothing lies
 * on it either, and it is unmounted.
 *
 * RELEASE is a TAKE of a read-only mount that can be written from then on, by who has something of it open, since the
 * tree that it was a part of may be. The runner is told that it is: who has it is ended with the right to write. One
 * that can't be taken is read-only again: the plan has it still.
 *
 * READ_ONLY and WRITABLE change the mount and those that came along, one by one, since a recursive call would change
 * what lies on it, too. A mount in which a file is open for writing can't become read-only (EBUSY): it is taken, and
 * put anew with all that lay on it.
 *
 * TELL changes nothing: what stays, covered, is told as what was taken is.
 *
 * What the host has torn off is done by that: it isn't there to be changed or told (masks.h puts back what is wanted).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "portal_mounts.h"
#include "portal_tree.h"
#include "sandbox/bwrap.h"

static void note(struct portal_applied *applied, uint64_t number, uint32_t id, dev_t device) {
	applied->taken = array_grow(applied->taken, applied->taken_count, sizeof *applied->taken);
	applied->taken[applied->taken_count++] = (struct portal_taken){.number = number, .id = id, .device = device};
}

static bool is_known(const struct mounts *mounts, uint64_t number) {
	return mounts_find_number(mounts, number) || number == mounts->root;
}

/* The put that the mount `number` is or came along with. */
static uint64_t came_with(const struct mounts *mounts, const struct mountinfo *info, uint64_t number) {
	for (size_t i = 0; i < info->count && number != 0 && !is_known(mounts, number); i++)
		number = mountinfo_parent(info, number);
	return number;
}

static bool came_along(const struct mounts *mounts, const struct mountinfo *info, const struct put *put,
		       uint64_t number) {
	return came_with(mounts, info, number) == put->number;
}

/* `id`: of the plan's mount that `top` is. */
static void note_tree(const struct mounts *mounts, uint64_t top, uint32_t id, struct portal_applied *applied) {
	CLEANUP_MOUNTINFO struct mountinfo info = {0};
	if (mounts_read(mounts, &info) < 0) note(applied, top, id, 0);
	for (size_t i = 0; i < info.count; i++) {
		const uint64_t number = info.entries[i].id;
		if (!mountinfo_is_below(&info, number, top)) continue;
		const struct put *put = mounts_find_number(mounts, came_with(mounts, &info, number));
		note(applied, number, put ? put->mount.id : id, info.entries[i].device);
	}
}

static int set_one(const struct mounts *mounts, const struct mountinfo_entry *entry, uint64_t set, uint64_t clear) {
	struct place place;
	CLEANUP_FD int there = spaces_reach(mounts->spaces->inside, entry->point);
	if (there < 0 || place_of(there, &place) < 0 || place.mount != entry->id)
		return set ? -EBUSY : 0; /* something lies over it */
	int r = tree_set(there, false, set, clear);
	return r == -EPERM && clear ? 0 : r; /* the host has locked it read-only */
}

/* A tree and the host's own mounts below it, all that can be; the first failure. */
static int set_along(const struct mounts *mounts, const struct put *put, uint64_t set, uint64_t clear) {
	CLEANUP_MOUNTINFO struct mountinfo info = {0};
	int first = tree_set(put->tree, false, set, clear), r = mounts_read(mounts, &info);
	if (first == 0) first = r;
	for (size_t i = 0; i < info.count; i++) {
		const struct mountinfo_entry *entry = &info.entries[i];
		if (entry->id == put->number || !came_along(mounts, &info, put, entry->id)) continue;
		r = set_one(mounts, entry, set, clear);
		if (first == 0) first = r;
	}
	return first;
}

/* A file that is open for writing keeps its own mount from being made read-only, not the others. False: one is. */
static bool disarm(const struct mounts *mounts, const struct put *put) {
	if (tree_set(put->tree, true, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, 0) != -EBUSY) return true;
	tree_set(put->tree, true, MOUNT_ATTR_NOEXEC, 0);
	size_t count;
	CLEANUP_FREE size_t *on = mounts_on(mounts, put->mount.id, &count);
	for (size_t i = 0; i < count; i++) set_along(mounts, &mounts->puts[on[i]], MOUNT_ATTR_RDONLY, 0);
	return false;
}

/* The host may have torn it off: setting what is set is refused then. */
static bool is_mounted(int tree) {
	return tree_set(tree, false, MOUNT_ATTR_NOSUID, 0) == 0;
}

static int open_own(const struct mounts *mounts) {
	CLEANUP_FD int folder = spaces_reach(mounts->spaces->inside, BWRAP_RUN);
	return folder < 0 ? -1 : point_twin(folder);
}

/* From outside; whatever is mounted there goes. */
static void clear_attic(int own) {
	unlinkat(own, "attic", AT_REMOVEDIR);
	unlinkat(own, "attic-file", 0);
}

void mounts_clear(const struct mounts *mounts) {
	if (spaces_step_in(mounts->spaces, NULL) < 0) return;
	CLEANUP_FD int own = open_own(mounts);
	spaces_step_out(mounts->spaces);
	clear_attic(own);
	unlinkat(own, "aside", AT_REMOVEDIR);
	unlinkat(own, "aside-file", 0);
}

/* With the name that it has there. */
static int attach_in_attic(const struct mounts *mounts, int own, int tree, const char **ret_name, struct error *error) {
	struct place place;
	if (place_of(tree, &place) < 0) return error_errno(error, "looking at a mount");
	const bool folder = S_ISDIR(place.mode);
	*ret_name = folder ? "attic" : "attic-file";
	if (folder && mkdirat(own, "attic", 0) < 0 && errno != EEXIST) return error_errno(error, "making the attic");
	if (!folder) fd_close(openat(own, "attic-file", O_RDONLY | O_CREAT | O_CLOEXEC, 0));
	const char *path = folder ? BWRAP_RUN "/attic" : BWRAP_RUN "/attic-file";
	CLEANUP_FD int point = spaces_reach(mounts->spaces->inside, path);
	return point < 0 ? error_errno(error, "reaching the attic") : tree_attach(tree, point, error);
}

/* In the attic nothing can be in its way but who holds it, and our own descriptor. */
static bool release(const struct mounts *mounts, int *tree, const char *name) {
	CLEANUP_FD int folder = spaces_reach(mounts->spaces->inside, BWRAP_RUN);
	if (folder < 0) return false;
	fd_close_p(tree);
	if (tree_release(folder, name) == 0) return true;
	CLEANUP_FREE char *path = path_join(BWRAP_RUN, name);
	*tree = spaces_reach(mounts->spaces->inside, path);
	return false;
}

/* *ret_free: nobody had anything of it; then *tree is -1. */
static int drop(const struct mounts *mounts, int *tree, bool *ret_free, struct error *error) {
	struct error failed = ERROR_NONE;
	const char *name = NULL;
	CLEANUP_FD int own = open_own(mounts);
	if (own < 0) return error_errno(error, "reaching " BWRAP_RUN);
	int r = attach_in_attic(mounts, own, *tree, &name, &failed);
	if (r == -ENOENT) tree_detach(*tree, mounts->spaces->self);
	*ret_free = r == 0 && release(mounts, tree, name);
	spaces_step_out(mounts->spaces);
	clear_attic(own);
	r = spaces_step_in(mounts->spaces, error);
	if (r < 0 || *ret_free || !is_mounted(*tree)) return r;
	return error_set(error, failed.code ? failed.code : EBUSY, "%s",
			 failed.code ? failed.message : "it can't be detached");
}

int mounts_drop(const struct mounts *mounts, int *tree, struct error *error) {
	bool free_of_all;
	return drop(mounts, tree, &free_of_all, error);
}

static bool shows_host(const struct mounts *mounts, uint32_t id) {
	size_t count;
	CLEANUP_FREE size_t *on = mounts_on(mounts, id, &count);
	for (size_t i = 0; i < count; i++)
		if (mount_shows(&mounts->puts[on[i]].mount)) return true;
	return false;
}

static int detach(struct mounts *mounts, struct put *put, struct portal_applied *applied, struct error *error) {
	const size_t before = applied->taken_count;
	bool free_of_all = false;
	int r = 0;
	if (is_mounted(put->tree)) {
		if (shows_host(mounts, put->mount.id)) note_tree(mounts, put->number, put->mount.id, applied);
		const bool written = put->released || !disarm(mounts, put);
		for (size_t i = before; i < applied->taken_count; i++) applied->taken[i].written = written;
		r = drop(mounts, &put->tree, &free_of_all, error);
		if (free_of_all) applied->taken_count = before;
	}
	if (r == 0) mounts_forget(mounts, put->mount.id);
	return r;
}

/* A mount that a dead portal put and that another one covers is reached only now. 1, or 0: not there. Begins and
 * ends inside. */
static int find_put(struct mounts *mounts, uint32_t id, struct put **ret_put, struct error *error) {
	*ret_put = mounts_find(mounts, id);
	if (!*ret_put || (*ret_put)->tree >= 0) return *ret_put != NULL;
	int r = mounts_recognise(mounts, id, error), stepped = spaces_step_in(mounts->spaces, error);
	*ret_put = mounts_find(mounts, id);
	return stepped < 0 ? stepped : r;
}

/* A portal that died may have put it: what is mounted at that very path and none that we know. */
static void take_unknown(struct mounts *mounts, const struct mount *mount, struct portal_applied *applied) {
	CLEANUP_FD int there = spaces_reach(mounts->spaces->inside, mount->path);
	struct place place;
	if (there < 0 || place_of(there, &place) < 0 || !place.is_root || is_known(mounts, place.mount)) return;
	if (path_is_below(mount->path, "/proc") || path_is_below(mount->path, "/dev")) return;
	const size_t before = applied->taken_count;
	note_tree(mounts, place.mount, mount->id, applied);
	const bool written = tree_set(there, true, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, 0) == -EBUSY;
	if (written) tree_set(there, true, MOUNT_ATTR_NOEXEC, 0);
	for (size_t i = before; i < applied->taken_count; i++) applied->taken[i].written = written;
	mounts_drop(mounts, &there, NULL);
}

int mounts_take(struct mounts *mounts, const struct mount *mount, const struct report *report, struct error *error) {
	struct put *put;
	int r = find_put(mounts, mount->id, &put, error);
	if (r < 0) return r;
	if (r == 1 && mount_is_given(&put->mount))
		return error_set(error, EBUSY, "it can't be taken from a sandbox that runs");
	if (r == 0 && mounts->again) take_unknown(mounts, mount, report->applied);
	if (r == 1) r = detach(mounts, put, report->applied, error);
	if (r == 0) point_remove(&mounts->points, mounts->spaces->inside, mount->path);
	return r;
}

/* Where the host has moved it to, nobody may write. */
static bool is_on_host(const struct mounts *mounts, const struct put *put) {
	struct place here, there;
	const char *source = put->mount.source ? put->mount.source : put->mount.path;
	CLEANUP_FD int fd = spaces_reach(mounts->spaces->host, source);
	return fd >= 0 && place_of(fd, &there) == 0 && place_of(put->tree, &here) == 0 &&
	       place_same_file(&here, &there);
}

/* What is open for writing by now can't be read-only again (EBUSY), and is known to be written. */
static void withhold(struct put *put) {
	if (put->released) put->released = tree_set(put->tree, false, MOUNT_ATTR_RDONLY, 0) == -EBUSY;
}

int mounts_release(struct mounts *mounts, const struct mount *mount, const struct report *report, struct error *error) {
	struct put *put;
	int r = find_put(mounts, mount->id, &put, error);
	if (r < 0) return r;
	if (r == 1 && is_on_host(mounts, put)) put->released = tree_set(put->tree, false, 0, MOUNT_ATTR_RDONLY) == 0;
	if (r == 1 && !is_on_host(mounts, put)) withhold(put); /* moved meanwhile */
	r = mounts_take(mounts, mount, report, error);
	put = r < 0 ? mounts_find(mounts, mount->id) : NULL;
	if (put) withhold(put);
	return r;
}

int mounts_tell(const struct mounts *mounts, uint32_t id, const struct report *report, struct error *error) {
	CLEANUP_MOUNTINFO struct mountinfo info = {0};
	const struct put *put = mounts_find(mounts, id);
	int r = put ? mounts_read(mounts, &info) : 0;
	if (r < 0) return error_set(error, -r, "reading what is mounted: %s", strerror(-r));
	for (size_t i = 0; put && i < info.count; i++)
		if (came_along(mounts, &info, put, info.entries[i].id))
			note(report->applied, info.entries[i].id, id, info.entries[i].device);
	return 0;
}

/* Detach it and put it anew, read-only, with all that lay on it. Begins inside, ends outside. */
static int put_anew(struct mounts *mounts, struct put *put, const struct report *report, struct error *error) {
	size_t count;
	CLEANUP_FREE size_t *on = mounts_on(mounts, put->mount.id, &count);
	CLEANUP_STEPS struct steps steps = {.items = mem_array(struct step, count + 1)};
	for (size_t i = 0; i < count; i++)
		steps.items[steps.count++] =
			(struct step){.kind = STEP_PUT, .mount = mount_copy(&mounts->puts[on[i]].mount)};
	steps.items[0].mount.kind = MOUNT_READ;
	int r = detach(mounts, put, report->applied, error);
	spaces_step_out(mounts->spaces);
	if (r < 0) return r;
	struct portal_applied applied = {0};
	mounts_put(mounts, &steps, 0, steps.count, &(struct report){.applied = &applied, .first = error});
	portal_applied_finish(&applied);
	return -error->code;
}

int mounts_set_read_only(struct mounts *mounts, uint32_t id, bool on, const struct report *report,
			 struct error *error) {
	const uint64_t set = on ? MOUNT_ATTR_RDONLY : 0, clear = on ? 0 : MOUNT_ATTR_RDONLY;
	struct put *put;
	int r = find_put(mounts, id, &put, error);
	if (r < 0) return r;
	if (r == 0 || !is_mounted(put->tree)) return 0;
	r = set_along(mounts, put, set, clear);
	if (r == -EBUSY && on) return put_anew(mounts, put, report, error);
	if (r < 0) return error_set(error, -r, "changing it: %s", strerror(-r));
	if (put->mount.kind == MOUNT_READ || put->mount.kind == MOUNT_WRITE)
		put->mount.kind = on ? MOUNT_READ : MOUNT_WRITE;
	return 0;
}
