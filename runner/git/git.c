/*
 * Theory of operation. What makes git on the *host* run a program of a sandbox's choosing is always one of: a hook, a
 * configuration file (core.fsmonitor, core.hooksPath, filters, aliases …), or something that moves git to another
 * directory where those lie (a `.git` file, `commondir`, `worktrees/X/…`, `modules/X/…`). git_find lists all of them;
 * the plan makes each read-only, and pins the folders above. A `.git` that git would not take, or that isn't understood
 * here, is protected as a whole: what is broken in one run must not be free to write in the next.
 *
 * Pointing back proves nothing to whoever wrote both ends. So what lies outside the work tree is believed only when it
 * has a repository's form, when neither of the two is inside the other (an archive unpacked into X/worktrees/NAME would
 * name X), and when it isn't as wide as the home directory.
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

#include "base/file.h"
#include "base/path.h"
#include "calls/regular.h"
#include "git_config.h"

enum {
	GIT_POINTER_MAX = 2 * PATH_MAX, /* bytes of a `.git` file */
	GIT_HEAD_MAX = 255,
	GIT_NAME_MIN = 40, /* digits of an object's name */
	GIT_MODULES_DEPTH = 8,
	GIT_HOOKS_MAX = 200,
	GIT_WORDS_MAX = 2000,        /* of command lines of its configuration */
	GIT_MODULES_MAX = 20 * 1000, /* entries looked at below modules/ and worktrees/ */
};

/* A file in remotes or branches is a remote of its name, with programs of its own (gitrepository-layout(5)). */
static const char *const protected_names[] = {
	"hooks",           "config",  "config.worktree", "commondir",   "gitdir",
	"info/attributes", "remotes", "branches",        "lazygit.yml",
};

void git_layout_finish(struct git_layout *layout) {
	free(layout->top);
	free(layout->directory);
	free(layout->common);
	free(layout->main);
	strings_finish(&layout->directories);
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

/* The real path of `name` seen from `directory`; NULL when there is none. */
static char *real_path(const char *directory, const char *name) {
	CLEANUP_FREE char *joined = name[0] == '/' ? string_copy(name) : path_join(directory, name);
	return mem_expect(realpath(joined, NULL));
}

/* A one-line file such as gitdir or commondir: the path in it, resolved. */
static char *pointer_read(const char *directory, const char *name, const char *prefix) {
	CLEANUP_FREE char *file = path_join(directory, name);
	CLEANUP_FREE char *text = NULL;
	if (regular_read(file, GIT_POINTER_MAX, &text, NULL, NULL) < 0 || !string_starts(text, prefix)) return NULL;
	char *value = text + strlen(prefix);
	for (size_t size = strlen(value); size > 0 && strchr("\r\n", value[size - 1]);) value[--size] = '\0';
	return value[0] ? real_path(directory, value) : NULL;
}

/* A branch's name, or a commit's (refs.c, validate_headref). Of a link the text counts: the branch may have been packed
 * away. */
static bool is_head(const char *path) {
	static const char hex[] = "0123456789abcdefABCDEF";
	char link[sizeof "refs/"] = "";
	CLEANUP_FREE char *text = NULL;
	if (readlink(path, link, sizeof link - 1) >= 0) return string_equal(link, "refs/");
	if (errno != EINVAL || regular_read(path, GIT_HEAD_MAX, &text, NULL, NULL) < 0) return false;
	if (!string_starts(text, "ref:")) return strspn(text, hex) >= GIT_NAME_MIN;
	return string_starts(text + 4 + strspn(text + 4, " \t\n\v\f\r"), "refs/");
}

static bool may_enter(const char *directory, const char *name) {
	CLEANUP_FREE char *path = path_join(directory, name);
	return access(path, X_OK) == 0;
}

bool git_is_repository(const char *directory) {
	CLEANUP_FREE char *head = path_join(directory, "HEAD"), *common = NULL;
	if (!is_head(head)) return false;
	common = file_is_in(directory, "commondir") ? pointer_read(directory, "commondir", "") : string_copy(directory);
	return common && may_enter(common, "objects") && may_enter(common, "refs");
}

static bool is_apart(const char *one, const char *two) {
	return !path_is_below(one, two) && !path_is_below(two, one);
}

/* $HOME, what holds it, and / (attack F13). */
static bool is_too_wide(const char *path, const char *home) {
	CLEANUP_FREE char *real = mem_expect(realpath(home, NULL));
	return path_is_below(real ? real : home, path);
}

/* What a link in a folder of hooks leads to runs as well, and so does what a hook is also named. */
static void protect_hooks(struct git_layout *layout, const char *hooks) {
	DIR *stream = mem_expect(opendir(hooks));
	int budget = GIT_HOOKS_MAX;
	if (!stream) return;
	for (struct dirent *entry; (entry = readdir(stream)) && --budget > 0;) {
		CLEANUP_FREE char *path = path_join(hooks, entry->d_name);
		struct stat status;
		if (entry->d_type == DT_DIR || lstat(path, &status) < 0) continue;
		const bool link = S_ISLNK(status.st_mode);
		if ((link && stat(path, &status) < 0) || !S_ISREG(status.st_mode)) continue;
		if (link || status.st_nlink > 1) protect_add(layout, path);
	}
	closedir(stream);
}

static void protect_directory(struct git_layout *layout, const char *directory) {
	if (!strings_contain(&layout->directories, directory)) strings_add(&layout->directories, directory);
	for (size_t i = 0; i < ARRAY_LENGTH(protected_names); i++) {
		CLEANUP_FREE char *path = path_join(directory, protected_names[i]);
		protect_add(layout, path);
	}
	CLEANUP_FREE char *hooks = path_join(directory, "hooks");
	protect_hooks(layout, hooks);
}

bool git_is_directory_below(const char *folder) {
	return file_is_in(folder, "HEAD") || file_is_in(folder, "config") || file_is_in(folder, "gitdir");
}

/* A tool can make a folder of its user's so, and readable again in another run. */
static bool is_shut(const char *directory) {
	return access(directory, R_OK | X_OK) < 0 && errno == EACCES;
}

/* Each directory below `directory` that looks like a git directory of a submodule or linked worktree, or that can't be
 * looked into. */
static void protect_below(struct git_layout *layout, const char *directory, int depth, int *budget) {
	static const char *const bulky[] = {"objects", "refs", "logs", "hooks", "info", "lfs", "rr-cache"};
	if (is_shut(directory)) protect_add(layout, directory);
	DIR *stream = depth > 0 ? mem_expect(opendir(directory)) : NULL;
	if (!stream) return;
	for (struct dirent *entry; (entry = readdir(stream)) && --*budget > 0;) {
		if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' || string_equal(entry->d_name, "..")))
			continue;
		if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) continue;
		bool skip = false;
		for (size_t i = 0; i < ARRAY_LENGTH(bulky); i++) skip |= string_equal(entry->d_name, bulky[i]);
		if (skip) continue;
		CLEANUP_FREE char *below = path_join(directory, entry->d_name);
		if (git_is_directory_below(below)) protect_directory(layout, below);
		protect_below(layout, below, depth - 1, budget);
	}
	closedir(stream);
	layout->cut |= *budget <= 0;
}

/* Every file of configuration that git would read there, without what these include. */
static void list_configurations(const struct git_layout *layout, const char *home, struct strings *ret_files) {
	const char *const directories[] = {layout->common, layout->directory};
	strings_add(ret_files, "/etc/gitconfig");
	strings_take(ret_files, path_join(home, ".gitconfig"));
	strings_take(ret_files, path_join(home, ".config/git/config"));
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		strings_take(ret_files, path_join(directories[i], "config"));
		strings_take(ret_files, path_join(directories[i], "config.worktree"));
	}
}

/* Nothing but a file's name, where there may be a file. */
static bool is_file_or_missing(const char *path, const char *word) {
	static const char usual[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/~";
	struct stat status;
	if (stat(path, &status) == 0) return S_ISREG(status.st_mode);
	return errno == ENOENT && word[0] != '-' && word[strspn(word, usual)] == '\0';
}

/* A word of a command line that names a file of the work tree: git's shell starts there. With a slash in it also one
 * that is missing; without one it may be a script (`python3 clean.py`), or anything else. */
static void protect_word(struct git_layout *layout, const char *word, const char *home) {
	CLEANUP_FREE char *path = git_config_expand(word, home), *normal = NULL;
	if (path_normalise(layout->top, path, &normal, NULL) < 0 || !path_is_below(normal, layout->top)) return;
	if ((strchr(path, '/') || file_is_there(normal)) && is_file_or_missing(normal, word))
		protect_add(layout, normal);
}

/* A word as sh takes it, without its quotes and backslashes; NULL: there is none. */
static char *read_word(const char **line) {
	static const char ends[] = " \t\r\n`;|&()<>{}=!$";
	struct string word = {0};
	char quote = '\0';
	const char *at = *line + strspn(*line, ends);
	if (!*at) return NULL;
	for (; *at && (quote || !strchr(ends, *at)); at++) {
		if (*at == quote)
			quote = '\0';
		else if (!quote && (*at == '"' || *at == '\''))
			quote = *at;
		else
			string_append_char(&word, *at == '\\' && quote != '\'' && at[1] ? *++at : *at);
	}
	*line = at;
	return string_steal(&word);
}

/* What is quoted may be a line again, for a shell or whatever reads it. */
static void protect_words_in(struct git_layout *layout, const char *quoted, const char *home, int *budget) {
	static const char between[] = " \t\r\n\"'`;|&()<>{}=!$";
	CLEANUP_FREE char *text = string_copy(quoted);
	char *rest = text;
	for (const char *word; --*budget > 0 && (word = strtok_r(rest, between, &rest));)
		protect_word(layout, word, home);
}

/* A program's name, or a line for a shell. */
static void protect_line(struct git_layout *layout, const char *line, const char *home, int *budget) {
	protect_word(layout, line, home);
	while (*budget > 0) {
		CLEANUP_FREE char *word = read_word(&line);
		if (!word) break;
		protect_word(layout, word, home);
		protect_words_in(layout, word, home, budget);
	}
}

/* The programs and scripts of the work tree that git's configuration runs. What a shell makes of a line is not known
 * here: each of its words is looked at. */
static void protect_commands(struct git_layout *layout, const struct strings *configurations, const char *home) {
	CLEANUP_STRINGS struct strings lines = {0}, files = {0};
	int budget = GIT_WORDS_MAX;
	for (size_t i = 0; i < configurations->count; i++)
		git_config_commands(configurations->items[i], home, &lines, &files);
	for (size_t i = 0; i < lines.count; i++) protect_line(layout, lines.items[i], home, &budget);
}

/* Every folder that any configuration git would read names for hooks, or to make new repositories with (hooks in it
 * are copied), and those files themselves. */
static void protect_configured(struct git_layout *layout, const char *home) {
	CLEANUP_STRINGS struct strings configurations = {0}, values = {0}, files = {0};
	list_configurations(layout, home, &configurations);
	for (size_t i = 0; i < configurations.count; i++) {
		CLEANUP_STRINGS struct strings again = {0};
		git_config_values(configurations.items[i], home, "core.hookspath", &values, &files);
		git_config_values(configurations.items[i], home, "init.templatedir", &values, &again);
	}
	protect_commands(layout, &configurations, home);
	for (size_t i = 0; i < files.count; i++) {
		if (!path_is_below(files.items[i], "/etc")) protect_add(layout, files.items[i]);
	}
	for (size_t i = 0; i < values.count; i++) {
		CLEANUP_FREE char *path = git_config_expand(values.items[i], home), *normal = NULL;
		if (!path[0] || path_normalise(layout->top, path, &normal, NULL) < 0) continue;
		CLEANUP_FREE char *hooks = path_join(normal, "hooks");
		protect_add(layout, normal);
		protect_hooks(layout, normal);
		protect_hooks(layout, hooks);
	}
}

/* A linked worktree: common/worktrees/NAME/gitdir must name this very `.git` file. */
static bool linked_is_mutual(const struct git_layout *layout) {
	CLEANUP_FREE char *worktrees = path_join(layout->common, "worktrees");
	CLEANUP_FREE char *folder = path_parent(layout->directory);
	CLEANUP_FREE char *back = pointer_read(layout->directory, "gitdir", "");
	CLEANUP_FREE char *here = path_join(layout->top, ".git");
	return string_equal(folder, worktrees) && string_equal(back, here) && git_is_repository(layout->common);
}

/* A submodule or a work tree with core.worktree: the directory's own configuration must name this work tree. */
static bool worktree_is_mutual(const struct git_layout *layout, const char *home) {
	CLEANUP_STRINGS struct strings values = {0}, files = {0};
	CLEANUP_FREE char *config = path_join(layout->directory, "config");
	git_config_values(config, home, "core.worktree", &values, &files);
	if (values.count == 0 || !git_is_repository(layout->directory)) return false;
	CLEANUP_FREE char *top = real_path(layout->directory, values.items[values.count - 1]);
	return string_equal(top, layout->top);
}

/* May what lies outside the work tree be shown to whoever works in it? */
static bool may_be_outside(const struct git_layout *layout, const char *home) {
	return is_apart(layout->directory, layout->top) && is_apart(layout->common, layout->top) &&
	       !is_too_wide(layout->directory, home) && !is_too_wide(layout->common, home);
}

static char *main_of(const struct git_layout *layout, const char *home) {
	CLEANUP_FREE char *main = string_equal(path_name(layout->common), ".git") ? path_parent(layout->common)
										  : string_copy(layout->common);
	return is_too_wide(main, home) ? string_copy(layout->top) : STEAL(main);
}

/* `.git` is a file. Returns false when what it names isn't there or doesn't point back. */
static bool follow_pointer(struct git_layout *layout, const char *home) {
	layout->directory = pointer_read(layout->top, ".git", "gitdir: ");
	if (!layout->directory) return false;
	layout->common = pointer_read(layout->directory, "commondir", "");
	bool linked = layout->common != NULL;
	if (!linked) layout->common = string_copy(layout->directory);
	if (!linked && path_is_below(layout->directory, layout->top)) return true;
	if (!may_be_outside(layout, home)) return false;
	layout->outside = linked ? linked_is_mutual(layout) : worktree_is_mutual(layout, home);
	layout->linked = linked && layout->outside;
	if (layout->linked) layout->main = main_of(layout, home);
	return layout->outside;
}

static bool read_folder(struct git_layout *layout, const char *dotgit) {
	layout->directory = mem_expect(realpath(dotgit, NULL));
	if (!layout->directory) return false;
	layout->common = pointer_read(layout->directory, "commondir", "");
	if (!layout->common) layout->common = string_copy(layout->directory);
	return git_is_repository(layout->directory);
}

static size_t hash_size_of(const char *common, const char *home) {
	CLEANUP_STRINGS struct strings values = {0}, files = {0};
	CLEANUP_FREE char *config = path_join(common, "config");
	git_config_values(config, home, "extensions.objectformat", &values, &files);
	return values.count > 0 && string_equal(values.items[values.count - 1], "sha256") ? 32 : 20;
}

static void protect_all(struct git_layout *layout, const char *home) {
	int budget = GIT_MODULES_MAX;
	layout->hash_size = hash_size_of(layout->common, home);
	protect_directory(layout, layout->directory);
	if (!string_equal(layout->directory, layout->common)) protect_directory(layout, layout->common);
	protect_configured(layout, home);
	CLEANUP_FREE char *modules = path_join(layout->common, "modules");
	CLEANUP_FREE char *worktrees = path_join(layout->common, "worktrees");
	protect_below(layout, modules, GIT_MODULES_DEPTH, &budget);
	protect_below(layout, worktrees, 1, &budget);
}

int git_at(const char *top, const char *home, struct git_layout *ret_layout) {
	struct git_layout layout = {0};
	struct stat status, link;
	CLEANUP_FREE char *dotgit = path_join(top, ".git");
	*ret_layout = layout;
	if (lstat(dotgit, &link) < 0) return 0;

	layout.top = string_copy(top);
	bool exists = stat(dotgit, &status) == 0;
	bool folder = exists && S_ISDIR(status.st_mode);
	bool whole = folder ? read_folder(&layout, dotgit) : exists && follow_pointer(&layout, home);
	if (!folder || !whole || S_ISLNK(link.st_mode)) protect_add(&layout, dotgit);
	if (whole && !layout.main) layout.main = string_copy(layout.top);
	if (layout.directory && layout.common) protect_all(&layout, home);
	*ret_layout = layout;
	return whole ? 1 : 0;
}

void git_bare_at(const char *folder, const char *home, struct git_layout *ret_layout) {
	struct git_layout layout = {.top = string_copy(folder)};
	layout.directory = string_copy(folder);
	layout.common = pointer_read(folder, "commondir", "");
	if (!layout.common) layout.common = string_copy(folder);
	protect_all(&layout, home);
	*ret_layout = layout;
}

int git_find(const char *directory, const char *home, struct git_layout *ret_layout) {
	CLEANUP_FREE char *at = string_copy(directory);
	for (;;) {
		int r = git_at(at, home, ret_layout);
		if (ret_layout->top || string_equal(at, "/")) return r;
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
}
