#include "programs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "finds/place.h"
#include "plan/plan.h"
#include "schema/pattern.h"

enum { PROGRAMS_MAX = 4 * PLAN_MOUNTS_MAX }; /* rules: a program has several names, a plan of more mounts fails */

static const char *const folders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",  "/usr/bin",
				      "/sbin",           "/bin",           "/usr/games", "/usr/libexec"};

static int compile(const char *text, struct pattern **ret_pattern, struct error *error) {
	const struct permission permission = permission_of(PERMISSION_PROC_SPAWN);
	const struct pattern_scope scope = {.uid = getuid(), .relative_anywhere = true};
	return pattern_compile(&permission, text, &scope, ret_pattern, error);
}

void programs_folders(const char *search, struct strings *ret_folders) {
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) strings_add(ret_folders, folders[i]);
	while (search && *search) {
		size_t size = strcspn(search, ":");
		CLEANUP_FREE char *folder = string_copy_bytes(search, size), *normal = NULL;
		if (folder[0] == '/' && path_normalise(NULL, folder, &normal, NULL) == 0 &&
		    !strings_contain(ret_folders, normal))
			strings_add(ret_folders, normal);
		search += size + (search[size] == ':');
	}
}

/* Is it there for one call (once.h)? */
static bool is_let(const struct view *view, const char *path) {
	for (size_t i = 0; i < view->program_count; i++) {
		if (view->programs[i].mode != VIEW_READ) continue;
		CLEANUP_FREE char *real = mem_expect(realpath(path, NULL));
		if (real && string_equal(view->programs[i].pattern, real)) return true;
	}
	return false;
}

struct adding {
	const struct view *view;
	const struct pattern *pattern;
	enum show show;
	bool trapped; /* nothing is mounted: a start is trapped, and asked about by what it leads to */
	struct rules *rules;
};

static bool is_folder(const char *path, bool follow) {
	struct stat status;
	return fstatat(AT_FDCWD, path, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

static void add_match(const struct adding *adding, const char *path, bool named);

/* Those that the pattern matches. */
static void add_in_folder(const struct adding *adding, const char *folder) {
	DIR *stream = mem_expect(opendir(folder));
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		CLEANUP_FREE char *path = path_join(folder, entry->d_name);
		if (!string_equal(entry->d_name, ".") && !string_equal(entry->d_name, "..") &&
		    adding->rules->count < PROGRAMS_MAX && pattern_match(adding->pattern, path, NULL))
			add_match(adding, path, false);
	}
	if (stream) closedir(stream);
}

/* By that name alone does the pattern know it. */
static void add_linked(const struct adding *adding, const char *path) {
	CLEANUP_FREE char *real = mem_expect(realpath(path, NULL));
	struct programs_linked *linked = &adding->rules->linked;
	if (!real || pattern_match(adding->pattern, real, NULL) || strings_contain(&linked->names, path)) return;
	strings_add(&linked->places, real);
	strings_add(&linked->names, path);
	strings_add(&adding->rules->programs, path);
}

static void add_program(const struct adding *adding, const char *path, bool named) {
	const bool asks = adding->show == SHOW_ASK;
	if (asks) add_linked(adding, path);
	if (!adding->trapped && !(asks && is_let(adding->view, path)))
		rules_add_program(adding->rules, adding->show, path, named);
}

/* A folder is no program. What is asked about is each program in it. A denial takes a folder of the system's away; one
 * of the user's has other files, too: the programs in it are taken away, and those further down not started (sight.h).
 * A link to a folder that only a pattern matches (/usr/bin/X11, which leads to /usr/bin) says nothing of what lies
 * there.
 */
static void add_match(const struct adding *adding, const char *path, bool named) {
	const bool asks = adding->show == SHOW_ASK;
	if (!is_folder(path, true)) {
		if (asks || named || access(path, X_OK) == 0) add_program(adding, path, named);
	} else if (named || is_folder(path, false)) {
		if (!asks && place_is_system(path))
			add_program(adding, path, named);
		else if (asks || named)
			add_in_folder(adding, path);
	}
}

static void add_named(const struct adding *adding, const char *path) {
	if (adding->show == SHOW_ASK) strings_add(&adding->rules->programs, path);
	if (access(path, F_OK) == 0) add_match(adding, path, true);
}

static void add_of_folder(const struct adding *adding, const char *folder) {
	const char *name = path_name(pattern_text(adding->pattern));
	if (strpbrk(name, "*?[\\")) {
		add_in_folder(adding, folder);
		return;
	}
	CLEANUP_FREE char *path = path_join(folder, name);
	if (pattern_match(adding->pattern, path, NULL)) add_named(adding, path);
}

int programs_add(const struct view *view, const char *search, bool trapped, struct rules *rules, struct error *error) {
	CLEANUP_STRINGS struct strings all = {0};
	programs_folders(search, &all);
	for (size_t i = 0; i < view->program_count; i++) {
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		enum show show = view->programs[i].mode == VIEW_ASK ? SHOW_ASK : SHOW_NOTHING;
		if (view->programs[i].mode == VIEW_READ) continue;
		int r = compile(view->programs[i].pattern, &pattern, error);
		if (r < 0) return error_prefix(error, "a program of the view");
		const struct adding adding = {.view = view,
					      .pattern = pattern,
					      .show = show,
					      .trapped = show == SHOW_ASK && trapped,
					      .rules = rules};
		if (pattern_is_literal(pattern)) {
			add_named(&adding, pattern_target(pattern));
			continue;
		}
		if (!(show == SHOW_ASK && (rules->curtain || trapped)) && string_equal(pattern_text(pattern), "*"))
			return error_set(error, EACCES, "the profile %s lets no program run", view->profile);
		for (size_t k = 0; k < all.count; k++) add_of_folder(&adding, all.items[k]);
	}
	return 0;
}

bool programs_deny(const struct view *view, bool asks, const char *path) {
	for (size_t i = 0; i < view->program_count; i++) {
		const enum view_mode mode = view->programs[i].mode;
		if (mode == VIEW_READ || (asks && mode == VIEW_ASK)) continue;
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		if (compile(view->programs[i].pattern, &pattern, NULL) < 0 || pattern_match(pattern, path, NULL))
			return true;
	}
	return false;
}
