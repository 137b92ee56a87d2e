#include "other_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"

enum {
	NAMES_FOLDERS_MAX = 2000,
	NAMES_ENTRIES_MAX = 50 * 1000,
};

struct shared_file {
	dev_t device;
	ino_t inode;
	bool hidden;
};

struct shared_files {
	struct shared_file *items;
	size_t count;
};

static void collect(const struct rules *rules, struct shared_files *files) {
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->items[i];
		bool hides = rule->origin == RULE_VIEW && !rule->cap && rule->show < SHOW_READ;
		struct stat status;
		if (!(hides || rule->cap) || stat(rule->path, &status) < 0) continue;
		if (!S_ISREG(status.st_mode) || status.st_nlink < 2) continue;
		files->items = array_grow(files->items, files->count, sizeof *files->items);
		files->items[files->count++] =
			(struct shared_file){.device = status.st_dev, .inode = status.st_ino, .hidden = hides};
	}
}

static void compare_entry(int parent, const struct dirent *entry, const char *path, const struct shared_files *files,
			  struct rules *rules) {
	for (size_t i = 0; i < files->count; i++) {
		struct stat status;
		if (files->items[i].inode != entry->d_ino ||
		    fstatat(parent, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    status.st_dev != files->items[i].device || status.st_ino != files->items[i].inode)
			continue;
		if (files->items[i].hidden)
			rules_add(rules, RULE_VIEW, SHOW_NOTHING, path);
		else
			rules_add_mask(rules, path);
	}
}

static void look_in(const char *folder, const struct shared_files *files, size_t *entries, struct strings *queue,
		    struct rules *rules) {
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd >= 0 ? mem_expect(fdopendir(fd)) : NULL;
	if (!stream) return;
	for (struct dirent *entry; *entries > 0 && (entry = readdir(stream)); --*entries) {
		if (string_equal(entry->d_name, ".") || string_equal(entry->d_name, "..")) continue;
		CLEANUP_FREE char *path = path_join(folder, entry->d_name);
		if (entry->d_type == DT_DIR && queue->count < NAMES_FOLDERS_MAX)
			strings_add(queue, path);
		else if (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN)
			compare_entry(dirfd(stream), entry, path, files, rules);
	}
	closedir(stream);
}

void other_names_find(const char *root, const struct rules *rules, struct rules *ret_rules) {
	struct shared_files files = {0};
	CLEANUP_STRINGS struct strings queue = {0};
	size_t entries = NAMES_ENTRIES_MAX;
	collect(rules, &files);
	if (files.count > 0) strings_add(&queue, root);
	for (size_t i = 0; i < queue.count; i++) look_in(queue.items[i], &files, &entries, &queue, ret_rules);
	free(files.items);
}
