#include "ui/words.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/resolved.h"
#include "base/text.h"
#include "runner/project.h"
#include "schema/pattern.h"
#include "schema/target.h"

const char *home_directory(void) {
	const char *home = getenv("HOME");
	if (home && *home == '/') return home;
	const struct passwd *account = getpwuid(geteuid());
	return account && account->pw_dir && *account->pw_dir == '/' ? account->pw_dir : NULL;
}

int working_directory(char **ret_path, struct error *error) {
	char *path = getcwd(NULL, 0);
	if (!path) return error_errno(error, "finding out the working directory (was it removed?)");
	*ret_path = path;
	return 0;
}

/* As a shell finds it. */
static int program_in_path(const char *name, char **ret_path, struct error *error) {
	const char *folders = getenv("PATH");
	while (folders && *folders) {
		const size_t size = strcspn(folders, ":");
		CLEANUP_FREE char *folder = string_copy_bytes(folders, size);
		CLEANUP_FREE char *path = path_join(folder, name);
		struct stat status;
		if (*path == '/' && stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0) {
			*ret_path = STEAL(path);
			return 0;
		}
		folders += size + (folders[size] == ':' ? 1 : 0);
	}
	return error_set(error, ENOENT, "there is no program '%s' in your PATH; give its path, such as /usr/bin/env",
			 name);
}

/* A socket is judged by where it lies, past all links ("/var/run/docker.sock"), also one that isn't there yet; NULL:
 * its folder isn't either. */
static char *real_socket(const struct permission *permission, const char *path) {
	if (permission->kind != PERMISSION_IPC_CONNECT || *path != '/' || strpbrk(path, "*?[\\$")) return NULL;
	char *real = mem_expect(realpath(path, NULL));
	if (real) return real;
	CLEANUP_FREE char *parent = path_parent(path), *folder = mem_expect(realpath(parent, NULL));
	return folder ? path_join(folder, path_name(path)) : NULL;
}

int words_target(const struct permission *permission, const char *text, char **ret_target, struct error *error) {
	CLEANUP_FREE char *directory = NULL, *program = NULL;
	int r = working_directory(&directory, error);
	if (r == 0 && permission->kind == PERMISSION_PROC_SPAWN && *text && !strchr("~$", *text) && !strchr(text, '/'))
		r = program_in_path(text, &program, error);
	if (r < 0) return r;
	r = target_parse(permission, program ? program : text, directory, home_directory(), ret_target, error);
	char *real = r == 0 ? real_socket(permission, *ret_target) : NULL;
	if (!real) return r;
	free(*ret_target);
	*ret_target = real;
	return 0;
}

char *words_program(const struct permission *permission, const char *target) {
	CLEANUP_FREE char *real = permission->kind == PERMISSION_PROC_SPAWN ? mem_expect(realpath(target, NULL)) : NULL;
	return real && !string_equal(real, target) ? STEAL(real) : NULL;
}

/* Does a text of this permission name a path that is seen from the working directory? */
static bool is_relative_path(const struct permission *permission, const char *text) {
	if (*text == '/' || *text == '~' || *text == '$' || *text == '\0') return false;
	if (!permission_is_of_path(permission) || string_starts(text, "**/")) return false;
	return permission->kind != PERMISSION_PROC_SPAWN || strchr(text, '/');
}

int words_pattern(const struct permission *permission, const char *text, char **ret_pattern, struct error *error) {
	if (*text == '\0') return error_set(error, EINVAL, "the target of %s is empty", permission->name);
	CLEANUP_FREE char *real = real_socket(permission, text);
	if (real) {
		*ret_pattern = pattern_quote(permission, real);
		return 0;
	}
	if (!is_relative_path(permission, text)) {
		*ret_pattern = string_copy(text);
		return 0;
	}
	CLEANUP_FREE char *directory = NULL;
	int r = working_directory(&directory, error);
	if (r < 0) return r;
	CLEANUP_FREE char *quoted = pattern_quote(permission, directory);
	return path_normalise(quoted, text, ret_pattern, error);
}

/* The path that a pattern of such a permission is, or NULL: it has wildcards, or none of a path's first characters. */
static char *plain_path(const char *pattern) {
	const char *home = home_directory();
	bool below_home = string_starts(pattern, "~/") && home;
	if ((*pattern != '/' && !below_home) || strpbrk(pattern, "*?[\\$")) return NULL;
	return string_format("%s%s", below_home ? home : "", pattern + (below_home ? 1 : 0));
}

char *words_missing(const struct permission *permission, const char *pattern) {
	struct stat status;
	if (!permission_is_of_place(permission)) return NULL;
	CLEANUP_FREE char *path = plain_path(pattern);
	return path && lstat(path, &status) < 0 && errno == ENOENT ? text_visible(path) : NULL;
}

/* Does the text as a pattern mean that path? True also of one that can't be read. */
static bool means(const struct permission *permission, const char *text, const char *path) {
	const struct pattern_scope scope = {.home = home_directory()};
	CLEANUP_FREE char *absolute = NULL;
	CLEANUP_PATTERN struct pattern *pattern = NULL;
	return words_pattern(permission, text, &absolute, NULL) < 0 ||
	       pattern_compile(permission, absolute, &scope, &pattern, NULL) < 0 || pattern_match(pattern, path, NULL);
}

char *words_namesake(const struct permission *permission, const char *text) {
	CLEANUP_FREE char *path = NULL;
	struct stat status;
	if (!permission_is_of_path(permission) || !strpbrk(text, "*?[") ||
	    words_target(permission, text, &path, NULL) < 0 || lstat(path, &status) < 0 ||
	    means(permission, text, path))
		return NULL;
	return STEAL(path);
}

char *words_resolved(const struct permission *permission, const char *pattern) {
	CLEANUP_FREE char *path = permission_is_of_files(permission) ? plain_path(pattern) : NULL;
	return path ? resolved_path(path) : NULL;
}

char *words_linked(const struct permission *permission, const char *pattern) {
	const char *home = home_directory();
	const bool below_home = string_starts(pattern, "~/") && home;
	size_t size = strcspn(pattern, "*?[\\$");
	if (!permission_is_of_files(permission) || (*pattern != '/' && !below_home) || pattern[size] == '\0')
		return NULL;
	while (size > 1 && pattern[size] != '/') size--;
	CLEANUP_FREE char *place = string_copy_bytes(pattern, size), *path = plain_path(place);
	CLEANUP_FREE char *resolved = path ? resolved_path(path) : NULL;
	CLEANUP_FREE char *quoted = resolved ? pattern_quote(permission, resolved) : NULL;
	return quoted ? string_format("%s%s", quoted, pattern + size) : NULL;
}

void words_follow(struct strings *texts) {
	for (size_t i = 0; i < texts->count; i++) {
		struct permission permission;
		const char *pattern;
		if (permission_split(texts->items[i], &permission, &pattern, NULL) < 0) continue;
		CLEANUP_FREE char *there = words_linked(&permission, pattern);
		if (!there) continue;
		char *text = string_format("%s=%s", permission.name, there);
		free(texts->items[i]);
		texts->items[i] = text;
	}
}

char *words_real_path(const struct permission *permission, const char *pattern) {
	CLEANUP_FREE char *path = permission_is_of_files(permission) ? plain_path(pattern) : NULL;
	char *resolved = path ? resolved_path(path) : NULL;
	return resolved ? resolved : STEAL(path);
}

int words_patterns(struct strings *texts, struct error *error) {
	for (size_t i = 0; i < texts->count; i++) {
		struct permission permission;
		const char *target;
		CLEANUP_FREE char *pattern = NULL;
		int r = permission_split(texts->items[i], &permission, &target, error);
		if (r == 0) r = words_pattern(&permission, target, &pattern, error);
		if (r < 0) return r;
		char *text = string_format("%s=%s", permission.name, pattern);
		free(texts->items[i]);
		texts->items[i] = text;
	}
	return 0;
}

int words_project(const char *asked, char **ret_project, struct error *error) {
	CLEANUP_FREE char *directory = NULL;
	CLEANUP_PROJECT struct project project = {0};
	int r = working_directory(&directory, error);
	if (r == 0) r = project_find(asked, directory, home_directory(), &project, error);
	if (r == 0) *ret_project = STEAL(project.project);
	return r;
}

int words_past_project(const char *asked, char **ret_project, struct error *error) {
	CLEANUP_FREE char *directory = NULL;
	if (words_project(asked, ret_project, NULL) == 0) return 0;
	int r = working_directory(&directory, error);
	return r < 0 ? r : path_normalise(directory, asked, ret_project, error);
}
