/*
 * Theory of operation. A folder that is moved takes its links along. A relative one whose text leads up no further than
 * to that folder leads to the same name as before; an absolute one to the same place. The others are judged from their
 * new place. Into a git directory all links count, wherever they lead.
 *
 * A folder with more of them than are asked about for one call is refused as a whole (EXDEV), as a move between file
 * systems is: then mv(1) and its like copy it, and each link is asked about when it is made.
 */
#include "links.h"

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

#include "base/fd.h"
#include "base/path.h"
#include "base/string.h"
#include "plan/lead.h"

enum {
	LINKS_DEPTH = 64,          /* of folders that are looked through */
	LINKS_ENTRIES = 200 * 1000 /* some 0.2 s */
};

void links_free(struct links *links) {
	for (size_t i = 0; links && i < links->count; i++) symlink_finish(&links->items[i]);
	free(links);
}

/* Of one call. */
struct reading {
	pid_t thread;
	const struct call *call;
	dev_t curtain;
	bool brief;       /* places and texts alone: the host isn't looked at */
	const char *from; /* what is moved now; or NULL */
	struct links *links;
};

static void add(struct reading *reading, const char *place, const char *text) {
	if (!reading->links) reading->links = mem_new(struct links);
	struct links *links = reading->links;
	struct symlink *link = &links->items[links->count];
	if (links->count == LINKS_MAX) {
		links->many = true;
		return;
	}
	links->count++;
	if (reading->brief)
		*link = (struct symlink){.place = string_copy(place), .text = string_copy(text)};
	else
		symlink_read(place, text, link);
	link->from = string_copy_or_null(reading->from);
}

/* Looking through */

struct looking {
	struct reading *reading;
	size_t entries;
	bool all; /* also those that lead where they led */
};

/* How far up the text leads from its folder; SIZE_MAX: it can't be told. Names may follow, and no `..` behind them. */
static size_t height_of(const char *text) {
	size_t height = 0;
	bool named = false;
	for (const char *at = text; *at;) {
		const size_t size = strcspn(at, "/");
		const bool up = size == 2 && strncmp(at, "..", 2) == 0;
		if (up && named) return SIZE_MAX;
		height += up;
		named |= !up && size > 0 && !(size == 1 && *at == '.');
		at += size + (at[size] == '/');
	}
	return height;
}

static bool leads_elsewhere(const struct looking *looking, const char *text, size_t depth) {
	return looking->all || (*text != '/' && height_of(text) > depth);
}

static bool read_text(int folder, const char *name, char text[PATH_MAX]) {
	const ssize_t size = readlinkat(folder, name, text, PATH_MAX - 1);
	if (size < 0) return false;
	text[size] = '\0';
	return true;
}

static void look_at(const struct looking *looking, int folder, const char *name, const char *place, size_t depth) {
	char text[PATH_MAX];
	if (read_text(folder, name, text) && leads_elsewhere(looking, text, depth)) add(looking->reading, place, text);
}

/* No other mount: the curtain's nodes are some. */
static int open_folder(int parent, const char *name) {
	const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				     .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	return (int)syscall(SYS_openat2, parent, name, &how, sizeof how);
}

static bool is_of_type(int folder, const struct dirent *entry, unsigned char type, mode_t mode) {
	struct stat status;
	if (entry->d_type != DT_UNKNOWN) return entry->d_type == type;
	return fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && (status.st_mode & S_IFMT) == mode;
}

/* False: it can't be looked at to its end. */
static bool look_through(struct looking *looking, int parent, const char *name, const char *place, size_t depth) {
	CLEANUP_FD int fd = open_folder(parent, name);
	DIR *stream = fd >= 0 ? mem_expect(fdopendir(fd)) : NULL;
	if (!stream) return errno == ENOENT || errno == EXDEV; /* gone, or another mount, which isn't moved */
	fd_steal(&fd);
	bool whole = depth < LINKS_DEPTH;
	for (const struct dirent *entry; whole && (entry = readdir(stream));) {
		if (path_is_dots(entry->d_name)) continue;
		CLEANUP_FREE char *below = path_join(place, entry->d_name);
		whole = --looking->entries > 0;
		if (is_of_type(dirfd(stream), entry, DT_LNK, S_IFLNK))
			look_at(looking, dirfd(stream), entry->d_name, below, depth);
		else if (is_of_type(dirfd(stream), entry, DT_DIR, S_IFDIR))
			whole = whole && look_through(looking, dirfd(stream), entry->d_name, below, depth + 1);
	}
	closedir(stream);
	return whole;
}

/* Another name in the same folder leads nowhere else; but `.git` makes a git directory of it. */
static bool keeps_links(const char *from, const char *to) {
	CLEANUP_FREE char *one = from ? path_parent(from) : NULL, *other = path_parent(to);
	return string_equal(one, other) && !string_equal(path_name(to), ".git");
}

static void read_folder(struct reading *reading, int fd, const char *from, const char *to) {
	CLEANUP_FREE char *into = path_parent(to);
	struct looking looking = {.reading = reading, .entries = LINKS_ENTRIES};
	looking.all = string_equal(path_name(to), ".git") || symlink_folder_is_git(into);
	if (keeps_links(from, to)) return;
	const bool whole = look_through(&looking, fd, ".", to, 0);
	if (!whole && !reading->links) reading->links = mem_new(struct links);
	if (!reading->links) return;
	reading->links->many |= !whole;
}

/* Reading */

/* What lies at one of the call's paths comes to where the other is. What can't be opened the call fails with, or it is
 * behind the curtain, where nothing is the tool's. */
static void read_moved(struct reading *reading, size_t which) {
	const struct call *call = reading->call;
	const struct lead lead = {.thread = reading->thread,
				  .folder = call->folders[which],
				  .curtain = reading->curtain,
				  .last = call->follows};
	const char *way = call->ways[which], *to = call->paths[1 - which];
	CLEANUP_FREE char *from = NULL;
	CLEANUP_FD int fd = -1;
	struct stat status;
	char text[PATH_MAX];
	if (!way || !to || lead_open(&lead, way, &fd, &from) < 0) return;
	if ((reading->curtain != 0 && lead_device(fd) == reading->curtain) || fstat(fd, &status) < 0) return;
	reading->from = from;
	if (S_ISDIR(status.st_mode))
		read_folder(reading, fd, from, to);
	else if (S_ISLNK(status.st_mode) && read_text(fd, "", text))
		add(reading, to, text);
	reading->from = NULL;
}

static void read_all_moved(struct reading *reading) {
	const struct call *call = reading->call;
	if (call->makes[1]) read_moved(reading, 0);
	if (call->makes[1] && call->makes[0]) read_moved(reading, 1);
}

struct links *links_read(pid_t thread, const struct call *call, dev_t curtain) {
	struct reading reading = {.thread = thread, .call = call, .curtain = curtain};
	if (call->class != CALL_NAMES) return NULL;
	if (!call->text) {
		read_all_moved(&reading);
		return reading.links;
	}
	if (call->paths[0]) add(&reading, call->paths[0], call->text);
	if (!reading.links) reading.links = mem_new(struct links);
	reading.links->made = true;
	return reading.links;
}

static bool are_equal(const struct links *one, const struct links *other) {
	if (!one || !other) return one == other;
	bool equal = one->count == other->count && one->many == other->many;
	for (size_t i = 0; equal && i < one->count; i++)
		equal = string_equal(one->items[i].place, other->items[i].place) &&
			string_equal(one->items[i].text, other->items[i].text);
	return equal;
}

bool links_are_as_read(const struct links *links, pid_t thread, const struct call *call, dev_t curtain) {
	struct reading reading = {.thread = thread, .call = call, .curtain = curtain, .brief = true};
	if (call->class != CALL_NAMES || call->text) return true;
	read_all_moved(&reading);
	const bool equal = are_equal(links, reading.links);
	links_free(reading.links);
	return equal;
}

/* Judging */

int links_judge(const struct links *links, struct sight (*sight)(void *context, const char *path), void *context,
		struct call_needs *ret_needs) {
	struct stat status;
	*ret_needs = (struct call_needs){.count = 0};
	if (links->many) return EXDEV;
	for (size_t i = 0; i < links->count; i++) {
		const struct symlink *link = &links->items[i];
		const char *target = symlink_asks(link, sight, context);
		if (!target) continue;
		if (ret_needs->count == NEEDS_MAX) return EXDEV;
		if (links->made && lstat(link->place, &status) == 0) return EEXIST;
		ret_needs->items[ret_needs->count++] =
			(struct need){.permission = PERMISSION_FS_LINK, .path = target, .name = link->place};
	}
	return 0;
}

char *links_key(const char *place, const char *text) {
	return string_format("%zu %s%s", strlen(place), place, text);
}

void links_note(const struct links *links, struct sight (*sight)(void *context, const char *path), void *context,
		struct strings *keys) {
	for (size_t i = 0; links && i < links->count; i++) {
		const struct symlink *link = &links->items[i];
		CLEANUP_FREE char *key = links_key(link->place, link->text);
		if (symlink_asks(link, sight, context) && !strings_contain(keys, key)) strings_take(keys, STEAL(key));
	}
}

/* Making */

/* Behind a node of the curtain, which we serve, the way of the thread can't be walked: what is shown there lies on the
 * host by the same name. */
static int open_on_host(const struct links *links, const struct links_view *view, int *ret_fd) {
	const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	if (links->count == 0) return ENOENT;
	CLEANUP_FREE char *folder = path_parent(links->items[0].place);
	const struct sight sight = view->sight(view->context, folder);
	if (!sight.hosts || sight.mode != VIEW_WRITE) return ENOENT;
	const int fd = (int)syscall(SYS_openat2, AT_FDCWD, folder, &how, sizeof how);
	if (fd < 0) return errno == ELOOP ? EACCES : errno;
	*ret_fd = fd;
	return 0;
}

int links_open(const struct links *links, pid_t thread, const struct call *call, const struct links_view *view,
	       int *ret_fd) {
	const dev_t curtain = view->curtain;
	const struct lead lead = {.thread = thread, .folder = call->folders[0], .curtain = curtain, .last = true};
	size_t size = 0;
	const char *way = call->ways[0] ? call->ways[0] : "", *last = path_last(way, &size);
	CLEANUP_FREE char *place = NULL, *above = string_copy_bytes(way, (size_t)(last - way));
	CLEANUP_FREE char *name = string_copy_bytes(last, size);
	CLEANUP_FD int fd = -1;
	if (!*way) return ENOENT;
	int r = lead_open(&lead, *above ? above : ".", &fd, &place);
	if (r == -ESTALE) return open_on_host(links, view, ret_fd);
	if (r < 0) return r == -EXDEV ? EACCES : -r;
	if (size == 0 || path_is_dots(name)) return EEXIST;
	if (!place || links->count == 0) return ENOENT; /* removed, or deeper than a name can say */
	if (curtain != 0 && lead_device(fd) == curtain) return EACCES;
	CLEANUP_FREE char *there = path_join(place, name);
	if (!string_equal(there, links->items[0].place)) return EACCES;
	*ret_fd = fd_steal(&fd);
	return 0;
}

/* A slash behind the name is as wrong as the kernel finds it. */
int links_make(const struct links *links, const struct call *call, int fd) {
	size_t size;
	return symlinkat(links->items[0].text, fd, path_last(call->ways[0], &size)) < 0 ? errno : 0;
}
