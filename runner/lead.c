/*
 * Theory of operation. Mostly there is no link on the way: then one openat2(2) of the folder, which gives up at a link
 * and at whatever isn't in the kernel's cache, says so. Otherwise the path is walked name by name. Below a node of the
 * curtain nothing is looked up: the answer would have to come from ourselves. The tool can move a node to where none
 * should be, so that is seen by the device of what was opened, asked without a request to its file system
 * (AT_STATX_DONT_SYNC).
 *
 * In the sandbox's /proc, "self" is whoever walks; for us that is nobody. So the thread's own folder of our /proc is
 * taken. Its links (cwd, fd/5) are read, as texts, and followed by name.
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

enum {
	LEAD_LINKS = 40,   /* as the kernel's MAXSYMLINKS (path_resolution(7)) */
	LEAD_STEPS = 1024, /* some 2 ms: links can make the way of one call 80,000 names long */
};

#ifndef RESOLVE_CACHED /* Linux 5.12 */
#define RESOLVE_CACHED 0x20
#endif

struct walk {
	const struct lead *lead;
	int root, at;
	char *rest; /* what is still to be walked */
	int links, steps;
	bool opens;
	int found; /* what is at the end, when it opens */
};

static int open_folder_of(pid_t thread, const char *which) {
	char name[32];
	snprintf(name, sizeof name, "/proc/%d/%s", thread, which);
	int fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_root(pid_t thread) {
	return open_folder_of(thread, "root");
}

/* Its type and device, asked of nobody. */
static int look(int fd, mode_t *ret_type, dev_t *ret_device) {
	struct statx status;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) < 0) return -errno;
	*ret_type = status.stx_mode & S_IFMT;
	*ret_device = makedev(status.stx_dev_major, status.stx_dev_minor);
	return 0;
}

bool lead_is_open(pid_t thread) {
	CLEANUP_FD int root = open_root(thread);
	return root != -EACCES && root != -EPERM;
}

dev_t lead_device(int fd) {
	mode_t type = 0;
	dev_t device = 0;
	return look(fd, &type, &device) < 0 ? 0 : device;
}

static bool is_curtain(const struct lead *lead, int fd) {
	mode_t type = 0;
	dev_t device = 0;
	return lead->curtain != 0 && (look(fd, &type, &device) < 0 || device == lead->curtain);
}

static int read_link(int fd, const char *name, char text[PATH_MAX]) {
	ssize_t size = readlinkat(fd, name, text, PATH_MAX - 1);
	if (size < 0) return -errno;
	text[size] = '\0';
	return 0;
}

/* Is the path what it says? */
static bool is_straight(const struct lead *lead, int root, const char *path) {
	CLEANUP_FREE char *folder = path_parent(path);
	const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED};
	const char *below = folder[1] ? folder + 1 : ".";
	CLEANUP_FD int fd = (int)syscall(SYS_openat2, root, below, &how, sizeof how);
	char text[PATH_MAX];
	if (fd < 0) return false;
	if (!lead->last || is_curtain(lead, fd)) return true;
	return read_link(fd, path_name(path), text) < 0;
}

/* What the sandbox calls an open folder, and `name` in it. */
static int place_of(int fd, const char *name, char **ret_path) {
	char link[32], text[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	int r = read_link(AT_FDCWD, link, text);
	if (r < 0) return r;
	return text[0] == '/' ? path_normalise(text, name, ret_path, NULL) : -ENOENT;
}

static bool is_proc(int fd) {
	struct statfs status;
	return fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

static bool is_own_process(int fd, const char *name) {
	return (string_equal(name, "self") || string_equal(name, "thread-self")) && is_proc(fd);
}

static int open_next(const struct walk *walk, const char *name) {
	char own[32];
	int fd;
	if (is_own_process(walk->at, name)) {
		snprintf(own, sizeof own, "/proc/%d", walk->lead->thread);
		fd = open(own, O_PATH | O_DIRECTORY | O_CLOEXEC);
	} else {
		fd = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static int step_to(struct walk *walk, int fd) {
	if (walk->at != walk->root) fd_close(walk->at);
	walk->at = fd;
	return 0;
}

static int follow(struct walk *walk, const char *text) {
	char *rest;
	if (++walk->links > LEAD_LINKS) return -ELOOP;
	if (text[0] == '/' && walk->lead->rooted) return -EXDEV;
	if (text[0] == '/') step_to(walk, walk->root);
	rest = string_format("%s/%s", text, walk->rest);
	free(walk->rest);
	walk->rest = rest;
	return 0;
}

/* One name further. 1: the walk is at its end, and *ret_path is where. */
static int step(struct walk *walk, char **ret_path) {
	const struct lead *lead = walk->lead;
	char text[PATH_MAX];
	mode_t type = 0;
	dev_t device = 0;
	char *start = walk->rest + strspn(walk->rest, "/");
	if (++walk->steps > LEAD_STEPS) return -EXDEV;
	if (!*start) return place_of(walk->at, ".", ret_path) < 0 ? -ENOENT : 1;
	if (is_curtain(lead, walk->at)) return place_of(walk->at, start, ret_path) < 0 ? -ENOENT : 1;
	CLEANUP_FREE char *name = string_copy_bytes(start, strcspn(start, "/"));
	const char *after = start + strlen(name);
	const bool last = after[strspn(after, "/")] == '\0';
	CLEANUP_FD int next = open_next(walk, name);
	if (next == -ENOENT && last) return place_of(walk->at, name, ret_path) < 0 ? -ENOENT : 1;
	if (next < 0) return next;
	int r = look(next, &type, &device);
	if (r < 0) return r;
	const bool link = S_ISLNK(type) && device != lead->curtain;
	/* "/dev/stdout" makes nothing: what lies behind it is there */
	if (link && (!last || (lead->last && (lead->there || !is_proc(walk->at))))) {
		if ((r = read_link(next, "", text)) < 0) return r;
		memmove(walk->rest, after, strlen(after) + 1);
		return follow(walk, text);
	}
	if (last && walk->opens) {
		walk->found = fd_steal(&next);
		if (place_of(walk->at, name, ret_path) < 0) *ret_path = NULL;
		return 1;
	}
	if (last) return place_of(walk->at, name, ret_path) < 0 ? -ENOENT : 1;
	memmove(walk->rest, after, strlen(after) + 1);
	return step_to(walk, fd_steal(&next));
}

int lead_find(const struct lead *lead, const char *path, char **ret_path) {
	CLEANUP_FD int root = open_root(lead->thread);
	if (root < 0) return root;
	if (is_straight(lead, root, path)) return path_normalise(NULL, path, ret_path, NULL);
	struct walk walk = {.lead = lead, .root = root, .at = root, .rest = string_copy(path)};
	int r = 0;
	while (r == 0) r = step(&walk, ret_path);
	step_to(&walk, -1);
	free(walk.rest);
	return r < 0 ? r : 0;
}

int lead_open(const struct lead *lead, const char *path, int *ret_fd, char **ret_path) {
	const struct lead whole = {.thread = lead->thread, .curtain = lead->curtain, .last = true, .there = true};
	CLEANUP_FD int root = open_root(lead->thread);
	CLEANUP_FREE char *place = NULL;
	if (root < 0) return root;
	struct walk walk = {
		.lead = &whole, .root = root, .at = root, .rest = string_copy(path), .opens = true, .found = -1};
	int r = 0;
	if (path[0] != '/') {
		int folder = open_folder_of(lead->thread, "cwd");
		if (folder < 0)
			r = folder;
		else
			walk.at = folder;
	}
	while (r == 0) r = step(&walk, &place);
	step_to(&walk, -1);
	free(walk.rest);
	if (r < 0) return r;
	if (walk.found < 0) return -ENOENT;
	*ret_fd = walk.found;
	*ret_path = STEAL(place);
	return 0;
}
