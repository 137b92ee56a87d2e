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

static struct mount *find_path(struct mount *list, size_t count, const char *path) {
	for (size_t i = 0; i < count; i++)
		if (string_equal(list[i].path, path)) return &list[i];
	return NULL;
}

/* It isn't there; the last that it would have covered is seen. */
static void unput(struct plan *plan, const struct mount *put) {
	struct mount *mount = find(plan->mounts, plan->count, put->id);
	if (!mount) return;
	struct mount gone = take_out(plan->mounts, &plan->count, (size_t)(mount - plan->mounts));
	mount_finish(&gone);
	for (size_t i = plan->below_count; i-- > 0;) {
		if (!string_equal(plan->below[i].path, put->path)) continue;
		append(&plan->mounts, &plan->count, take_out(plan->below, &plan->below_count, i));
		return;
	}
}

/* It is as it was. */
static void untake(struct plan *plan, const struct plan *before, uint32_t id) {
	struct mount *was = before ? find(before->mounts, before->count, id) : NULL;
	if (!was && before) was = find(before->below, before->below_count, id);
	if (!was) return;
	struct mount *still = find(plan->mounts, plan->count, id);
	if (!still) still = find(plan->below, plan->below_count, id);
	if (still)
		still->kind = was->kind;
	else if (find_path(plan->mounts, plan->count, was->path))
		append(&plan->below, &plan->below_count, mount_copy(was));
	else
		append(&plan->mounts, &plan->count, mount_copy(was));
}

static int compare(const void *a, const void *b) {
	return path_compare(((const struct mount *)a)->path, ((const struct mount *)b)->path);
}

void plan_undo(struct plan *after, const struct plan *before, const struct steps *steps, const uint32_t *failed,
	       size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (failed[i] >= steps->count) continue;
		const struct step *first = &steps->items[failed[i]], *end = steps->items + steps->count;
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
