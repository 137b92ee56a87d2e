/*
 * Theory of operation. What makes git on the *host* run a program of a sandbox's choosing is always one of: a hook, a
 * configuration file (core.fsmonitor, core.hooksPath, filters, aliases …), or something that moves git to another
 * directory where those lie (a `.git` file, `commondir`, `worktrees/X/…`, `modules/X/…`). git_find lists all of them;
 * the plan makes each read-only, and pins the folders above.
 *
 * See gitrepository-layout(5), git-worktree(1) "Details", git-config(1).
 */
#include "git.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "git_config.h"
#include "regular.h"

enum {
	GIT_POINTER_MAX = 2 * PATH_MAX, /* bytes of a `.git` file */
	GIT_MODULES_DEPTH = 8,
	GIT_MODULES_MAX = 20 * 1000, /* entries looked at below modules/ and worktrees/ */
};

static const char *const protected_names[] = {
	"hooks", "config", "config.worktree", "commondir", "gitdir", "info/attributes",
};

void git_layout_finish(struct git_layout *layout) {
	free(layout->top);
	free(layout->directory);
	free(layout->common);
	free(layout->main);
	strings_finish(&layout->protect);
	*layout = (struct git_layout){0};
}

static void protect_add(struct git_layout *layout, const char *path) {
	char *normal = NULL;
	if (path_normalise(layout->top, path, &normal, NULL) < 0) return;
	if (strings_contain(&layout->protect, normal)) {
		free(normal);
		return;
	}
	strings_take(&layout->protect, normal);
}

static void protect_directory(struct git_layout *layout, const char *directory) {
	for (size_t i = 0; i < ARRAY_LENGTH(protected_names); i++) {
		CLEANUP_FREE char *path = path_join(directory, protected_names[i]);
		protect_add(layout, path);
	}
}

/* The real path of `name` seen from `directory`; NULL when there is none. */
static char *real_path(const char *directory, const char *name) {
	CLEANUP_FREE char *joined = name[0] == '/' ? string_copy(name) : path_join(directory, name);
	return realpath(joined, NULL);
}

/* A one-line file such as gitdir or commondir: the path in it, resolved. */
static char *pointer_read(const char *directory, const char *name, const char *prefix) {
	CLEANUP_FREE char *file = path_join(directory, name);
	CLEANUP_FREE char *text = NULL;
	if (regular_read(file, GIT_POINTER_MAX, &text, NULL, NULL) < 0 || !string_starts(text, prefix)) return NULL;
	char *value = text + strlen(prefix);
	value += strspn(value, " \t");
	value[strcspn(value, "\r\n")] = '\0';
	return value[0] ? real_path(directory, value) : NULL;
}

/* Each directory below `directory` that looks like a git directory of a submodule or linked worktree. */
static void protect_below(struct git_layout *layout, const char *directory, int depth, int *budget) {
	static const char *const bulky[] = {"objects", "refs", "logs", "hooks", "info", "lfs", "rr-cache"};
	DIR *stream = depth > 0 ? opendir(directory) : NULL;
	if (!stream) return;
	for (struct dirent *entry; (entry = readdir(stream)) && --*budget > 0;) {
		if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' || string_equal(entry->d_name, "..")))
			continue;
		if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) continue;
		bool skip = false;
		for (size_t i = 0; i < ARRAY_LENGTH(bulky); i++) skip |= string_equal(entry->d_name, bulky[i]);
		if (skip) continue;
		CLEANUP_FREE char *below = path_join(directory, entry->d_name);
		CLEANUP_FREE char *head = path_join(below, "HEAD");
		if (access(head, F_OK) == 0) protect_directory(layout, below);
		protect_below(layout, below, depth - 1, budget);
	}
	closedir(stream);
}

/* Every hooks path that any configuration git would read names, and those files themselves. */
static void protect_configured(struct git_layout *layout, const char *home) {
	CLEANUP_STRINGS struct strings values = {0}, files = {0};
	const char *const directories[] = {layout->common, layout->directory};
	git_config_values("/etc/gitconfig", home, "core.hookspath", &values, &files);
	CLEANUP_FREE char *global = path_join(home, ".gitconfig");
	CLEANUP_FREE char *xdg = path_join(home, ".config/git/config");
	git_config_values(global, home, "core.hookspath", &values, &files);
	git_config_values(xdg, home, "core.hookspath", &values, &files);
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		CLEANUP_FREE char *config = path_join(directories[i], "config");
		CLEANUP_FREE char *worktree = path_join(directories[i], "config.worktree");
		git_config_values(config, home, "core.hookspath", &values, &files);
		git_config_values(worktree, home, "core.hookspath", &values, &files);
	}
	for (size_t i = 0; i < files.count; i++) {
		if (!path_is_below(files.items[i], "/etc")) protect_add(layout, files.items[i]);
	}
	for (size_t i = 0; i < values.count; i++) {
		CLEANUP_FREE char *path = string_starts(values.items[i], "~/") ? path_join(home, values.items[i] + 2)
									       : string_copy(values.items[i]);
		if (path[0]) protect_add(layout, path);
	}
}

/* A linked worktree: common/worktrees/NAME/gitdir must name this very `.git` file. */
static bool linked_is_mutual(const struct git_layout *layout) {
	CLEANUP_FREE char *worktrees = path_join(layout->common, "worktrees");
	CLEANUP_FREE char *folder = path_parent(layout->directory);
	CLEANUP_FREE char *back = pointer_read(layout->directory, "gitdir", "");
	CLEANUP_FREE char *here = path_join(layout->top, ".git");
	return string_equal(folder, worktrees) && string_equal(back, here);
}

/* A submodule or a work tree with core.worktree: the directory's own configuration must name this work tree. */
static bool worktree_is_mutual(const struct git_layout *layout, const char *home) {
	CLEANUP_STRINGS struct strings values = {0}, files = {0};
	CLEANUP_FREE char *config = path_join(layout->directory, "config");
	git_config_values(config, home, "core.worktree", &values, &files);
	if (values.count == 0) return false;
	CLEANUP_FREE char *top = real_path(layout->directory, values.items[values.count - 1]);
	return string_equal(top, layout->top);
}

/* `.git` is a file. Returns false when what it names isn't there or doesn't point back. */
static bool follow_pointer(struct git_layout *layout, const char *home) {
	layout->directory = pointer_read(layout->top, ".git", "gitdir:");
	if (!layout->directory) return false;
	layout->common = pointer_read(layout->directory, "commondir", "");
	bool mutual;
	if (layout->common) {
		mutual = layout->linked = linked_is_mutual(layout);
		if (mutual) {
			layout->main = string_equal(path_name(layout->common), ".git") ? path_parent(layout->common)
										       : string_copy(layout->common);
		}
	} else {
		layout->common = string_copy(layout->directory);
		mutual = path_is_below(layout->directory, layout->top) || worktree_is_mutual(layout, home);
	}
	layout->outside = mutual && !(path_is_below(layout->directory, layout->top) &&
				      path_is_below(layout->common, layout->top));
	return mutual;
}

static int layout_read(struct git_layout *layout, const char *dotgit, bool is_directory, const char *home) {
	bool whole = true;
	if (is_directory) {
		layout->directory = realpath(dotgit, NULL);
		layout->common = layout->directory ? pointer_read(layout->directory, "commondir", "") : NULL;
		if (layout->directory && !layout->common) layout->common = string_copy(layout->directory);
		whole = layout->directory != NULL;
	} else {
		protect_add(layout, dotgit);
		whole = follow_pointer(layout, home);
	}
	if (whole && !layout->main) layout->main = string_copy(layout->top);
	if (!layout->directory || !layout->common) return 0;

	int budget = GIT_MODULES_MAX;
	protect_directory(layout, layout->directory);
	protect_directory(layout, layout->common);
	protect_configured(layout, home);
	CLEANUP_FREE char *modules = path_join(layout->common, "modules");
	CLEANUP_FREE char *worktrees = path_join(layout->common, "worktrees");
	protect_below(layout, modules, GIT_MODULES_DEPTH, &budget);
	protect_below(layout, worktrees, 1, &budget);
	return whole ? 1 : 0;
}

int git_find(const char *directory, const char *home, struct git_layout *ret_layout) {
	*ret_layout = (struct git_layout){0};
	CLEANUP_FREE char *at = string_copy(directory);
	for (;;) {
		CLEANUP_FREE char *dotgit = path_join(at, ".git");
		CLEANUP_FREE char *head = path_join(dotgit, "HEAD");
		struct stat status, link;
		if (lstat(dotgit, &link) == 0 && stat(dotgit, &status) == 0 &&
		    (S_ISREG(status.st_mode) || (S_ISDIR(status.st_mode) && access(head, F_OK) == 0))) {
			struct git_layout layout = {.top = string_copy(at)};
			if (S_ISLNK(link.st_mode)) protect_add(&layout, dotgit);
			int r = layout_read(&layout, dotgit, S_ISDIR(status.st_mode), home);
			*ret_layout = layout;
			return r;
		}
		if (string_equal(at, "/")) break;
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
	return 0;
}
