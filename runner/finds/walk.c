#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "known.h"
#include "schema/limits.h"

struct walker {
	const struct walk *walk;
	struct strings *matches, *sockets;
	struct known *known;
	const char *tree;   /* that is walked; "" for the root */
	size_t named;       /* so long is its name in the path */
	struct string path; /* by which patterns know it */
	uint32_t above;     /* the number of the folder that the one that is walked lies in */
	size_t left;
	int64_t patience; /* CLOCK_MONOTONIC in milliseconds: until then nothing is said; 0: it was */
};

enum { WALK_PATIENCE_MS = 2000, WALK_LOOK = 16 * 1024 };

/* Of a pattern, what tells quickly that it doesn't match. */
struct walk_wanted {
	const struct pattern *pattern;
	const char *name; /* of what it matches; NULL: that has a wildcard, and ends in */
	const char *tail;
	char *above; /* the folder that all it matches lies in */
	bool deep;   /* anywhere below that */
};

static int compare_wanted(const void *a, const void *b) {
	const struct walk_wanted *one = a, *other = b;
	if (!one->name || !other->name) return (one->name == NULL) - (other->name == NULL);
	return strcmp(one->name, other->name);
}

/* What follows the last wildcard of the name; in a set (`[a-z]`) and behind a backslash it isn't that plain. */
static const char *tail_of(const char *name) {
	const char *tail = name;
	if (strpbrk(name, "[\\")) return "";
	for (const char *at; (at = strpbrk(tail, "*?"));) tail = at + 1;
	return tail;
}

static struct walk_wanted wanted_of(const struct pattern *pattern) {
	const char *text = pattern_text(pattern), *name = path_name(text), *end = text + strcspn(text, "*?[\\");
	while (end > text && end[-1] != '/') end--;
	const bool wild = strpbrk(name, "*?[\\") != NULL;
	return (struct walk_wanted){.pattern = pattern,
				    .name = wild ? NULL : name,
				    .tail = tail_of(name),
				    .above = end - text > 1 ? string_copy_bytes(text, (size_t)(end - text) - 1)
							    : string_copy("/"),
				    .deep = strncmp(end, "**/", 3) == 0};
}

void walk_prepare(struct walk *walk) {
	const size_t count = walk->patterns->count;
	walk->wanted = mem_array(struct walk_wanted, count + 1);
	for (size_t i = 0; i < count; i++) walk->wanted[i] = wanted_of(walk->patterns->items[i]);
	qsort(walk->wanted, count, sizeof *walk->wanted, compare_wanted);
	walk->named = 0;
	while (walk->named < count && walk->wanted[walk->named].name) walk->named++;
}

void walk_finish(struct walk *walk) {
	for (size_t i = 0; walk->wanted && i < walk->patterns->count; i++) free(walk->wanted[i].above);
	free(STEAL(walk->wanted));
}

static bool ends_at(const struct pattern *pattern, const char *path) {
	struct pattern_rank rank;
	return pattern_match(pattern, path, &rank) && rank.depth == path_depth(path);
}

/* The first that has the name, or one behind it. */
static size_t first_named(const struct walk *walk, const char *name) {
	size_t low = 0, high = walk->named;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (strcmp(walk->wanted[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool walk_finds(const struct walk *walk, const char *path) {
	const char *name = path_name(path);
	for (size_t i = first_named(walk, name); i < walk->named && string_equal(walk->wanted[i].name, name); i++)
		if (ends_at(walk->wanted[i].pattern, path)) return true;
	for (size_t i = walk->named; i < walk->patterns->count; i++)
		if (string_ends(name, walk->wanted[i].tail) && ends_at(walk->wanted[i].pattern, path)) return true;
	return false;
}

/* Packages bring what lies there: the same for everybody, and some hundred thousand names. */
static bool is_packaged(const char *path) {
	bool usr = path_is_below(path, "/usr") && strcmp(path, "/usr") != 0 && !path_is_below(path, "/usr/local");
	return usr || path_is_below(path, "/nix/store");
}

/* Does it name a place, as /usr/share/ + a wildcard does, and not any folder whatever? */
static bool is_placed(const struct pattern *pattern) {
	const char *text = pattern_text(pattern);
	return text[0] == '/' && !strchr("*?[", text[1]);
}

static bool reaches(const struct walk_wanted *wanted, const char *folder) {
	if (path_is_below(wanted->above, folder)) return true;
	return path_is_below(folder, wanted->above) &&
	       (wanted->deep || pattern_may_match_below(wanted->pattern, folder));
}

bool walk_reaches(const struct walk *walk, const char *folder) {
	const bool packaged = is_packaged(folder);
	for (size_t i = 0; i < walk->patterns->count; i++) {
		const struct walk_wanted *wanted = &walk->wanted[i];
		if ((!packaged || is_placed(wanted->pattern)) && reaches(wanted, folder)) return true;
	}
	return false;
}

bool walk_enters(const struct walk *walk, const char *folder) {
	static const char *const fresh[] = {"/proc", "/sys", "/dev", "/run", "/tmp"};
	for (size_t i = 0; i < ARRAY_LENGTH(fresh); i++)
		if (strcmp(folder, fresh[i]) == 0) return false;
	return walk_reaches(walk, folder);
}

static bool is_folder(int parent, const struct dirent *entry) {
	if (entry->d_type == DT_DIR) return true;
	if (entry->d_type != DT_UNKNOWN) return false;
	int fd = openat(parent, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd_close(fd);
	return fd >= 0;
}

/* Inside, a tool can give its user's own folder the rights that it lacks. */
static bool is_shut(const struct stat *status) {
	return status->st_uid == geteuid() && (status->st_mode & (S_IRUSR | S_IXUSR)) != (S_IRUSR | S_IXUSR);
}

static void say_if_long(struct walker *walker) {
	if (walker->left % WALK_LOOK != 0 || walker->patience == 0 || clock_ms(CLOCK_MONOTONIC) < walker->patience)
		return;
	CLEANUP_FREE char *shown = text_visible(walker->path.data);
	log_notice("looking through all files for those that rules hide or protect; %zu until now, in %s",
		   LIMIT_WALK - walker->left, shown);
	walker->patience = 0;
}

static int count_entries(struct walker *walker, size_t entries, struct error *error) {
	if (walker->left >= entries) {
		walker->left -= entries;
		say_if_long(walker);
		return 0;
	}
	CLEANUP_FREE char *shown = text_visible(walker->path.data);
	return error_set(error, E2BIG,
			 "more than %d files to look at for patterns such as **/.env, the last in %s: make a smaller "
			 "project, or rules without patterns",
			 LIMIT_WALK, shown);
}

/* The path is one name longer until `leave`. */
static size_t enter(struct walker *walker, const char *name) {
	const size_t size = walker->path.size;
	string_append(&walker->path, size == 1 ? "" : "/");
	string_append(&walker->path, name);
	return size;
}

static void leave(struct walker *walker, size_t size) {
	walker->path.size = size;
	walker->path.data[size] = '\0';
}

/* Where the folder is, whatever name patterns know it by. */
static char *place_of(const struct walker *walker) {
	const char *below = walker->path.data + walker->named;
	return walker->tree[0] || below[0] ? string_format("%s%s", walker->tree, below) : string_copy("/");
}

/* Reading a folder */

static void look_at(struct walker *walker, int fd, const struct dirent *entry, struct known_found *found,
		    struct strings *folders) {
	const size_t size = enter(walker, entry->d_name);
	if (walker->path.size < PATH_MAX) {
		if (walk_finds(walker->walk, walker->path.data)) strings_add(&found->matches, entry->d_name);
		if (entry->d_type == DT_SOCK) strings_add(&found->sockets, entry->d_name);
		if (is_folder(fd, entry) && walk_enters(walker->walk, walker->path.data))
			strings_add(folders, entry->d_name);
	}
	leave(walker, size);
}

static int read_names(struct walker *walker, DIR *stream, struct known_found *found, struct strings *folders,
		      struct error *error) {
	int r = 0;
	for (const struct dirent *entry; r == 0 && (entry = readdir(stream));) {
		if (path_is_dots(entry->d_name)) continue;
		found->entries++;
		r = count_entries(walker, 1, error);
		if (r == 0) look_at(walker, dirfd(stream), entry, found, folders);
	}
	return r;
}

static void take(struct walker *walker, const char *name, struct strings *paths) {
	strings_take(paths, path_join(walker->path.data, name));
}

static void take_found(struct walker *walker, const struct known_found *found) {
	for (size_t i = 0; i < found->matches.count; i++) take(walker, found->matches.items[i], walker->matches);
	for (size_t i = 0; i < found->sockets.count; i++) take(walker, found->sockets.items[i], walker->sockets);
}

static int walk_folder(struct walker *walker, const char *name, const struct known_folder *before, struct error *error);

static int walk_below(struct walker *walker, const struct strings *folders, const struct known_folder *before,
		      struct error *error) {
	const struct known_folder *hint = NULL;
	int r = 0;
	for (size_t i = 0; r == 0 && i < folders->count; i++) {
		const char *name = folders->items[i];
		const size_t size = enter(walker, name);
		r = walk_folder(walker, name, before ? known_child(before, name, &hint) : NULL, error);
		leave(walker, size);
	}
	return r;
}

static void found_finish(struct known_found *found) {
	strings_finish(&found->matches);
	strings_finish(&found->sockets);
}

static int read_folder(struct walker *walker, const char *name, DIR *stream, const struct known_seen *seen,
		       const struct known_folder *before, struct error *error) {
	__attribute__((cleanup(found_finish))) struct known_found found = {.entries = 0};
	CLEANUP_STRINGS struct strings folders = {0};
	int r = read_names(walker, stream, &found, &folders, error);
	const uint32_t above = walker->above;
	take_found(walker, &found);
	if (walker->known) walker->above = known_add(walker->known, above, name, dirfd(stream), seen, &found);
	closedir(stream); /* a walk goes deeper than descriptors would do */
	if (r == 0) r = walk_below(walker, &folders, before, error);
	walker->above = above;
	return r;
}

static void note_shut(const struct walker *walker, const char *name) {
	if (walker->walk->shut) strings_add(walker->walk->shut, walker->path.data);
	if (walker->known) known_add(walker->known, walker->above, name, -1, NULL, NULL);
}

/* One that can't be opened is looked at again the next time. */
static int open_folder(struct walker *walker, const char *name, const char *place, struct known_seen *seen) {
	const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	CLEANUP_FD int fd = (int)syscall(SYS_openat2, AT_FDCWD, place, &how, sizeof how);
	const bool there = fd >= 0 ? known_see(fd, seen) == 0 : lstat(place, &seen->status) == 0;
	if (there && S_ISDIR(seen->status.st_mode) && is_shut(&seen->status)) {
		note_shut(walker, name);
		return -1;
	}
	if (fd < 0 && walker->known) known_add(walker->known, walker->above, name, -1, NULL, NULL);
	return fd_steal(&fd);
}

/* What is known */

static int take_known(struct walker *walker, const char *name, const struct known_folder *folder, struct error *error) {
	const char *found = folder->matches;
	int r = count_entries(walker, folder->entries, error);
	for (uint32_t i = 0; i < folder->match_count; i++, found += strlen(found) + 1)
		take(walker, found, walker->matches);
	found = folder->sockets;
	for (uint32_t i = 0; i < folder->socket_count; i++, found += strlen(found) + 1)
		take(walker, found, walker->sockets);
	const uint32_t above = walker->above;
	walker->above = known_keep(walker->known, above, name, folder);
	for (const struct known_folder *at = folder->in; r == 0 && at; at = at->next) {
		const size_t size = enter(walker, at->name);
		r = walk_folder(walker, at->name, at, error);
		leave(walker, size);
	}
	walker->above = above;
	return r;
}

static bool is_known(const struct known_folder *folder, const char *place) {
	struct statx status;
	return folder &&
	       statx(AT_FDCWD, place, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO | STATX_CTIME, &status) == 0 &&
	       known_is_same(folder, &status);
}

static int walk_folder(struct walker *walker, const char *name, const struct known_folder *before,
		       struct error *error) {
	CLEANUP_FREE char *place = place_of(walker);
	struct known_seen seen = {0};
	if (is_known(before, place)) return take_known(walker, name, before, error);
	const int fd = open_folder(walker, name, place, &seen);
	DIR *stream = fd >= 0 ? mem_expect(fdopendir(fd)) : NULL;
	return stream ? read_folder(walker, name, stream, &seen, before, error) : 0;
}

/* Nothing of the tree would be known. */
static int check_root(const char *tree, struct error *error) {
	CLEANUP_FREE char *shown = text_visible(tree);
	struct stat status;
	if (lstat(tree, &status) < 0 || !S_ISDIR(status.st_mode) || !is_shut(&status)) return 0;
	return error_set(error, EACCES, "%s can't be read, so what rules hide in it isn't known: chmod u+rwx %s", shown,
			 shown);
}

static int walk_tree(struct walker *walker, const char *tree, const char *name, struct error *error) {
	const bool root = string_equal(tree, "/"), named_root = string_equal(name, "/");
	int r = check_root(tree, error);
	if (r < 0) return r;
	walker->tree = root ? "" : tree;
	walker->named = named_root ? 0 : strlen(name);
	walker->above = KNOWN_TREE;
	string_append(&walker->path, name);
	r = walk_folder(walker, name, walker->known ? known_tree(walker->known, name) : NULL, error);
	string_finish(&walker->path);
	return r;
}

static int walk_all(struct walker *walker, struct error *error) {
	const struct walk *walk = walker->walk;
	int r = 0;
	for (size_t i = 0; r == 0 && i < walk->trees->count; i++) {
		const char *tree = walk->trees->items[i];
		r = walk_tree(walker, tree, walk->names ? walk->names->items[i] : tree, error);
	}
	return r;
}

static struct known *load_known(const struct walk *walk) {
	CLEANUP_STRINGS struct strings texts = {0};
	for (size_t i = 0; i < walk->patterns->count; i++) strings_add(&texts, pattern_text(walk->patterns->items[i]));
	return walk->known && !walk->names ? known_load(walk->known, &texts) : NULL;
}

/* What can't be kept is looked through again the next time. */
static void save_known(const struct walk *walk, struct known *known) {
	struct error error = ERROR_NONE;
	if (known && known_save(known, walk->known, &error) < 0) log_debug("%s", error.message);
}

int walk_trees(const struct walk *walk, struct strings *matches, struct strings *sockets, struct error *error) {
	if (walk->patterns->count == 0) return 0;
	struct walk prepared = *walk;
	CLEANUP_KNOWN struct known *known = load_known(walk);
	struct walker walker = {.walk = &prepared,
				.matches = matches,
				.sockets = sockets,
				.known = known,
				.left = LIMIT_WALK,
				.patience = clock_ms(CLOCK_MONOTONIC) + WALK_PATIENCE_MS};
	walk_prepare(&prepared);
	int r = walk_all(&walker, error);
	walk_finish(&prepared);
	if (r == 0 && !walk->known_stays) save_known(walk, known);
	return r;
}
