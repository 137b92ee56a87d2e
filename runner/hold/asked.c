#include "asked.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"

struct thing {
	dev_t device;
	ino_t inode; /* 0: there was nothing */
	bool folder;
};

/* What lay at each step of its path but "/", as far as there was something: a path is the tool's to choose, and may
 * have thousands of steps that nobody has. */
struct question {
	char *path;
	unsigned count; /* of those that were put */
	struct thing *things;
	size_t thing_count;
};

struct swapped { /* for good */
	char *path;
	struct thing thing;
};

struct asked {
	struct question *questions;
	size_t question_count;
	struct swapped *swapped;
	size_t swapped_count;
};

struct asked *asked_new(void) {
	return mem_new(struct asked);
}

static struct question *find(const struct asked *asked, const char *path) {
	for (size_t i = 0; i < asked->question_count; i++)
		if (string_equal(asked->questions[i].path, path)) return &asked->questions[i];
	return NULL;
}

/* One step after the other, each by its name alone and no link followed, as what is mounted is reached. */
static void look(struct question *question) {
	CLEANUP_FREE char *path = string_copy(question->path);
	CLEANUP_FD int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (char *rest = path, *name; (name = strtok_r(rest, "/", &rest));) {
		struct stat status;
		int next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		fd_close(at);
		at = next;
		if (at < 0 || fstat(at, &status) < 0) return;
		question->things = array_grow(question->things, question->thing_count, sizeof *question->things);
		question->things[question->thing_count++] = (struct thing){
			.device = status.st_dev, .inode = status.st_ino, .folder = S_ISDIR(status.st_mode)};
	}
}

void asked_note(struct asked *asked, const char *path) {
	struct question *question = find(asked, path);
	if (!question) {
		asked->questions = array_grow(asked->questions, asked->question_count, sizeof *asked->questions);
		question = &asked->questions[asked->question_count++];
		*question = (struct question){.path = string_copy(path)};
		look(question);
	}
	question->count++;
}

bool asked_is_missing(const struct asked *asked, const char *path) {
	const struct question *question = find(asked, path);
	const size_t depth = path_depth(path);
	return question && depth > 1 && question->thing_count == depth - 1 && question->things[depth - 2].folder;
}

bool asked_is_folder(const struct asked *asked, const char *path) {
	const struct question *question = find(asked, path);
	const size_t depth = path_depth(path);
	return question && depth > 0 && question->thing_count == depth && question->things[depth - 1].folder;
}

static void question_finish(struct question *question) {
	free(question->path);
	free(question->things);
}

void asked_forget(struct asked *asked, const char *path) {
	struct question *question = find(asked, path);
	if (!question || --question->count > 0) return;
	question_finish(question);
	*question = asked->questions[--asked->question_count];
}

static bool differs(const struct mount *mount, const struct thing *thing) {
	return thing->device != mount->device || thing->inode != mount->inode;
}

/* An answer may be for any folder above. */
static bool is_swapped_since(const struct question *question, const struct mount *mount, struct thing *ret_thing) {
	const size_t depth = path_depth(mount->path);
	if (depth == 0 || !path_is_below(question->path, mount->path)) return false;
	*ret_thing = depth <= question->thing_count ? question->things[depth - 1] : (struct thing){0};
	return differs(mount, ret_thing);
}

/* The path (borrowed) when it is another thing than it was; NULL: it isn't. */
static const char *swapped_at(struct asked *asked, const struct mount *mount) {
	struct thing thing;
	if (mount->kind != MOUNT_READ && mount->kind != MOUNT_WRITE) return NULL;
	if (mount->inode == 0 || !string_equal(mount->source, mount->path)) return NULL;
	for (size_t i = 0; i < asked->swapped_count; i++)
		if (string_equal(asked->swapped[i].path, mount->path))
			return differs(mount, &asked->swapped[i].thing) ? asked->swapped[i].path : NULL;
	for (size_t i = 0; i < asked->question_count; i++) {
		if (!is_swapped_since(&asked->questions[i], mount, &thing)) continue;
		asked->swapped = array_grow(asked->swapped, asked->swapped_count, sizeof *asked->swapped);
		struct swapped *swapped = &asked->swapped[asked->swapped_count++];
		*swapped = (struct swapped){.path = string_copy(mount->path), .thing = thing};
		return swapped->path;
	}
	return NULL;
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
	for (size_t i = 0; i < plan->count && asked->question_count + asked->swapped_count > 0; i++) {
		struct stat status;
		const char *path = swapped_at(asked, &plan->mounts[i]);
		if (!path) continue;
		hide(plan, i, lstat(path, &status) == 0 && S_ISDIR(status.st_mode));
		if (!first) first = path;
	}
	return first;
}

void asked_free(struct asked *asked) {
	if (!asked) return;
	for (size_t i = 0; i < asked->question_count; i++) question_finish(&asked->questions[i]);
	for (size_t i = 0; i < asked->swapped_count; i++) free(asked->swapped[i].path);
	free(asked->questions);
	free(asked->swapped);
	free(asked);
}
