/*
 * Theory of operation. `git status` in a project runs git in each submodule, with that one's own configuration; so does
 * whoever changes into a folder that holds a repository. A gitlink in the index, which a sandbox may write, is all it
 * takes to make a submodule of a folder. Both ways are looked at: what the index names, wherever it lies, and a walk in
 * breadth, because what is deep is seldom a repository while what is bulky (dependencies, build trees) is deep.
 */
#include "git_survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "git_index.h"

enum {
	SURVEY_FOLDERS_MAX = 2000,
	SURVEY_ENTRIES_MAX = 50 * 1000,
	SURVEY_NAMES_MAX = 20 * 1000, /* of one folder */
	SURVEY_PACKAGES_MAX = 20 * 1000,
};

void git_survey_finish(struct git_survey *survey) {
	free(survey->root);
	free(survey->top);
	free(survey->directory);
	strings_finish(&survey->repositories);
	strings_finish(&survey->bare);
	strings_finish(&survey->shut);
	strings_finish(&survey->notes);
	*survey = (struct git_survey){0};
}

static bool is_folder(int parent, const struct dirent *entry) {
	struct stat status;
	if (entry->d_type != DT_UNKNOWN) return entry->d_type == DT_DIR;
	return fstatat(parent, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

static void add_once(struct strings *paths, const char *path) {
	if (!strings_contain(paths, path)) strings_add(paths, path);
}

/* A tool can make a folder of its user's so, and readable again in another run. */
static void note_shut(const char *path, struct git_survey *survey) {
	struct stat status;
	CLEANUP_FREE char *parent = path_parent(path);
	if (lstat(path, &status) < 0 && errno == EACCES) { /* it is the folder above that can't be gone through */
		add_once(&survey->shut, parent);
	} else if (status.st_uid == geteuid()) {
		add_once(&survey->shut, path);
	}
}

static DIR *open_folder(const char *path, struct git_survey *survey) {
	CLEANUP_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES) note_shut(path, survey);
	DIR *stream = fd >= 0 ? mem_expect(fdopendir(fd)) : NULL;
	if (stream) fd_steal(&fd);
	return stream;
}

/* By its name, however many others the folder has. */
static void look_for_git(const char *path, struct git_survey *survey) {
	CLEANUP_FREE char *dotgit = path_join(path, ".git");
	struct stat status;
	if (lstat(dotgit, &status) == 0)
		add_once(&survey->repositories, path);
	else if (errno == EACCES) /* it can't be gone through */
		note_shut(dotgit, survey);
	if (git_is_repository(path)) add_once(&survey->bare, path);
}

/* A package may be a link into a store (node_modules/.pnpm/NAME@1.0/node_modules/NAME), or to where somebody works on
 * it. Who goes into it is in each of the folders above, too, as git sees it. */
static void look_behind(const char *link, size_t *budget, struct git_survey *survey) {
	CLEANUP_FREE char *at = mem_expect(realpath(link, NULL));
	while (at && *budget > 0 && path_is_below(at, survey->root) && !string_equal(at, survey->root)) {
		char *parent = path_parent(at);
		--*budget;
		look_for_git(at, survey);
		free(at);
		at = parent;
	}
}

/* Packages are many, and seldom repositories: each one's own `.git`, or that it is one's directory, is all that is
 * looked for, also in those of a scope (node_modules/@SCOPE/NAME). */
static void survey_packages(const char *path, bool scope, size_t *budget, struct git_survey *survey) {
	DIR *stream = open_folder(path, survey);
	if (!stream) return;
	look_for_git(path, survey);
	for (const struct dirent *entry; *budget > 0 && (entry = readdir(stream));) {
		if (path_is_dots(entry->d_name) || string_equal(entry->d_name, ".git")) continue;
		CLEANUP_FREE char *package = path_join(path, entry->d_name);
		--*budget;
		if (!is_folder(dirfd(stream), entry))
			look_behind(package, budget, survey);
		else if (!scope && entry->d_name[0] == '@')
			survey_packages(package, true, budget, survey);
		else
			look_for_git(package, survey);
	}
	closedir(stream);
}

struct budget {
	size_t entries, packages;
};

/* The folders in one for later. False past a bound. */
static bool survey_names(DIR *stream, const char *path, struct budget *budget, struct strings *queue,
			 struct git_survey *survey) {
	size_t left = budget->entries < SURVEY_NAMES_MAX ? budget->entries : SURVEY_NAMES_MAX;
	bool whole = true;
	budget->entries -= left;
	for (const struct dirent *entry; left > 0 && (entry = readdir(stream));) {
		const char *name = entry->d_name;
		left--;
		if (path_is_dots(name) || string_equal(name, ".git") || !is_folder(dirfd(stream), entry)) continue;
		CLEANUP_FREE char *below = path_join(path, name);
		if (string_equal(name, "node_modules"))
			survey_packages(below, false, &budget->packages, survey);
		else if (queue->count < SURVEY_FOLDERS_MAX)
			strings_add(queue, below);
		else
			whole = false;
	}
	budget->entries += left;
	return whole && left > 0 && budget->packages > 0;
}

static bool survey_folder(const char *path, struct budget *budget, struct strings *queue, struct git_survey *survey) {
	DIR *stream = open_folder(path, survey);
	if (!stream) return true;
	look_for_git(path, survey);
	const bool whole = survey_names(stream, path, budget, queue, survey);
	closedir(stream);
	return whole;
}

static void survey_folders(struct git_survey *survey) {
	CLEANUP_STRINGS struct strings queue = {0};
	struct budget budget = {SURVEY_ENTRIES_MAX, SURVEY_PACKAGES_MAX};
	bool whole = true;
	strings_add(&queue, survey->root);
	for (size_t i = 0; i < queue.count; i++) whole &= survey_folder(queue.items[i], &budget, &queue, survey);
	survey->folders = queue.count;
	survey->cut = !whole;
	CLEANUP_FREE char *shown = text_visible(survey->root);
	if (!whole)
		strings_addf(&survey->notes,
			     "in %s nested repositories were looked for in %zu folders, the shallow ones: the .git of "
			     "another one is not protected, unless it is a submodule",
			     shown, queue.count);
}

static void survey_index(struct git_survey *survey) {
	CLEANUP_GIT_INDEX struct git_index index = {0};
	CLEANUP_FREE char *file = path_join(survey->directory, "index");
	const struct strings *links = &index.links;
	git_index_read(file, survey->hash_size, &index);
	if (!index.whole)
		strings_addf(&survey->notes, "git's index was not understood to its end: a submodule in it may not be "
					     "protected if it lies deep");
	for (size_t i = 0; i < links->count; i++) {
		CLEANUP_FREE char *folder = NULL;
		if (path_normalise(survey->top, links->items[i], &folder, NULL) < 0) continue;
		if (!path_is_below(folder, survey->top) || string_equal(folder, survey->top)) continue;
		CLEANUP_FREE char *dotgit = path_join(folder, ".git");
		if (file_is_there(dotgit)) add_once(&survey->repositories, folder);
	}
}

static void survey_all(struct git_survey *survey) {
	survey_folders(survey);
	if (survey->directory) survey_index(survey);
}

void git_survey_take(const char *root, const struct git_layout *layout, struct git_survey *ret_survey) {
	*ret_survey = (struct git_survey){.root = string_copy(root)};
	if (layout->directory && layout->common) {
		ret_survey->top = string_copy(layout->top);
		ret_survey->directory = string_copy(layout->directory);
		ret_survey->hash_size = layout->hash_size;
	}
	survey_all(ret_survey);
}

bool git_survey_compare(const struct git_survey *before, struct strings *paths, size_t *ret_folders) {
	*ret_folders = 0;
	if (!before->root) return true;
	CLEANUP_GIT_SURVEY struct git_survey after = {.root = string_copy(before->root),
						      .top = before->top ? string_copy(before->top) : NULL,
						      .directory =
							      before->directory ? string_copy(before->directory) : NULL,
						      .hash_size = before->hash_size};
	survey_all(&after);
	for (size_t i = 0; i < after.repositories.count; i++) {
		if (!strings_contain(&before->repositories, after.repositories.items[i]))
			strings_take(paths, path_join(after.repositories.items[i], ".git"));
	}
	for (size_t i = 0; i < after.bare.count; i++) {
		if (!strings_contain(&before->bare, after.bare.items[i])) strings_add(paths, after.bare.items[i]);
	}
	*ret_folders = after.folders;
	return !after.cut;
}
