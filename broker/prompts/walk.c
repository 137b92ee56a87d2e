/*
 * Theory of operation
 *
 * A walk shows in two ways. The runner says which folder above the target its process walks through (`walk`,
 * runner/hold/walking.h), as of find, du, rg and `ls -l`, and then already the first question is about that folder.
 * Others show when the same process asks again under the same rule within WALK_MS, at once when both list a folder,
 * else with the fourth name; the tree is the deepest folder that all its names lie in. One name after itself is one
 * name: each of several threads that open a file may be asked about it.
 *
 * So `find ~` and `rg x ~` are one question, and `cat ~/a ~/b` two about two files.
 *
 * Who was denied is not asked about again for what lies below, nor for the walk's other names, as long as DENIED_MS
 * don't pass without such a request, and at most DENIED_MOST_MS. So it is with a host's port: a program tries the
 * name's other address when the first has failed.
 *
 * An agent reads file after file without a walk, often each by a process of its own. Who was allowed FOLDER_FILES files
 * of a folder is asked about the folder next, with the file as the narrower choice; until that is denied.
 */
#include "walk.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "schema/home.h"
#include "scope.h"

enum {
	REMEMBERED = 32, /* whose turn was longest ago makes room */
	WALK_MS = 30 * 1000,
	WALK_LISTED = 2, /* folders of one process under one rule that are a walk */
	WALK_NAMES = 4,  /* names of any kind */
	FOLDER_FILES = 2,
	DENIED_MS = 5 * 1000,
	DENIED_MOST_MS = 60 * 1000,
};

/* What one process has asked for under one rule. */
struct trail {
	char *process, *rule;
	char *common; /* the deepest folder that all of it lies in */
	char *last;   /* of the names */
	int64_t names, listed;
	int64_t seen_ms;
};

/* What the user has denied to one process. */
struct denial {
	char *process, *rule, *path; /* or a host's port */
	enum permission_kind kind;
	int64_t prompt;
	int64_t since_ms, seen_ms;
};

/* What the user has allowed of one folder, file by file. */
struct folder {
	char *path, *rule;
	char *last; /* of its files */
	unsigned files;
};

struct walks {
	struct trail trails[REMEMBERED];
	struct denial denials[REMEMBERED];
	struct folder folders[REMEMBERED];
	size_t next_trail, next_denial, next_folder;
};

static void trail_finish(struct trail *trail) {
	free(trail->process);
	free(trail->rule);
	free(trail->common);
	free(trail->last);
	*trail = (struct trail){0};
}

static void denial_finish(struct denial *denial) {
	free(denial->process);
	free(denial->rule);
	free(denial->path);
	*denial = (struct denial){0};
}

static void folder_finish(struct folder *folder) {
	free(folder->path);
	free(folder->rule);
	free(folder->last);
	*folder = (struct folder){0};
}

struct walks *walks_new(void) {
	return mem_new(struct walks);
}

void walks_free(struct walks *walks) {
	if (!walks) return;
	for (size_t i = 0; i < REMEMBERED; i++) {
		trail_finish(&walks->trails[i]);
		denial_finish(&walks->denials[i]);
		folder_finish(&walks->folders[i]);
	}
	free(walks);
}

/* The trail that the step goes on with, or NULL. */
static struct trail *find_trail(struct walks *walks, const struct walk_step *step) {
	for (size_t i = 0; i < REMEMBERED; i++) {
		struct trail *trail = &walks->trails[i];
		if (trail->process && step->now_ms - trail->seen_ms < WALK_MS &&
		    string_equal(trail->process, step->request->process) && string_equal(trail->rule, step->rule))
			return trail;
	}
	return NULL;
}

/* The deepest folder at or above `folder` (NULL: above `target`) that the target lies in. Freed by the caller. */
static char *common_folder(const char *folder, const char *target) {
	char *common = folder ? string_copy(folder) : path_parent(target);
	while (!path_is_below(target, common) || string_equal(target, common)) {
		if (string_equal(common, "/")) break;
		char *parent = path_parent(common);
		free(common);
		common = parent;
	}
	return common;
}

static void trail_add(struct trail *trail, const struct walk_step *step) {
	const struct request *request = step->request;
	char *common = common_folder(trail->common, request->target);
	free(trail->common);
	trail->common = common;
	trail->seen_ms = step->now_ms;
	if (string_equal(trail->last, request->target)) return;
	free(trail->last);
	trail->last = string_copy(request->target);
	trail->names++;
	trail->listed += request->listing;
}

/* Where the process walks, as far as it is known; NULL: it doesn't. Freed by the caller. */
static char *folder_walked(const struct trail *trail, const struct walk_step *step) {
	const struct request *request = step->request;
	if (request->walk && path_is_below(request->target, request->walk)) return string_copy(request->walk);
	if (!trail || string_equal(trail->last, request->target)) return NULL;
	bool walks = (request->listing && trail->listed + 1 >= WALK_LISTED) || trail->names + 1 >= WALK_NAMES;
	return walks ? common_folder(trail->common, request->target) : NULL;
}

static bool may_walk(const struct walk_step *step) {
	return step->request->permission.kind == PERMISSION_FS_READ && step->request->process && step->rule &&
	       step->root && path_is_below(step->request->target, step->root);
}

/* Within what the rule names, and not above home. Freed by the caller. */
static char *tree_of(const struct trail *trail, const struct walk_step *step) {
	if (!may_walk(step)) return NULL;
	CLEANUP_FREE char *folder = folder_walked(trail, step);
	if (!folder) return NULL;
	const char *tree = path_is_below(folder, step->root) ? folder : step->root;
	bool above_home = path_is_below(step->home, tree) && !string_equal(step->home, tree);
	return above_home || string_equal(tree, step->request->target) ? NULL : string_copy(tree);
}

static bool includes(enum permission_kind denied, enum permission_kind asked) {
	return denied == asked || (denied == PERMISSION_FS_READ && asked == PERMISSION_FS_WRITE);
}

static bool is_fresh(const struct denial *denial, int64_t now_ms) {
	return denial->process && now_ms - denial->seen_ms < DENIED_MS && now_ms - denial->since_ms < DENIED_MOST_MS;
}

int64_t walk_denied(struct walks *walks, const struct walk_step *step) {
	const struct request *request = step->request;
	CLEANUP_FREE char *tree = tree_of(find_trail(walks, step), step);
	for (size_t i = 0; i < REMEMBERED; i++) {
		struct denial *denial = &walks->denials[i];
		if (!is_fresh(denial, step->now_ms) || !string_equal(denial->process, request->process) ||
		    !includes(denial->kind, request->permission.kind))
			continue;
		bool same_walk = tree && string_equal(denial->rule, step->rule) && path_is_below(denial->path, tree);
		if (!same_walk && !path_is_below(request->target, denial->path)) continue;
		denial->seen_ms = step->now_ms;
		return denial->prompt;
	}
	return 0;
}

static struct folder *find_folder(struct walks *walks, const char *path, const char *rule) {
	for (size_t i = 0; i < REMEMBERED; i++) {
		struct folder *folder = &walks->folders[i];
		if (folder->path && string_equal(folder->path, path) && string_equal(folder->rule, rule)) return folder;
	}
	return NULL;
}

/* The folder of which enough was allowed, unless it is everybody's. Freed by the caller. */
static char *folder_read(struct walks *walks, const struct walk_step *step) {
	CLEANUP_FREE char *path = path_parent(step->request->target);
	const struct folder *folder = find_folder(walks, path, step->rule);
	bool narrow = path_is_below(path, step->root) && !path_is_below(step->home, path) &&
		      !home_has_folder(step->home, path);
	return folder && folder->files >= FOLDER_FILES && narrow ? STEAL(path) : NULL;
}

char *walk_tree(struct walks *walks, const struct walk_step *step) {
	if (!may_walk(step)) return NULL;
	struct trail *trail = find_trail(walks, step);
	char *tree = tree_of(trail, step);
	if (!tree) tree = folder_read(walks, step);
	if (!trail) {
		trail = &walks->trails[walks->next_trail++ % REMEMBERED];
		trail_finish(trail);
		trail->process = string_copy(step->request->process);
		trail->rule = string_copy(step->rule);
	}
	trail_add(trail, step);
	return tree;
}

static bool is_remembered(const struct permission *permission) {
	return permission_is_of_path(permission) || permission->kind == PERMISSION_NET_ACCESS;
}

void walk_allow(struct walks *walks, const struct request *request, const char *rule, const char *path) {
	if (request->permission.kind != PERMISSION_FS_READ || request->folder || !string_equal(path, request->target))
		return;
	CLEANUP_FREE char *parent = path_parent(path);
	struct folder *folder = find_folder(walks, parent, rule);
	if (!folder) {
		folder = &walks->folders[walks->next_folder++ % REMEMBERED];
		folder_finish(folder);
		*folder = (struct folder){.path = STEAL(parent), .rule = string_copy_or_null(rule)};
	}
	if (string_equal(folder->last, path)) return; /* once more */
	free(folder->last);
	folder->last = string_copy(path);
	folder->files++;
}

void walk_deny(struct walks *walks, const struct request *request, const char *rule, const char *path, int64_t prompt,
	       int64_t now_ms) {
	struct folder *folder = find_folder(walks, path, rule);
	if (folder) folder_finish(folder);
	if (!request->process || !is_remembered(&request->permission)) return;
	struct denial *denial = &walks->denials[walks->next_denial++ % REMEMBERED];
	denial_finish(denial);
	*denial = (struct denial){.process = string_copy(request->process),
				  .rule = string_copy_or_null(rule),
				  .path = string_copy(path),
				  .kind = request->permission.kind,
				  .prompt = prompt,
				  .since_ms = now_ms,
				  .seen_ms = now_ms};
}
