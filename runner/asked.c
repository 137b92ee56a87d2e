#include "asked.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/path.h"

struct thing {
	char *path;
	dev_t device;
	ino_t inode; /* 0: there was nothing */
	unsigned questions;
	bool swapped; /* for good */
};

struct asked {
	struct thing *things;
	size_t count;
};

struct asked *asked_new(void) {
	return mem_new(struct asked);
}

static struct thing *find(const struct asked *asked, const char *path) {
	for (size_t i = 0; i < asked->count; i++)
		if (string_equal(asked->things[i].path, path)) return &asked->things[i];
	return NULL;
}

static void note(struct asked *asked, const char *path) {
	struct thing *thing = find(asked, path);
	struct stat status;
	if (thing) {
		thing->questions++;
		return;
	}
	if (lstat(path, &status) < 0) status = (struct stat){0};
	asked->things = array_grow(asked->things, asked->count, sizeof *asked->things);
	asked->things[asked->count++] = (struct thing){
		.path = string_copy(path), .device = status.st_dev, .inode = status.st_ino, .questions = 1};
}

static void forget(struct asked *asked, const char *path) {
	struct thing *thing = find(asked, path);
	if (!thing || --thing->questions > 0 || thing->swapped) return;
	free(thing->path);
	*thing = asked->things[--asked->count];
}

/* An answer may be for any folder above. */
static void each_above(struct asked *asked, const char *path, void (*each)(struct asked *asked, const char *path)) {
	CLEANUP_FREE char *at = string_copy(path);
	while (!string_equal(at, "/")) {
		each(asked, at);
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
}

void asked_note(struct asked *asked, const char *path) {
	each_above(asked, path, note);
}

void asked_forget(struct asked *asked, const char *path) {
	each_above(asked, path, forget);
}

static bool is_swapped(const struct asked *asked, const struct mount *mount, struct thing **ret_thing) {
	*ret_thing = NULL;
	if (mount->kind != MOUNT_READ && mount->kind != MOUNT_WRITE) return false;
	if (mount->inode == 0 || !string_equal(mount->source, mount->path)) return false;
	struct thing *thing = *ret_thing = find(asked, mount->path);
	return thing && (thing->device != mount->device || thing->inode != mount->inode);
}

/* Nothing of it: neither what lies in it nor what is around. */
static void hide(struct plan *plan, size_t index, bool folder) {
	struct mount *mount = &plan->mounts[index];
	free(mount->source);
	mount->source = NULL;
	mount->kind = folder ? MOUNT_HIDE_FOLDER : MOUNT_HIDE_FILE;
	mount->mode = 0;
	mount->device = 0;
	mount->inode = 0;
	size_t kept = index + 1;
	for (size_t i = index + 1; i < plan->count; i++) {
		if (path_is_below(plan->mounts[i].path, plan->mounts[index].path))
			mount_finish(&plan->mounts[i]);
		else
			plan->mounts[kept++] = plan->mounts[i];
	}
	plan->count = kept;
}

const char *asked_check(struct asked *asked, struct plan *plan) {
	const char *first = NULL;
	for (size_t i = 0; i < plan->count && asked->count > 0; i++) {
		struct thing *thing;
		struct stat status;
		if (!is_swapped(asked, &plan->mounts[i], &thing)) continue;
		thing->swapped = true;
		hide(plan, i, lstat(thing->path, &status) == 0 && S_ISDIR(status.st_mode));
		if (!first) first = thing->path;
	}
	return first;
}

void asked_free(struct asked *asked) {
	if (!asked) return;
	for (size_t i = 0; i < asked->count; i++) free(asked->things[i].path);
	free(asked->things);
	free(asked);
}
