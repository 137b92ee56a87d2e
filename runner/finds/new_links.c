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
#include "base/log.h"
#include "base/mounts.h"
#include "base/path.h"
#include "known.h"
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
	struct known *known;
	struct waiting *queue;
	size_t queue_count, queued, judged, most; /* folders; bytes; links; entries */
};

struct waiting {
	char *path;
	const struct known_folder *before; /* the last time; or NULL */
	uint32_t above;                    /* the number of the folder that it is in (known.h) */
};

struct folder {
	struct look *look;
	const char *path;
	int fd;
	bool changed; /* since the start */
	struct strings folders;
	uint32_t entries;
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
static bool is_since(const struct look *look, int64_t seconds, int64_t nanoseconds) {
	const struct timespec *since = &look->options->since;
	if (seconds != since->tv_sec) return seconds > since->tv_sec;
	return nanoseconds == 0 || nanoseconds >= since->tv_nsec;
}

static bool is_new(const struct look *look, int folder, const char *name) {
	const int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC;
	struct statx status;
	return statx(folder, name, flags, STATX_CTIME, &status) == 0 &&
	       is_since(look, status.stx_ctime.tv_sec, status.stx_ctime.tv_nsec);
}

static void take_link(struct folder *folder, const char *name) {
	char text[PATH_MAX];
	if (!folder->changed || !is_new(folder->look, folder->fd, name)) return;
	const ssize_t size = readlinkat(folder->fd, name, text, sizeof text - 1);
	if (size < 0) return;
	text[size] = '\0';
	judge(folder, name, text);
}

/* The path is taken over. */
static void wait_for(struct look *look, char *path, const struct known_folder *before, uint32_t above) {
	const size_t size = strlen(path);
	if (size >= PATH_MAX || look->queued + size > LINKS_QUEUE_MAX) {
		look->links->cut = true;
		free(path);
		return;
	}
	look->queued += size;
	look->queue = array_grow(look->queue, look->queue_count, sizeof *look->queue);
	look->queue[look->queue_count++] = (struct waiting){path, before, above};
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
	folder->entries++;
	if (type == DT_DIR) strings_add(&folder->folders, entry->d_name);
	if (type == DT_LNK) take_link(folder, entry->d_name);
}

/* What is in there is found by its name alone, or when the right is given again. What was hidden is as it was. */
static void note_shut(struct look *look, const char *path) {
	if (plan_show(look->options->plan, path) == SHOW_NOTHING) return;
	look->links->cut |= look->links->shut.count == LINKS_KEPT_MAX;
	if (look->links->shut.count < LINKS_KEPT_MAX) strings_add(&look->links->shut, path);
}

/* One that a tool, which runs as its user, can have made so. */
static bool is_shut(const struct stat *status) {
	return status->st_uid == geteuid() && (status->st_mode & (S_IRUSR | S_IXUSR)) != (S_IRUSR | S_IXUSR);
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

static const char *name_of(const struct waiting *waiting) {
	return waiting->above == KNOWN_TREE ? waiting->path : path_name(waiting->path);
}

/* As it was the last time, and not changed since the start. */
static bool is_known(const struct look *look, int tree, const char *below, const struct known_folder *before) {
	const unsigned wanted = STATX_TYPE | STATX_INO | STATX_CTIME;
	struct statx status;
	return before && statx(tree, below, AT_SYMLINK_NOFOLLOW, wanted, &status) == 0 &&
	       known_is_same(before, &status) && !is_since(look, status.stx_ctime.tv_sec, status.stx_ctime.tv_nsec);
}

static void take_known(struct look *look, const struct waiting *waiting) {
	const struct known_folder *before = waiting->before;
	const uint32_t number = known_keep(look->known, waiting->above, name_of(waiting), before);
	look->links->entries += before->entries;
	for (const struct known_folder *at = before->in; at; at = at->next)
		wait_for(look, path_join(waiting->path, at->name), at, number);
}

static void read_open(struct look *look, int fd, const struct known_seen *seen, const struct waiting *waiting) {
	const struct timespec *changed = &seen->status.st_ctim;
	struct folder folder = {.look = look,
				.path = waiting->path,
				.fd = fd,
				.changed = is_since(look, changed->tv_sec, changed->tv_nsec)};
	const struct known_folder *hint = NULL, *before = waiting->before;
	uint32_t number = KNOWN_TREE;
	read_folder(&folder);
	const struct known_found found = {.entries = folder.entries};
	if (look->known) number = known_add(look->known, waiting->above, name_of(waiting), fd, seen, &found);
	for (size_t i = 0; i < folder.folders.count; i++) {
		const char *name = folder.folders.items[i];
		wait_for(look, path_join(folder.path, name), before ? known_child(before, name, &hint) : NULL, number);
	}
	strings_finish(&folder.folders);
}

static void look_into(struct look *look, int tree, const char *root, const struct waiting *waiting) {
	const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	const char *below = waiting->path + strlen(root) + strspn(waiting->path + strlen(root), "/");
	struct known_seen seen;
	if (!below[0]) below = ".";
	if (is_known(look, tree, below, waiting->before)) {
		take_known(look, waiting);
		return;
	}
	CLEANUP_FD int fd = (int)syscall(SYS_openat2, tree, below, &how, sizeof how);
	const bool there = fd >= 0 ? known_see(fd, &seen) == 0
				   : errno == EACCES && fstatat(tree, below, &seen.status, AT_SYMLINK_NOFOLLOW) == 0;
	const bool shut = there && is_shut(&seen.status);
	if (shut) note_shut(look, waiting->path);
	if (fd >= 0 && there && !shut)
		read_open(look, fd, &seen, waiting);
	else if (look->known)
		known_add(look->known, waiting->above, name_of(waiting), -1, NULL, NULL);
}

static void look_at_tree(struct look *look, const char *root) {
	CLEANUP_FD int tree = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (tree < 0) return;
	look->queued = 0;
	wait_for(look, string_copy(root), look->known ? known_tree(look->known, root) : NULL, KNOWN_TREE);
	for (size_t i = 0; i < look->queue_count; i++) {
		const struct waiting waiting = look->queue[i]; /* the queue moves when it grows */
		look->links->cut |= look->links->entries >= look->most;
		if (look->links->entries < look->most) look_into(look, tree, root, &waiting);
	}
	for (size_t i = 0; i < look->queue_count; i++) free(look->queue[i].path);
	free(STEAL(look->queue));
	look->queue_count = 0;
}

/* What can't be kept is looked through again the next time. */
static void save_known(const struct look *look) {
	struct error error = ERROR_NONE;
	const bool whole = !look->links->cut && look->links->entries < look->most;
	if (look->known && whole && known_save(look->known, look->options->known, &error) < 0)
		log_debug("%s", error.message);
}

void new_links_find(const struct new_links_options *options, struct new_links *ret_links) {
	static const struct strings nothing = {0};
	CLEANUP_KNOWN struct known *known = options->known ? known_load(options->known, &nothing) : NULL;
	struct look look = {.options = options, .links = ret_links, .known = known};
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
	save_known(&look);
	strings_finish(&look.shut);
}
