#include "runner/home_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/string.h"
#include "runner/homes.h"

/* Names of folders, sorted. */
static void folders_of(const char *path, struct strings *names) {
	DIR *stream = opendir(path);
	for (const struct dirent *entry; stream && (entry = readdir(stream));) {
		struct stat status;
		if (path_is_dots(entry->d_name)) continue;
		if (fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) continue;
		if (S_ISDIR(status.st_mode)) strings_add(names, entry->d_name);
	}
	if (stream) closedir(stream);
	strings_sort(names);
}

static void add_homes(const char *state, const char *project, struct home_list *list) {
	CLEANUP_FREE char *homes = path_join(state, "homes");
	CLEANUP_STRINGS struct strings profiles = {0};
	folders_of(homes, &profiles);
	for (size_t i = 0; i < profiles.count; i++) {
		list->items = array_grow(list->items, list->count, sizeof *list->items);
		list->items[list->count++] = (struct home_entry){.profile = string_copy(profiles.items[i]),
								 .project = string_copy_or_null(project),
								 .folder = path_join(homes, profiles.items[i])};
	}
}

void home_list_read(const char *home, struct home_list *ret_list) {
	CLEANUP_FREE char *state = homes_state(home);
	CLEANUP_FREE char *projects = path_join(state, "projects");
	CLEANUP_STRINGS struct strings names = {0};
	*ret_list = (struct home_list){0};
	add_homes(state, NULL, ret_list);
	folders_of(projects, &names);
	for (size_t i = 0; i < names.count; i++) {
		CLEANUP_FREE char *of_project = path_join(projects, names.items[i]);
		add_homes(of_project, names.items[i], ret_list);
	}
}

void home_list_finish(struct home_list *list) {
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].profile);
		free(list->items[i].project);
		free(list->items[i].folder);
	}
	free(list->items);
	*list = (struct home_list){0};
}

int home_open(const char *folder, struct error *error) {
	const struct file_demand demand = {.kind = S_IFDIR, .owner = geteuid()};
	return file_open_demanded(AT_FDCWD, folder, folder, &demand, error);
}
