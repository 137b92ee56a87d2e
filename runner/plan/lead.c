/*
 * Theory of operation. Mostly there is no link on the way: then one openat2(2), which gives up at a link and at
 * whatever isn't in the kernel's cache, opens the folder that the last name is in. Otherwise the path is walked name by
 * name. Where it has come to, the kernel says (/proc/self/fd), whatever the tool called it. Below a node of the curtain
 * nothing is looked up: the answer would have to come from ourselves. The tool can move a node to where none should be,
 * so that is seen by the device of what was opened, asked without a request to its file system (AT_STATX_DONT_SYNC).
 *
 * In the sandbox's /proc, "self" is whoever walks; for us that is nobody. So it is read as the thread would read it.
 * Its other links (cwd, fd/5) lead to what they stand for, which is opened: their texts name it only while it is where
 * it was made, and in fewer than PATH_MAX bytes.
 */
#include "lead.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "calls/process.h"

enum {
	LEAD_LINKS = 40,   /* as the kernel's MAXSYMLINKS (path_resolution(7)) */
	LEAD_STEPS = 1024, /* some 2 ms: links can make the way of one call 80,000 names long */
};

#ifndef RESOLVE_CACHED /* Linux 5.12 */
#define RESOLVE_CACHED 0x20
#endif

#define LEAD_REMOVED " (deleted)" /* the kernel's mark on the name of what was removed, d_path() */

struct walk {
	const struct lead *lead;
	int root, at; /* may be one */
	char *rest;   /* what is still to be walked */
	int links, steps;
	bool jumped; /* `at` was not come to by a name: the sandbox may have none for it */
	bool ended;  /* `at` is what the path names */
	int missing; /* why not */
};

static int open_of(pid_t thread, const char *which) {
	char name[64];
	snprintf(name, sizeof name, "/proc/%d/%s", thread, which);
	int fd = open(name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_folder(const struct lead *lead) {
	char name[32] = "cwd";
	if (lead->folder != AT_FDCWD) snprintf(name, sizeof name, "fd/%d", lead->folder);
	int fd = open_of(lead->thread, name);
	return fd == -ENOENT ? -EBADF : fd;
}

/* Asked of nobody. */
static int look(int fd, struct statx *ret_status) {
	const unsigned mask = STATX_TYPE | STATX_INO | STATX_MNT_ID;
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, ret_status) < 0 ? -errno : 0;
}

static dev_t device_of(const struct statx *status) {
	return makedev(status->stx_dev_major, status->stx_dev_minor);
}

static bool is_same(int a, int b, bool mount) {
	struct statx one, other;
	return look(a, &one) == 0 && look(b, &other) == 0 && one.stx_ino == other.stx_ino &&
	       device_of(&one) == device_of(&other) && (!mount || one.stx_mnt_id == other.stx_mnt_id);
}

dev_t lead_device(int fd) {
	struct statx status;
	return look(fd, &status) < 0 ? 0 : device_of(&status);
}

static int is_curtain(const struct walk *walk) {
	struct statx status;
	if (walk->lead->curtain == 0) return 0;
	int r = look(walk->at, &status);
	return r < 0 ? r : device_of(&status) == walk->lead->curtain;
}

static bool is_proc(int fd) {
	struct statfs status;
	return fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

static int read_link(int fd, const char *name, char text[PATH_MAX]) {
	ssize_t size = readlinkat(fd, name, text, PATH_MAX - 1);
	if (size < 0) return -errno;
	if (size == PATH_MAX - 1) return -ENAMETOOLONG; /* that of a descriptor is up to a page's, whatever that is */
	text[size] = '\0';
	return 0;
}

/* Has the sandbox `fd` by that name? */
static bool is_there(const struct lead *lead, int fd, const char *path) {
	const struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
						(lead->curtain ? RESOLVE_CACHED : 0)};
	CLEANUP_FD int root = open_of(lead->thread, "root");
	if (root < 0) return false;
	CLEANUP_FD int named = (int)syscall(SYS_openat2, root, path[1] ? path + 1 : ".", &how, sizeof how);
	return named >= 0 && is_same(fd, named, false);
}

/* What the sandbox calls it, and `name` in it. -ENOENT: it was removed, or never had a name. */
static int place_of(const struct walk *walk, const char *name, char **ret_path) {
	char link[32], text[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", walk->at);
	int r = read_link(AT_FDCWD, link, text);
	if (r < 0) return r;
	if (text[0] != '/') return -ENOENT;
	if (string_ends(text, LEAD_REMOVED) && !is_there(walk->lead, walk->at, text)) return -ENOENT;
	return path_normalise(text, name, ret_path, NULL);
}

/* 1: the walk is at its end, and *ret_path is where. What is too deep for a name is no place that a rule could name. */
static int end_at_name(const struct walk *walk, const char *name, char **ret_path) {
	int r = place_of(walk, name, ret_path);
	return r < 0 && r != -ENAMETOOLONG ? r : 1;
}

static int end_here(struct walk *walk, char **ret_path) {
	CLEANUP_FREE char *path = NULL;
	int r = place_of(walk, ".", &path);
	if (r < 0 && r != -ENOENT && r != -ENAMETOOLONG) return r;
	if (path && (!walk->jumped || walk->lead->covered || is_there(walk->lead, walk->at, path)))
		*ret_path = STEAL(path);
	walk->ended = true;
	return 1;
}

static void step_to(struct walk *walk, int fd, bool jumped) {
	if (walk->at != walk->root) fd_close(walk->at);
	walk->at = fd;
	walk->jumped = jumped;
}

/* The folder that the last name of a path is in, without the slashes before it; *ret_name is the rest. */
static char *folder_of(const char *path, const char **ret_name) {
	size_t size;
	const char *start = path + strspn(path, "/"), *name = path_last(start, &size);
	*ret_name = name;
	return string_copy_bytes(start, (size_t)(name - start));
}

/* Where no link is on the way and the kernel has all of it at hand. */
static int open_straight(int at, const char *path, uint64_t flags) {
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags,
				     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED};
	int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof how);
	return fd < 0 ? -errno : fd;
}

static void go_straight(struct walk *walk) {
	const char *name;
	CLEANUP_FREE char *folder = folder_of(walk->rest, &name);
	if (!folder[0] || path_has_up(folder)) return;
	int fd = open_straight(walk->at, folder, O_DIRECTORY);
	if (fd < 0) return;
	memmove(walk->rest, name, strlen(name) + 1);
	step_to(walk, fd, false);
}

static int open_next(const struct walk *walk, const char *name) {
	const bool stays = string_equal(name, "..") && is_same(walk->at, walk->root, true);
	int fd = openat(walk->at, stays ? "." : name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* By its name, as all that lies in the curtain: its parent isn't looked up. */
static int leave_curtain(struct walk *walk, const char *start, char **ret_path) {
	CLEANUP_FREE char *parent = NULL;
	walk->missing = -ESTALE;
	if (!path_has_up(start)) return end_at_name(walk, start, ret_path);
	if (strncmp(start, "..", 2) != 0 || (start[2] && start[2] != '/')) return -EXDEV;
	int r = place_of(walk, "..", &parent);
	if (r < 0) return r;
	char *rest = string_format("%s/%s", parent, start + 2);
	free(walk->rest);
	walk->rest = rest;
	step_to(walk, walk->root, false);
	return 0;
}

/* Another /proc than ours is that of the namespace in which the thread lives. */
static int read_own_link(const struct walk *walk, const char *name, char text[PATH_MAX]) {
	pid_t process, task;
	struct stat ours, theirs;
	if (stat("/proc", &ours) < 0 || fstat(walk->at, &theirs) < 0) return -errno;
	const bool inside = ours.st_dev != theirs.st_dev;
	if (!process_numbers(walk->lead->thread, inside, &process, &task)) return -ENOENT;
	if (string_equal(name, "self"))
		snprintf(text, PATH_MAX, "%d", process);
	else
		snprintf(text, PATH_MAX, "%d/task/%d", process, task);
	return 0;
}

static bool is_own_link(const char *name) {
	return string_equal(name, "self") || string_equal(name, "thread-self");
}

/* The link `name` of /proc. 1: it leads to what it stands for ("/home", "pipe:[5]"), else *text says where. */
static int read_proc_link(const struct walk *walk, const char *name, char text[PATH_MAX]) {
	if (is_own_link(name)) return read_own_link(walk, name, text);
	int r = read_link(walk->at, name, text);
	if (r == -ENAMETOOLONG) return 1;
	return r < 0 ? r : text[0] == '/' || strchr(text, ':');
}

static int jump(struct walk *walk, const char *name) {
	int fd = openat(walk->at, name, O_PATH | O_CLOEXEC);
	if (fd < 0) return -errno;
	step_to(walk, fd, true);
	return 0;
}

static int follow(struct walk *walk, const char *name) {
	char text[PATH_MAX];
	if (++walk->links > LEAD_LINKS) return -ELOOP;
	int r = is_proc(walk->at) ? read_proc_link(walk, name, text) : read_link(walk->at, name, text);
	if (r != 0) return r < 0 ? r : jump(walk, name);
	if (text[0] == '/') step_to(walk, walk->root, false);
	char *rest = string_format("%s/%s", text, walk->rest);
	free(walk->rest);
	walk->rest = rest;
	return 0;
}

/* Of a folder that is there: whoever may not enter it may not learn that either. In /proc others than the thread are
 * told otherwise than it is. */
static bool is_nowhere(const struct walk *walk, int code) {
	return (code == -ENOENT || code == -EACCES) && !is_proc(walk->at);
}

/* One name further. 1: the walk is at its end, and *ret_path is where. */
static int step(struct walk *walk, char **ret_path) {
	const struct lead *lead = walk->lead;
	struct statx status;
	const char *start = walk->rest + strspn(walk->rest, "/");
	if (++walk->steps > LEAD_STEPS) return -EXDEV;
	if (!*start) return end_here(walk, ret_path);
	int r = is_curtain(walk);
	if (r != 0) return r < 0 ? r : leave_curtain(walk, start, ret_path);
	CLEANUP_FREE char *name = string_copy_bytes(start, strcspn(start, "/"));
	CLEANUP_FD int next = open_next(walk, name);
	if (is_nowhere(walk, next)) {
		walk->missing = next;
		return end_at_name(walk, start, ret_path);
	}
	if (next < 0) return next;
	if ((r = look(next, &status)) < 0) return r;
	const char *after = start + strlen(name);
	const bool last = after[strspn(after, "/")] == '\0';
	memmove(walk->rest, after, strlen(after) + 1);
	const bool link = S_ISLNK(status.stx_mode) && device_of(&status) != lead->curtain;
	/* "/dev/stdout" makes nothing: what lies behind it is there */
	if (link && (!last || (lead->last && (lead->there || !is_proc(walk->at))))) return follow(walk, name);
	step_to(walk, fd_steal(&next), false);
	return 0;
}

static int begin(struct walk *walk, const char *path) {
	const struct lead *lead = walk->lead;
	walk->at = walk->root = open_of(lead->thread, "root");
	if (walk->root < 0) return walk->root;
	if (path[0] == '/') return 0;
	int folder = open_folder(lead);
	if (folder < 0) return folder;
	step_to(walk, folder, true);
	return 0;
}

/* *ret_fd, unless NULL: what is there, or a negative errno. */
static int walk_all(const struct lead *lead, const char *path, int *ret_fd, char **ret_path, bool *ret_by_object) {
	struct walk walk = {.lead = lead, .root = -1, .at = -1, .missing = -ENOENT, .rest = string_copy(path)};
	*ret_path = NULL;
	int r = begin(&walk, path);
	if (r == 0) go_straight(&walk);
	while (r == 0) r = step(&walk, ret_path);
	*ret_by_object = walk.ended && walk.jumped;
	if (ret_fd) *ret_fd = walk.ended ? walk.at : walk.missing;
	if (ret_fd && walk.ended && walk.at == walk.root) walk.root = -1;
	if (ret_fd && walk.ended) walk.at = walk.root;
	step_to(&walk, walk.root, false);
	fd_close(walk.root);
	free(walk.rest);
	return r < 0 ? r : 0;
}

int lead_find(const struct lead *lead, const char *path, char **ret_path) {
	bool by_object;
	return walk_all(lead, path, NULL, ret_path, &by_object);
}

int lead_find_how(const struct lead *lead, const char *path, char **ret_path, bool *ret_by_object) {
	return walk_all(lead, path, NULL, ret_path, ret_by_object);
}

int lead_open(const struct lead *lead, const char *path, int *ret_fd, char **ret_path) {
	struct lead whole = *lead;
	CLEANUP_FREE char *place = NULL;
	bool by_object;
	whole.there = true;
	int r = walk_all(&whole, path, ret_fd, &place, &by_object);
	if (r == 0 && *ret_fd < 0) r = *ret_fd;
	if (r < 0) {
		*ret_fd = -1;
		return r;
	}
	*ret_path = STEAL(place);
	return 0;
}

int lead_root(pid_t thread) {
	return open_of(thread, "root");
}

/* What isn't at hand is looked up, but not in the curtain. */
static bool is_link(const struct lead *lead, int folder, const char *name) {
	char text;
	if (lead->curtain != 0 && lead_device(folder) == lead->curtain) return true;
	return readlinkat(folder, name, &text, sizeof text) >= 0 || (errno != EINVAL && errno != ENOENT);
}

/* By the name of the folder that the link in /proc leads to, unless the path is absolute. */
static char *name_from(const char *link, const char *path) {
	char text[PATH_MAX] = "/", *name = NULL;
	if (path[0] != '/' && (read_link(AT_FDCWD, link, text) < 0 || text[0] != '/')) return NULL;
	if (!string_ends(text, LEAD_REMOVED)) path_normalise(text, path, &name, NULL);
	return name;
}

/* With the last name at hand, or as one that isn't there, one look is enough. */
static bool is_straight_to_its_end(int at, const char *path) {
	int fd = open_straight(at, path, 0);
	if (fd >= 0) close(fd);
	return fd >= 0 || fd == -ENOENT;
}

static bool is_straight(const struct lead *lead, int at, const char *path) {
	const char *name;
	CLEANUP_FREE char *folder = folder_of(path, &name);
	CLEANUP_FD int opened = -1;
	if (at < 0) return false;
	if (lead->last && is_straight_to_its_end(at, path)) return true;
	if (folder[0]) {
		opened = open_straight(at, folder, O_DIRECTORY);
		at = opened;
	}
	return at >= 0 && !(lead->last && is_link(lead, at, name));
}

static int straight_from_root(const struct lead *lead, int root, const char *path, char **ret_path) {
	char link[32];
	snprintf(link, sizeof link, "/proc/%d/cwd", lead->thread);
	CLEANUP_FREE char *place = name_from(link, path);
	if (!place || place[1] == '\0' || !is_straight(lead, root, place + 1)) return -EAGAIN;
	*ret_path = STEAL(place);
	return 0;
}

static int straight_from_folder(const struct lead *lead, const char *path, char **ret_path) {
	char link[32];
	CLEANUP_FD int start = open_folder(lead);
	snprintf(link, sizeof link, "/proc/self/fd/%d", start);
	if (is_straight(lead, start, path)) *ret_path = name_from(link, path);
	return *ret_path ? 0 : -EAGAIN;
}

int lead_straight(const struct lead *lead, int root, const char *path, char **ret_path) {
	size_t size;
	*ret_path = NULL;
	path_last(path, &size);
	if (size == 0 || path_has_up(path)) return -EAGAIN;
	if (path[0] == '/' || (lead->still && lead->folder == AT_FDCWD))
		return straight_from_root(lead, root, path, ret_path);
	return straight_from_folder(lead, path, ret_path);
}
