#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

struct walker {
	const struct walk *walk;
	struct strings *matches, *sockets;
	struct string path;
	size_t left;
};

static bool has_wildcard(const char *name) {
	return strpbrk(name, "*?[\\") != NULL;
}

/* NULL for one with a wildcard. */
void walk_prepare(struct walk *walk) {
	walk->last_names = mem_array(const char *, walk->patterns->count + 1);
	for (size_t i = 0; i < walk->patterns->count; i++) {
		const char *name = path_name(pattern_text(walk->patterns->items[i]));
		walk->last_names[i] = has_wildcard(name) ? NULL : name;
	}
}

void walk_finish(struct walk *walk) {
	free(STEAL(walk->last_names));
}

/* Comparing the last name first spares nearly every full match. */
bool walk_finds(const struct walk *walk, const char *path) {
	const char *name = path_name(path);
	for (size_t i = 0; i < walk->patterns->count; i++) {
		if (walk->last_names[i] && strcmp(walk->last_names[i], name) != 0) continue;
		struct pattern_rank rank;
		if (pattern_match(walk->patterns->items[i], path, &rank) && rank.depth == path_depth(path)) return true;
	}
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

bool walk_reaches(const struct walk *walk, const char *folder) {
	const bool packaged = is_packaged(folder);
	for (size_t i = 0; i < walk->patterns->count; i++) {
		const struct pattern *pattern = walk->patterns->items[i];
		if ((!packaged || is_placed(pattern)) && pattern_may_match_below(pattern, folder)) return true;
	}
	return false;
}

bool walk_enters(const struct walk *walk, const char *folder) {
	static const char *const fresh[] = {"/proc", "/sys", "/dev", "/run", "/tmp"};
	for (size_t i = 0; i < ARRAY_LENGTH(fresh); i++)
		if (strcmp(folder, fresh[i]) == 0) return false;
	return walk_reaches(walk, folder);
}

static void truncate_path(struct walker *walker, size_t size) {
	walker->path.size = size;
	walker->path.data[size] = '\0';
}

static bool is_folder(int parent, const struct dirent *entry) {
	if (entry->d_type == DT_DIR) return true;
	if (entry->d_type != DT_UNKNOWN) return false;
	int fd = openat(parent, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd_close(fd);
	return fd >= 0;
}

/* Inside, a tool can give its user's own folder the rights that it lacks. */
static bool is_shut(int fd) {
	struct stat status;
	return fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
	       (status.st_mode & (S_IRUSR | S_IXUSR)) != (S_IRUSR | S_IXUSR);
}

static void note_shut(const struct walker *walker) {
	if (walker->walk->shut) strings_add(walker->walk->shut, walker->path.data);
}

/* One that couldn't be opened. */
static void look_if_shut(const struct walker *walker, int parent, const char *name) {
	CLEANUP_FD int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && is_shut(fd)) note_shut(walker);
}

/* `fd` is taken over. */
static int walk_folder(struct walker *walker, int fd, struct error *error) {
	DIR *stream = mem_expect(fdopendir(fd));
	if (!stream) {
		fd_close(fd);
		return 0;
	}
	int r = 0;
	size_t size = walker->path.size;
	const bool shut = is_shut(dirfd(stream));
	if (shut) note_shut(walker);
	for (struct dirent *entry; r == 0 && !shut && (entry = readdir(stream));) {
		const char *name = entry->d_name;
		if (path_is_dots(name)) continue;
		if (walker->left-- == 0) {
			CLEANUP_FREE char *shown = text_visible(walker->path.data);
			r = error_set(error, E2BIG,
				      "more than %d files to look at for patterns such as **/.env, the last in %s: "
				      "make a smaller project, or rules without patterns",
				      LIMIT_WALK, shown);
			break;
		}
		string_append(&walker->path, size == 1 ? "" : "/");
		string_append(&walker->path, name);
		if (walker->path.size < PATH_MAX) {
			if (walk_finds(walker->walk, walker->path.data))
				strings_add(walker->matches, walker->path.data);
			if (entry->d_type == DT_SOCK) strings_add(walker->sockets, walker->path.data);
			if (is_folder(dirfd(stream), entry) && walk_enters(walker->walk, walker->path.data)) {
				int below =
					openat(dirfd(stream), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
				if (below >= 0)
					r = walk_folder(walker, below, error);
				else
					look_if_shut(walker, dirfd(stream), name);
			}
		}
		truncate_path(walker, size);
	}
	closedir(stream);
	return r;
}

/* Nothing of the tree would be known. */
static int check_root(const char *tree, struct error *error) {
	CLEANUP_FD int fd = open(tree, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_FREE char *shown = text_visible(tree);
	if (fd < 0 || !is_shut(fd)) return 0;
	return error_set(error, EACCES, "%s can't be read, so what rules hide in it isn't known: chmod u+rwx %s", shown,
			 shown);
}

int walk_trees(const struct walk *walk, struct strings *matches, struct strings *sockets, struct error *error) {
	if (walk->patterns->count == 0) return 0;
	struct walk prepared = *walk;
	walk_prepare(&prepared);
	struct walker walker = {.walk = &prepared, .matches = matches, .sockets = sockets, .left = LIMIT_WALK};
	int r = 0;
	for (size_t i = 0; r == 0 && i < walk->trees->count; i++) {
		const char *tree = walk->trees->items[i];
		if ((r = check_root(tree, error)) < 0) break;
		int fd = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0) continue;
		string_append(&walker.path, walk->names ? walk->names->items[i] : tree);
		r = walk_folder(&walker, fd, error);
		string_finish(&walker.path);
	}
	walk_finish(&prepared);
	return r;
}
