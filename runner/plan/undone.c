#include "undone.h"

#include <stdlib.h>

#include "base/path.h"

static void append(struct mount **list, size_t *count, struct mount mount) {
	*list = array_grow(*list, *count, sizeof **list);
	(*list)[(*count)++] = mount;
}

static struct mount take_out(struct mount *list, size_t *count, size_t index) {
	struct mount mount = list[index];
	for (size_t i = index + 1; i < *count; i++) list[i - 1] = list[i];
	--*count;
	return mount;
}

static struct mount *find(struct mount *list, size_t count, uint32_t id) {
	for (size_t i = 0; i < count; i++)
		if (list[i].id == id) return &list[i];
	return NULL;
}

/* That a walk to `path` ends in. */
static struct mount *nearest(struct plan *plan, const char *path) {
	struct mount *best = NULL;
	for (size_t i = 0; i < plan->count; i++) {
		struct mount *mount = &plan->mounts[i];
		if (path_is_below(path, mount->path) && (!best || path_is_below(mount->path, best->path))) best = mount;
	}
	return best;
}

/* What lies on the mount that a walk to it ends in now is seen again. False: there is nothing more of that kind. */
static bool uncover(struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->below_count; i++) {
		const struct mount *covered = &plan->below[i];
		struct mount *at = nearest(plan, covered->path);
		if (!path_is_below(covered->path, path) || (at ? at->id : 0) != covered->on) continue;
		struct mount seen = take_out(plan->below, &plan->below_count, i);
		if (at && string_equal(at->path, seen.path))
			append(&plan->below, &plan->below_count,
			       take_out(plan->mounts, &plan->count, (size_t)(at - plan->mounts)));
		append(&plan->mounts, &plan->count, seen);
		return true;
	}
	return false;
}

/* It isn't there; what it would have covered is seen, at its path and below. */
static void unput(struct plan *plan, const struct mount *put) {
	struct mount *mount = find(plan->mounts, plan->count, put->id);
	if (!mount) {
		plan_lose(plan, put->id);
		return;
	}
	struct mount gone = take_out(plan->mounts, &plan->count, (size_t)(mount - plan->mounts));
	mount_finish(&gone);
	while (uncover(plan, put->path)) continue;
}

static void untake_all_on(struct plan *plan, const struct plan *before, uint32_t id);

/* It is as it was, and so is what lies on it and was to go with it. */
static void untake(struct plan *plan, const struct plan *before, uint32_t id) {
	struct mount *was = before ? find(before->mounts, before->count, id) : NULL;
	if (!was && before) was = find(before->below, before->below_count, id);
	if (!was) return;
	struct mount *still = find(plan->mounts, plan->count, id);
	if (!still) still = find(plan->below, plan->below_count, id);
	if (still) {
		still->kind = was->kind;
		still->exposed = was->exposed;
		return;
	}
	const struct mount *at = nearest(plan, was->path);
	if ((at ? at->id : 0) == was->on)
		append(&plan->mounts, &plan->count, mount_copy(was));
	else
		append(&plan->below, &plan->below_count, mount_copy(was));
	untake_all_on(plan, before, id);
}

static void untake_all_on(struct plan *plan, const struct plan *before, uint32_t id) {
	for (size_t i = 0; i < before->count; i++)
		if (before->mounts[i].on == id) untake(plan, before, before->mounts[i].id);
	for (size_t i = 0; i < before->below_count; i++)
		if (before->below[i].on == id) untake(plan, before, before->below[i].id);
}

static int compare(const void *a, const void *b) {
	return path_compare(((const struct mount *)a)->path, ((const struct mount *)b)->path);
}

void plan_undo(struct plan *after, const struct plan *before, const struct steps *steps, const uint32_t *failed,
	       size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (failed[i] >= steps->count) continue;
		const struct step *first = &steps->items[failed[i]], *end = steps->items + steps->count;
		if (first->kind == STEP_PUT_UNDER) plan_lose(after, first->mount.id);
		if (first->kind == STEP_PUT_UNDER) continue;
		if (first->kind != STEP_PUT) {
			untake(after, before, first->mount.id);
			continue;
		}
		for (const struct step *step = first; step < end; step++) {
			if (step->kind != STEP_PUT || !path_is_below(step->mount.path, first->mount.path)) break;
			unput(after, &step->mount);
		}
	}
	if (count > 0 && after->count > 1) qsort(after->mounts, after->count, sizeof *after->mounts, compare);
}

/* What is seen lies on a covered one only at the same path: it is put on what that one lay on. */
void plan_lose(struct plan *plan, uint32_t id) {
	struct mount *mount = find(plan->below, plan->below_count, id);
	if (!mount) return;
	struct mount lost = take_out(plan->below, &plan->below_count, (size_t)(mount - plan->below));
	for (size_t i = 0; i < plan->count; i++)
		if (plan->mounts[i].on == id) plan->mounts[i].on = lost.on;
	for (size_t i = 0; i < plan->below_count; i++)
		if (plan->below[i].on == id) plan->below[i].on = lost.on;
	mount_finish(&lost);
}
