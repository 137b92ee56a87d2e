#include "portal_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "portal_stage.h"
#include "portal_tree.h"

bool mount_is_own(const struct mount *mount) {
	return mount->kind == MOUNT_FRESH || mount->kind == MOUNT_OWN ||
	       (mount->kind == MOUNT_HIDE_FOLDER && mount->mode != 0);
}

struct put *mounts_find(const struct mounts *mounts, uint32_t id) {
	for (size_t i = mounts->count; i-- > 0;)
		if (mounts->puts[i].mount.id == id) return &mounts->puts[i];
	return NULL;
}

const struct put *mounts_find_number(const struct mounts *mounts, uint64_t number) {
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->puts[i].number == number) return &mounts->puts[i];
	return NULL;
}

void mounts_list(const struct mounts *mounts, struct portal_applied *applied) {
	applied->puts = mem_array(struct portal_put, mounts->count + 1);
	for (size_t i = 0; i < mounts->count; i++)
		applied->puts[applied->put_count++] =
			(struct portal_put){.number = mounts->puts[i].number, .id = mounts->puts[i].mount.id};
	qsort(applied->puts, applied->put_count, sizeof *applied->puts, portal_put_compare);
}

void mounts_keep(struct mounts *mounts, const struct mount *mount, int tree, uint64_t number) {
	mounts->puts = array_grow(mounts->puts, mounts->count, sizeof *mounts->puts);
	mounts->puts[mounts->count++] =
		(struct put){.mount = mount_copy(mount), .tree = tree, .point = -1, .number = number};
	if (mount_is_own(mount) && !mount_is_given(mount)) points_add(&mounts->points, number);
	if (mount->kind == MOUNT_OWN)
		points_share(&mounts->points, number, tree, mounts->spaces->host, mounts->spaces->parent);
}

static bool is_among(const struct mounts *mounts, const size_t *indices, size_t count, uint32_t id) {
	for (size_t i = 0; i < count; i++)
		if (mounts->puts[indices[i]].mount.id == id) return true;
	return false;
}

size_t *mounts_on(const struct mounts *mounts, uint32_t id, size_t *ret_count) {
	size_t *indices = NULL, count = 0;
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *mount = &mounts->puts[i].mount;
		if (mount->id != id && !is_among(mounts, indices, count, mount->on)) continue;
		indices = array_grow(indices, count, sizeof *indices);
		indices[count++] = i;
	}
	*ret_count = count;
	return indices;
}

void mounts_forget(struct mounts *mounts, uint32_t id) {
	size_t gone_count, kept = 0;
	CLEANUP_FREE size_t *gone = mounts_on(mounts, id, &gone_count);
	for (size_t i = 0, next = 0; i < mounts->count; i++) {
		struct put *put = &mounts->puts[i];
		if (next == gone_count || gone[next] != i) {
			mounts->puts[kept++] = *put;
			continue;
		}
		next++;
		points_remove(&mounts->points, put->number);
		mount_finish(&put->mount);
		fd_close(put->tree);
		fd_close(put->point);
	}
	mounts->count = kept;
}

int mounts_read(const struct mounts *mounts, struct mountinfo *ret_info) {
	CLEANUP_FD int fd = openat(mounts->spaces->self, "mountinfo", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : mountinfo_read(fd, ret_info);
}

void report_failure(const struct report *report, size_t index, const struct step *step, const struct error *error) {
	struct portal_applied *applied = report->applied;
	applied->failed = array_grow(applied->failed, applied->failed_count, sizeof *applied->failed);
	applied->failed[applied->failed_count++] = (uint32_t)index;
	if (report->first->code != 0) return;
	CLEANUP_FREE char *path = text_visible_cut(step->mount.path, 200);
	error_set(report->first, error->code, "%s: %s", path, error->message);
}

/* The root and /run, if they are the tmpfs that bwrap makes and not the host's. */
static void find_given(struct mounts *mounts) {
	static const char *const given[] = {"/", "/run"};
	for (size_t i = 0; i < ARRAY_LENGTH(given); i++) {
		struct place inside, host;
		CLEANUP_FD int fd = spaces_reach(mounts->spaces->inside, given[i]);
		CLEANUP_FD int other = spaces_reach(mounts->spaces->host, given[i]);
		if (fd < 0 || place_of(fd, &inside) < 0 || !inside.is_root) continue;
		if (i == 0) mounts->root = inside.mount;
		if (other >= 0 && place_of(other, &host) == 0 && host.device == inside.device) continue;
		points_add(&mounts->points, inside.mount);
	}
}

int mounts_init(struct mounts *mounts, const struct spaces *spaces, bool again, struct error *error) {
	mounts->spaces = spaces;
	mounts->again = again;
	mounts->alone = !again;
	find_given(mounts);
	return stage_make(spaces->scratch, error);
}

void mounts_sweep(struct mounts *mounts) {
	if (mounts->staged) stage_sweep(mounts->spaces);
	mounts->staged = false;
}
