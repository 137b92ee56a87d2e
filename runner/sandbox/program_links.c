#include "runner/program_links.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/path.h"
#include "programs.h"

struct sought {
	const char *file;
	struct stat status;
	struct strings *links;
};

/* Where the file system doesn't say (readdir(3)), a look will. */
static bool may_be_link(const struct dirent *entry) {
	return entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
}

/* The kernel follows it; what it leads to may be another name of the file. */
static bool leads_there(const struct sought *sought, int folder, const char *name, const char *path) {
	struct stat own, status;
	if (fstatat(folder, name, &status, 0) < 0 || status.st_ino != sought->status.st_ino ||
	    status.st_dev != sought->status.st_dev)
		return false;
	if (fstatat(folder, name, &own, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(own.st_mode)) return false;
	CLEANUP_FREE char *real = mem_expect(realpath(path, NULL));
	return real && string_equal(real, sought->file);
}

static void add_of_folder(const struct sought *sought, const char *folder) {
	DIR *stream = mem_expect(opendir(folder));
	for (struct dirent *entry; stream && sought->links->count < PROGRAM_LINKS_MAX && (entry = readdir(stream));) {
		if (!may_be_link(entry)) continue;
		CLEANUP_FREE char *path = path_join(folder, entry->d_name);
		if (leads_there(sought, dirfd(stream), entry->d_name, path)) strings_add(sought->links, path);
	}
	if (stream) closedir(stream);
}

void program_links(const char *file, const char *search, struct strings *links) {
	CLEANUP_STRINGS struct strings all = {0};
	struct sought sought = {.file = file, .links = links};
	if (stat(file, &sought.status) < 0) return;
	programs_folders(search, &all);
	for (size_t i = 0; i < all.count; i++) add_of_folder(&sought, all.items[i]);
}
