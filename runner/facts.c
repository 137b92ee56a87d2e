#include "facts.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"

enum { FACT_LINKS_MAX = 40 }; /* path_resolution(7) */

void facts_add_link(struct fact *fact, const char *path, const char *text) {
	fact->links = array_grow(fact->links, fact->link_count, sizeof *fact->links);
	fact->links[fact->link_count++] = (struct fact_link){.path = string_copy(path), .text = string_copy(text)};
}

static enum fact_type type_of(mode_t mode) {
	if (S_ISDIR(mode)) return FACT_FOLDER;
	return S_ISSOCK(mode) ? FACT_SOCKET : FACT_FILE;
}

/* Put the link's text and what was still to walk in place of `rest`. */
static void follow_link(struct fact *fact, struct string *at, size_t parent_size, char **rest) {
	char text[PATH_MAX];
	ssize_t size = readlink(at->data, text, sizeof text - 1);
	text[size < 0 ? 0 : size] = '\0';
	facts_add_link(fact, at->data, text);
	char *longer = string_format("%s/%s", text, *rest);
	free(*rest);
	*rest = longer;
	at->size = text[0] == '/' ? 0 : parent_size;
	at->data[at->size] = '\0';
}

/* Folders that were walked for the rule before: most rules lie side by side. */
struct walked {
	struct string folder; /* without links; empty at first */
};

/* Put what is known to be a plain folder into `at`; returns what is left of the path. */
static const char *start_of(const struct walked *walked, const char *path, struct string *at) {
	string_append(at, "");
	if (walked->folder.size == 0 || !path_is_below(path, walked->folder.data)) return path;
	string_append(at, walked->folder.data);
	return path + walked->folder.size;
}

/* Walk `path` name by name, as the kernel does. */
static void fact_collect(const char *path, struct walked *walked, struct fact *fact) {
	CLEANUP_STRING struct string at = {0};
	CLEANUP_FREE char *rest = string_copy(start_of(walked, path, &at));
	struct stat status = {.st_mode = S_IFDIR};
	size_t folder_size = at.size; /* of the part of `at` that is folders */
	bool missing = false;
	while (rest[0] != '\0') {
		size_t skip = strspn(rest, "/"), size = strcspn(rest + skip, "/");
		CLEANUP_FREE char *name = string_copy_bytes(rest + skip, size);
		char *tail = string_copy(rest + skip + size);
		free(rest);
		rest = tail;
		if (size == 0 || string_equal(name, ".")) continue;
		size_t parent_size = at.size;
		if (string_equal(name, "..")) {
			char *slash = strrchr(at.data, '/');
			at.size = slash ? (size_t)(slash - at.data) : 0;
			at.data[at.size] = '\0';
			continue;
		}
		string_appendf(&at, "/%s", name);
		if (missing || lstat(at.data, &status) < 0) {
			missing = true;
		} else if (S_ISLNK(status.st_mode)) {
			if (fact->link_count >= FACT_LINKS_MAX)
				missing = true;
			else
				follow_link(fact, &at, parent_size, &rest);
		} else if (S_ISDIR(status.st_mode)) {
			folder_size = at.size;
		}
	}
	if (at.size == 0) string_append(&at, "/");
	missing = missing || lstat(at.data, &status) < 0;
	fact->type = missing ? FACT_MISSING : type_of(status.st_mode);
	fact->device = missing ? 0 : status.st_dev;
	fact->inode = missing ? 0 : status.st_ino;
	fact->names = fact->type == FACT_FILE ? status.st_nlink : 0;
	if (fact->link_count == 0) {
		string_finish(&walked->folder);
		string_append_bytes(&walked->folder, at.data, folder_size);
	}
	fact->real = string_steal(&at);
}

void facts_collect(const struct rules *rules, struct facts *ret_facts) {
	struct walked walked = {0};
	*ret_facts = (struct facts){.items = mem_array(struct fact, rules->count + 1), .count = rules->count};
	for (size_t i = 0; i < rules->count; i++) fact_collect(rules->items[i].path, &walked, &ret_facts->items[i]);
	string_finish(&walked.folder);
}

void facts_finish(struct facts *facts) {
	for (size_t i = 0; i < facts->count; i++) {
		for (size_t k = 0; k < facts->items[i].link_count; k++) {
			free(facts->items[i].links[k].path);
			free(facts->items[i].links[k].text);
		}
		free(facts->items[i].links);
		free(facts->items[i].real);
	}
	free(facts->items);
	*facts = (struct facts){0};
}
