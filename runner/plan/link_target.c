#include "link_target.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

enum {
	TARGET_LINKS_MAX = 40,  /* path_resolution(7) */
	TARGET_STEP_BYTES = 64, /* so many bytes of a link's text count as a name, slashes among them */
	TARGET_STEPS_MAX = 256, /* names, dots among them: links can make the way of one 80,000 long */
};

struct walk {
	const struct strings *shut;
	struct string at; /* without links; "" is the root */
	char *text;       /* owned; `rest` lies in it */
	const char *rest;
	struct link_target *target;
	struct stat status; /* of `at`, while `target` says that it is there */
	int links, steps;
};

void link_target_finish(struct link_target *target) {
	free(target->path);
	*target = (struct link_target){0};
}

static void cut(struct walk *walk, size_t size) {
	walk->at.size = size;
	walk->at.data[size] = '\0';
}

static void go_up(struct walk *walk) {
	const char *slash = strrchr(walk->at.data, '/');
	cut(walk, slash ? (size_t)(slash - walk->at.data) : 0);
}

static bool is_shut(const struct walk *walk) {
	return walk->shut &&
	       path_is_below_any(walk->at.data, (const char *const *)walk->shut->items, walk->shut->count);
}

/* The link's text comes in front of what is still to walk. */
static void follow(struct walk *walk) {
	char text[PATH_MAX];
	const ssize_t size = readlink(walk->at.data, text, sizeof text - 1);
	if (size < 0 || ++walk->links > TARGET_LINKS_MAX) {
		walk->target->reach = LINK_NOWHERE;
		return;
	}
	text[size] = '\0';
	walk->steps += (int)size / TARGET_STEP_BYTES;
	char *longer = string_format("%s/%s", text, walk->rest);
	free(walk->text);
	walk->text = longer;
	walk->rest = longer;
	if (text[0] == '/')
		cut(walk, 0);
	else
		go_up(walk);
}

/* `at` is one name further. */
static void look(struct walk *walk) {
	struct link_target *target = walk->target;
	if (is_shut(walk))
		target->reach = LINK_UNKNOWN;
	else if (lstat(walk->at.data, &walk->status) < 0)
		target->reach = LINK_MISSING;
	else if (S_ISLNK(walk->status.st_mode))
		follow(walk);
	else if (!S_ISDIR(walk->status.st_mode) && walk->rest[strspn(walk->rest, "/")] != '\0')
		target->reach = LINK_NOWHERE;
}

static bool next(struct walk *walk) {
	walk->rest += strspn(walk->rest, "/");
	const size_t size = strcspn(walk->rest, "/");
	if (size == 0) return false;
	if (++walk->steps > TARGET_STEPS_MAX) {
		walk->target->reach = LINK_UNKNOWN;
		return false;
	}
	CLEANUP_FREE char *name = string_copy_bytes(walk->rest, size);
	walk->rest += size;
	if (string_equal(name, "..")) {
		go_up(walk);
	} else if (!string_equal(name, ".")) {
		string_appendf(&walk->at, "/%s", name);
		if (walk->target->reach == LINK_THERE) look(walk);
	}
	return true;
}

void link_target_find(const char *folder, const char *text, const struct strings *shut,
		      struct link_target *ret_target) {
	struct walk walk = {.shut = shut, .text = string_copy(text), .target = ret_target};
	*ret_target = (struct link_target){.reach = LINK_THERE};
	string_append(&walk.at, text[0] == '/' || string_equal(folder, "/") ? "" : folder);
	walk.rest = walk.text;
	while (next(&walk)) {
	}
	if (walk.at.size == 0) string_append(&walk.at, "/");
	if (ret_target->reach == LINK_THERE && lstat(walk.at.data, &walk.status) < 0) ret_target->reach = LINK_MISSING;
	if (ret_target->reach == LINK_THERE) {
		ret_target->mode = walk.status.st_mode;
		ret_target->device = walk.status.st_rdev;
	}
	ret_target->path = string_steal(&walk.at);
	free(walk.text);
}
