#include "programs.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "schema/pattern.h"

static const char *const folders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",  "/usr/bin",
				      "/sbin",           "/bin",           "/usr/games", "/usr/libexec"};

static int compile(const char *text, struct pattern **ret_pattern, struct error *error) {
	const struct permission permission = permission_of(PERMISSION_PROC_SPAWN);
	const struct pattern_scope scope = {.uid = getuid(), .relative_anywhere = true};
	return pattern_compile(&permission, text, &scope, ret_pattern, error);
}

static void search_folders(const char *search, struct strings *ret_folders) {
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

static void add_if_there(struct rules *rules, enum show show, const char *path) {
	const enum view_denial denial = show == SHOW_NOTHING ? VIEW_DENIES_READ : VIEW_DENIES_NOTHING;
	if (access(path, F_OK) == 0) rules_add_denial(rules, show, path, denial);
}

static void add_in_folder(const struct pattern *pattern, enum show show, const char *folder, struct rules *rules) {
	const char *name = path_name(pattern_text(pattern));
	if (!strpbrk(name, "*?[\\")) {
		CLEANUP_FREE char *path = path_join(folder, name);
		if (pattern_match(pattern, path, NULL)) add_if_there(rules, show, path);
		return;
	}
	DIR *stream = mem_expect(opendir(folder));
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		CLEANUP_FREE char *path = path_join(folder, entry->d_name);
		if (!string_equal(entry->d_name, ".") && !string_equal(entry->d_name, "..") &&
		    pattern_match(pattern, path, NULL))
			rules_add(rules, RULE_VIEW, show, path);
	}
	if (stream) closedir(stream);
}

int programs_add(const struct view *view, const char *search, bool trapped, struct rules *rules, struct error *error) {
	CLEANUP_STRINGS struct strings all = {0};
	search_folders(search, &all);
	for (size_t i = 0; i < view->program_count; i++) {
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		enum show show = view->programs[i].mode == VIEW_ASK ? SHOW_ASK : SHOW_NOTHING;
		if (show == SHOW_ASK && trapped) continue;
		int r = compile(view->programs[i].pattern, &pattern, error);
		if (r < 0) return error_prefix(error, "a program of the view");
		if (pattern_is_literal(pattern)) {
			add_if_there(rules, show, pattern_target(pattern));
			continue;
		}
		if (!(show == SHOW_ASK && rules->curtain) && string_equal(pattern_text(pattern), "*"))
			return error_set(error, EACCES, "the profile %s lets no program run", view->profile);
		for (size_t k = 0; k < all.count; k++) add_in_folder(pattern, show, all.items[k], rules);
	}
	return 0;
}

bool programs_deny(const struct view *view, bool asks, const char *path) {
	for (size_t i = 0; i < view->program_count; i++) {
		if (asks && view->programs[i].mode == VIEW_ASK) continue;
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		if (compile(view->programs[i].pattern, &pattern, NULL) < 0 || pattern_match(pattern, path, NULL))
			return true;
	}
	return false;
}
