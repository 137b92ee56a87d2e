/*
 * Theory of operation. getdents64(2) says of each name whether it is a link, so only links cost a look of their own,
 * and only those in a folder that has changed since the start: whoever makes, renames or replaces one changes its
 * folder. What lies shallow comes first. A folder is opened from its tree's descriptor without following links, since
 * another sandbox may write in there meanwhile.
 */
#include "new_links.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mounts.h"
#include "base/path.h"
#include "plan/link_target.h"
#include "schema/limits.h"

enum {
	LINKS_JUDGED_MAX = 20 * 1000,
	LINKS_KEPT_MAX = 1000,
	LINKS_QUEUE_MAX = 64 * 1024 * 1024, /* bytes of the names of folders that wait */
	LINKS_BLOCK = 32 * 1024,
};

struct look {
	const struct new_links_options *options;
	struct new_links *links;
	struct strings shut; /* file systems that may not answer, but for those that the trees lie on or hold */
	bool knows_shut;     /* once there is a link to judge */
	struct strings queue;
	size_t queued, judged, most; /* bytes; links; entries */
};

struct folder {
	struct look *look;
	const char *path;
	int fd;
	bool changed; /* since the start */
};

void new_links_finish(struct new_links *links) {
	for (size_t i = 0; i < links->count; i++) {
		free(links->items[i].path);
		free(links->items[i].text);
		free(links->items[i].leads);
	}
	free(links->items);
	strings_finish(&links->shut);
	*links = (struct new_links){0};
}

/* Judging one */

/* In one that is called `.git`, as nearly all are, or it is that one. */
static bool is_gits(const char *path) {
	return strstr(path, "/.git/") || string_ends(path, "/.git");
}

static bool is_in(const struct strings *trees, const char *path) {
	return path_is_below_any(path, (const char *const *)trees->items, trees->count);
}

/* Could the sandbox write there itself? In a git directory only a file that is there counts as such: by a folder of it
 * another link could name git's own files, and one that is missing git makes later. */
static bool is_inside(const struct look *look, const struct link_target *target) {
	const struct plan *plan = look->options->plan;
	const bool git = is_gits(target->path) || is_in(look->options->git, target->path);
	const bool file = target->reach == LINK_THERE && S_ISREG(target->mode);
	return plan_show(plan, target->path) == SHOW_WRITE && (!git || file) && !is_in(&plan->missing, target->path);
}

static bool user_may(const char *path, int what) {
	return faccessat(AT_FDCWD, path, what, AT_EACCESS) == 0;
}

/* Through a link to `/` or `/home` the home is written as well. */
static bool user_may_write(const struct look *look, const struct link_target *target) {
	const bool null = S_ISCHR(target->mode) && target->device == makedev(1, 3);
	return !null && (user_may(target->path, W_OK) || path_is_below(look->options->home, target->path));
}

/* Where its folder is missing, too, a plain write by the link fails (symlink.h says the same before it is made). */
static bool user_may_make(const struct link_target *target) {
	CLEANUP_FREE char *folder = path_parent(target->path);
	return user_may(folder, W_OK | X_OK);
}

static bool leads_out(const struct look *look, const struct link_target *target) {
	switch (target->reach) {
	case LINK_THERE:
		return !is_inside(look, target) && user_may_write(look, target);
	case LINK_MISSING:
		return !is_inside(look, target) && user_may_make(target);
	case LINK_UNKNOWN:
		return true;
	case LINK_NOWHERE:
		return false;
	}
	return true;
}

static void keep(struct new_links *links, const char *path, const char *text, struct link_target *target) {
	links->cut |= links->count == LINKS_KEPT_MAX;
	if (links->count == LINKS_KEPT_MAX) return;
	links->items = array_grow(links->items, links->count, sizeof *links->items);
	links->items[links->count++] = (struct new_link){string_copy(path), string_copy(text), STEAL(target->path)};
}

/* The trees themselves were looked at before, and have answered. */
static void find_shut(struct look *look) {
	if (look->knows_shut) return;
	look->knows_shut = true;
	CLEANUP_STRINGS struct strings points = {0};
	const struct strings *trees = look->options->trees;
	mounts_that_may_hang(&points);
	mounts_that_may_hang_below(&points);
	for (size_t i = 0; i < points.count; i++) {
		bool holds = is_in(trees, points.items[i]);
		for (size_t k = 0; k < trees->count; k++) holds |= path_is_below(trees->items[k], points.items[i]);
		if (!holds) strings_add(&look->shut, points.items[i]);
	}
}

static void judge(const struct folder *folder, const char *name, const char *text) {
	struct look *look = folder->look;
	CLEANUP_LINK_TARGET struct link_target target = {0};
	CLEANUP_FREE char *path = path_join(folder->path, name);
	look->links->cut |= look->judged == LINKS_JUDGED_MAX;
	if (look->judged == LINKS_JUDGED_MAX) return;
	look->judged++;
	find_shut(look);
	link_target_find(folder->path, text, &look->shut, &target);
	if (is_gits(folder->path) || is_in(look->options->git, path) || leads_out(look, &target))
		keep(look->links, path, text, &target);
}

/* Looking */

/* A file system may keep whole seconds alone. */
static bool is_since(const struct look *look, const struct statx *status) {
	const struct timespec *since = &look->options->since;
	const int64_t seconds = status->stx_ctime.tv_sec, nanoseconds = status->stx_ctime.tv_nsec;
	if (seconds != since->tv_sec) return seconds > since->tv_sec;
	return nanoseconds == 0 || nanoseconds >= since->tv_nsec;
}

static bool is_new(const struct look *look, int folder, const char *name) {
	const int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC;
	struct statx status;
	return statx(folder, name, flags, STATX_CTIME, &status) == 0 && is_since(look, &status);
}

static void take_link(struct folder *folder, const char *name) {
	char text[PATH_MAX];
	if (!folder->changed || !is_new(folder->look, folder->fd, name)) return;
	const ssize_t size = readlinkat(folder->fd, name, text, sizeof text - 1);
	if (size < 0) return;
	text[size] = '\0';
	judge(folder, name, text);
}

static void take_folder(const struct folder *folder, const char *name) {
	struct look *look = folder->look;
	char *path = path_join(folder->path, name);
	const size_t size = strlen(path);
	if (size >= PATH_MAX || look->queued + size > LINKS_QUEUE_MAX) {
		look->links->cut = true;
		free(path);
		return;
	}
	look->queued += size;
	strings_take(&look->queue, path);
}

static unsigned char type_of(int fd, const struct dirent64 *entry) {
	struct stat status;
	if (entry->d_type != DT_UNKNOWN) return entry->d_type;
	if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) return DT_UNKNOWN;
	return S_ISDIR(status.st_mode) ? DT_DIR : S_ISLNK(status.st_mode) ? DT_LNK : DT_REG;
}

static void take_entry(struct folder *folder, const struct dirent64 *entry) {
	if (path_is_dots(entry->d_name)) return;
	const unsigned char type = type_of(folder->fd, entry);
	folder->look->links->entries++;
	if (type == DT_DIR) take_folder(folder, entry->d_name);
	if (type == DT_LNK) take_link(folder, entry->d_name);
}

/* What is in there is found by its name alone, or when the right is given again. What was hidden is as it was. */
static void note_shut(struct look *look, const char *path) {
	if (plan_show(look->options->plan, path) == SHOW_NOTHING) return;
	look->links->cut |= look->links->shut.count == LINKS_KEPT_MAX;
	if (look->links->shut.count < LINKS_KEPT_MAX) strings_add(&look->links->shut, path);
}

/* One that a tool, which runs as its user, can have made so. */
static bool is_shut(const struct statx *status) {
	return status->stx_uid == geteuid() && (status->stx_mode & (S_IRUSR | S_IXUSR)) != (S_IRUSR | S_IXUSR);
}

static void look_if_shut(struct look *look, int tree, const char *below, const char *path) {
	struct statx status;
	if (statx(tree, below, AT_SYMLINK_NOFOLLOW, STATX_UID | STATX_MODE, &status) == 0 && is_shut(&status))
		note_shut(look, path);
}

static void read_folder(struct folder *folder) {
	_Alignas(struct dirent64) char block[LINKS_BLOCK];
	const struct look *look = folder->look;
	ssize_t size = 0;
	while (look->links->entries < look->most && (size = getdents64(folder->fd, block, sizeof block)) > 0)
		for (ssize_t at = 0; at < size;) {
			const struct dirent64 *entry = (const struct dirent64 *)(const void *)(block + at);
			take_entry(folder, entry);
			at += entry->d_reclen;
		}
}

static void look_into(struct look *look, int tree, const char *root, const char *path) {
	const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	const char *below = path + strlen(root) + strspn(path + strlen(root), "/");
	if (!below[0]) below = ".";
	CLEANUP_FD int fd = (int)syscall(SYS_openat2, tree, below, &how, sizeof how);
	struct statx status;
	if (fd < 0 && errno == EACCES) look_if_shut(look, tree, below, path);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_CTIME | STATX_UID | STATX_MODE, &status) < 0) return;
	struct folder folder = {look, path, fd, is_since(look, &status)};
	if (is_shut(&status))
		note_shut(look, path);
	else
		read_folder(&folder);
}

static void look_at_tree(struct look *look, const char *root) {
	CLEANUP_FD int tree = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (tree < 0) return;
	look->queued = 0;
	strings_add(&look->queue, root);
	for (size_t i = 0; i < look->queue.count; i++) {
		look->links->cut |= look->links->entries >= look->most;
		if (look->links->entries < look->most) look_into(look, tree, root, look->queue.items[i]);
	}
	strings_finish(&look->queue);
}

void new_links_find(const struct new_links_options *options, struct new_links *ret_links) {
	struct look look = {.options = options, .links = ret_links};
	const struct strings *trees = options->trees;
	*ret_links = (struct new_links){0};
	look.most = options->entries > 0 ? options->entries : LIMIT_LINK_LOOK;
	for (size_t i = 0; i < trees->count; i++) {
		bool again = false;
		for (size_t k = 0; k < trees->count && !again; k++)
			again = k != i && path_is_below(trees->items[i], trees->items[k]) &&
				(k < i || !string_equal(trees->items[i], trees->items[k]));
		if (!again) look_at_tree(&look, trees->items[i]);
	}
	strings_finish(&look.shut);
}
