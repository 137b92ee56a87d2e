#include "facts.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"

enum { FACT_LINKS_MAX = 40 }; /* path_resolution(7) */

struct fact_entry {
	char *path;
	struct fact fact;
};

void fact_add_link(struct fact *fact, const char *path, const char *text) {
	fact->links = array_grow(fact->links, fact->link_count, sizeof *fact->links);
	fact->links[fact->link_count++] = (struct fact_link){.path = string_copy(path), .text = string_copy(text)};
}

enum fact_type fact_type_of(mode_t mode) {
	if (S_ISDIR(mode)) return FACT_FOLDER;
	if (S_ISREG(mode)) return FACT_FILE;
	return S_ISSOCK(mode) ? FACT_SOCKET : S_ISLNK(mode) ? FACT_LINK : FACT_SPECIAL;
}

/* Put the link's text and what was still to walk in place of `rest`. */
static void follow_link(struct fact *fact, struct string *at, size_t parent_size, char **rest) {
	char text[PATH_MAX];
	ssize_t size = readlink(at->data, text, sizeof text - 1);
	text[size < 0 ? 0 : size] = '\0';
	fact_add_link(fact, at->data, text);
	char *longer = string_format("%s/%s", text, *rest);
	free(*rest);
	*rest = longer;
	at->size = text[0] == '/' ? 0 : parent_size;
	at->data[at->size] = '\0';
}

/* Folders that were walked for the rule before: most rules lie side by side. */
struct walked {
	struct string folder; /* without links; empty at first */
	size_t looks;
};

/* Put what is known to be a plain folder into `at`; returns what is left of the path. */
static const char *start_of(const struct walked *walked, const char *path, struct string *at) {
	string_append(at, "");
	const char *known = walked->folder.size > 0 ? walked->folder.data : "";
	size_t common = 0; /* whole names */
	for (size_t i = 0;; i++) {
		if ((known[i] == '\0' || known[i] == '/') && (path[i] == '\0' || path[i] == '/')) common = i;
		if (known[i] == '\0' || known[i] != path[i]) break;
	}
	string_append_bytes(at, known, common);
	return path + common;
}

/* `status` NULL: nothing is there. */
static void fact_describe(struct fact *fact, const struct stat *status) {
	fact->type = status ? fact_type_of(status->st_mode) : FACT_MISSING;
	fact->device = status ? status->st_dev : 0;
	fact->inode = status ? status->st_ino : 0;
	fact->names = fact->type == FACT_FILE ? status->st_nlink : 0;
}

/* Walk `path` name by name, as the kernel does. */
static void fact_collect(const char *path, struct walked *walked, struct fact *fact) {
	CLEANUP_STRING struct string at = {0};
	CLEANUP_FREE char *rest = string_copy(start_of(walked, path, &at));
	struct stat status = {.st_mode = S_IFDIR};
	size_t folder_size = at.size;         /* of the part of `at` that is folders */
	bool missing = false, looked = false; /* `status` is that of `at` */
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
			if (folder_size > at.size) folder_size = at.size;
			looked = false;
			continue;
		}
		string_appendf(&at, "/%s", name);
		walked->looks += !missing;
		looked = true;
		if (missing || lstat(at.data, &status) < 0) {
			missing = true;
		} else if (S_ISLNK(status.st_mode)) {
			looked = false;
			if (fact->link_count >= FACT_LINKS_MAX)
				missing = true;
			else
				follow_link(fact, &at, parent_size, &rest);
			if (folder_size > at.size) folder_size = at.size;
		} else if (S_ISDIR(status.st_mode)) {
			folder_size = at.size;
		}
	}
	if (at.size == 0) string_append(&at, "/");
	walked->looks += !missing && !looked;
	missing = missing || (!looked && lstat(at.data, &status) < 0);
	fact_describe(fact, missing ? NULL : &status);
	fact->there = folder_size;
	if (fact->link_count == 0) {
		string_finish(&walked->folder);
		string_append_bytes(&walked->folder, at.data, folder_size);
	}
	fact->real = string_steal(&at);
}

void fact_finish(struct fact *fact) {
	for (size_t i = 0; i < fact->link_count; i++) {
		free(fact->links[i].path);
		free(fact->links[i].text);
	}
	free(fact->links);
	free(fact->real);
	*fact = (struct fact){0};
}

static int compare_entry(const void *path, const void *entry) {
	return strcmp(path, ((const struct fact_entry *)entry)->path);
}

static int compare_entries(const void *a, const void *b) {
	return compare_entry(((const struct fact_entry *)a)->path, b);
}

/* Among the first of them, which are sorted. */
static const struct fact_entry *find_entry(const struct fact_book *book, size_t sorted, const char *path) {
	return sorted > 0 ? bsearch(path, book->entries, sorted, sizeof *book->entries, compare_entry) : NULL;
}

static const struct fact *learn(struct fact_book *book, const char *path, struct walked *walked) {
	book->entries = array_grow(book->entries, book->count, sizeof *book->entries);
	struct fact_entry *entry = &book->entries[book->count++];
	*entry = (struct fact_entry){.path = string_copy(path)};
	fact_collect(path, walked, &entry->fact);
	return &entry->fact;
}

/* In the rules' order: then most of a path that the book doesn't have was walked for the one before. */
void facts_collect(const struct rules *rules, struct fact_book *book, struct facts *facts) {
	struct walked walked = {0};
	const size_t known = book->count;
	for (size_t i = facts->count; i < rules->count; i++) {
		const char *path = rules->items[i].path;
		const struct fact_entry *entry = find_entry(book, known, path);
		facts_add(facts, entry ? &entry->fact : learn(book, path, &walked));
	}
	book->looks += walked.looks;
	string_finish(&walked.folder);
	if (book->count > known) qsort(book->entries, book->count, sizeof *book->entries, compare_entries);
}

bool rule_is_led(const struct rule *rule, const struct fact *fact) {
	return rule->origin == RULE_VIEW && rule_gives(rule) && (rule->led || !string_equal(rule->path, fact->real));
}

void facts_add(struct facts *facts, const struct fact *fact) {
	facts->items = array_grow(facts->items, facts->count, sizeof *facts->items);
	facts->items[facts->count++] = *fact;
}

void facts_finish(struct facts *facts) {
	free(facts->items);
	*facts = (struct facts){0};
}

void fact_book_finish(struct fact_book *book) {
	for (size_t i = 0; i < book->count; i++) {
		free(book->entries[i].path);
		fact_finish(&book->entries[i].fact);
	}
	free(book->entries);
	*book = (struct fact_book){0};
}
