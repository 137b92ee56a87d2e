#include "runner/program_links.h"

#include <dirent.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/path.h"
#include "programs.h"

static void add_of_folder(const char *folder, const char *file, struct strings *links) {
	DIR *stream = mem_expect(opendir(folder));
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		if (entry->d_type != DT_LNK || links->count == PROGRAM_LINKS_MAX) continue;
		CLEANUP_FREE char *path = path_join(folder, entry->d_name), *real = mem_expect(realpath(path, NULL));
		if (real && string_equal(real, file)) strings_add(links, path);
	}
	if (stream) closedir(stream);
}

void program_links(const char *file, const char *search, struct strings *links) {
	CLEANUP_STRINGS struct strings all = {0};
	programs_folders(search, &all);
	for (size_t i = 0; i < all.count; i++) add_of_folder(all.items[i], file, links);
}
