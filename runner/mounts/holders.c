#include "holders.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "calls/process.h"
#include "calls/regular.h"
#include "portal_tree.h"
#include "schema/limits.h"

enum {
	HOLDERS_FDINFO_MAX = 64 * 1024, /* its locks, a line each, stand before what waits in a socket */
	HOLDERS_STAT_MAX = 4096,
	HOLDERS_MAPS_MAX = 4 * 1024 * 1024,
	HOLDERS_CHILDREN_MAX = 64 * 1024,
	HOLDERS_UP_MAX = 4096 /* folders above one whose path is too long to be told */
};

void taken_add(struct taken_mounts *mounts, const struct taken_mount *mount, const char *path) {
	if (!strings_contain(&mounts->paths, path)) strings_add(&mounts->paths, path);
	mounts->items = array_grow(mounts->items, mounts->count, sizeof *mounts->items);
	mounts->items[mounts->count++] = *mount;
}

bool taken_is_empty(const struct taken *taken) {
	return taken->whole.count + taken->parts.count + taken->once.count + taken->covered.count +
		       taken->read_only.count + taken->replaced.count ==
	       0;
}

static bool is_in(const struct strings *folders, const char *path) {
	return path_is_below_any(path, (const char *const *)folders->items, folders->count);
}

/* Does the plan show it, and to be written? */
static bool shows(const struct taken *taken, const char *path, bool write) {
	return taken->shows && taken->shows(taken->context, path, write);
}

static bool is_covered(const struct taken *taken, const char *path) {
	return is_in(&taken->covered, path);
}

void taken_finish(struct taken *taken) {
	strings_finish(&taken->whole.paths);
	strings_finish(&taken->parts.paths);
	strings_finish(&taken->once.paths);
	strings_finish(&taken->covered);
	strings_finish(&taken->read_only);
	strings_finish(&taken->replaced);
	mountinfo_finish(&taken->host);
	free(taken->whole.items);
	free(taken->parts.items);
	free(taken->once.items);
	free(taken->kept);
	*taken = (struct taken){0};
}

static const struct taken_mount *find_among(const struct taken_mounts *mounts, uint64_t id) {
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->items[i].id == id) return &mounts->items[i];
	return NULL;
}

static bool is_among(const struct taken_mounts *mounts, uint64_t id) {
	return find_among(mounts, id);
}

static bool is_taken(const struct taken *taken, uint64_t id) {
	return is_among(&taken->whole, id) || is_among(&taken->parts, id) || is_among(&taken->once, id);
}

/* Is the file, which somebody holds, one that a call was allowed to open? */
static bool is_kept(struct taken *taken, const struct taken_mount *mount, uint64_t inode) {
	size_t count = 0;
	for (size_t i = 0; i < taken->kept_count; i++) {
		if (taken->kept[i].mount != mount->id) continue;
		if (taken->kept[i].inode == inode) return true;
		count++;
	}
	if (count >= mount->calls) return false;
	taken->kept = array_grow(taken->kept, taken->kept_count, sizeof *taken->kept);
	taken->kept[taken->kept_count++] = (struct taken_file){.mount = mount->id, .inode = inode};
	return true;
}

/* Likewise of a map, which doesn't tell its mount. */
static bool map_is_kept(struct taken *taken, dev_t device, uint64_t inode) {
	for (size_t i = 0; i < taken->kept_count; i++)
		if (taken->kept[i].inode == inode) return true;
	for (size_t i = 0; i < taken->once.count; i++) {
		const struct taken_mount *mount = &taken->once.items[i];
		if ((mount->device == 0 || mount->device == device) && is_kept(taken, mount, inode)) return true;
	}
	return false;
}

/* A number of an fdinfo file (proc_pid_fdinfo(5)); 0 when it isn't there. */
static uint64_t number(const char *text, const char *field) {
	const char *found = strstr(text, field);
	return found ? strtoull(found + strlen(field), NULL, 10) : 0;
}

/* A path in a detached mount begins at that mount's root: put where it was, if the host has that inode there. */
static char *whole_path(const struct taken_mounts *mounts, const char *text, uint64_t inode) {
	for (size_t i = 0; text[0] == '/' && i < mounts->paths.count; i++) {
		char *path = string_format("%s%s", mounts->paths.items[i], string_equal(text, "/") ? "" : text);
		struct stat status;
		if (lstat(path, &status) == 0 && (inode == 0 || status.st_ino == inode)) return path;
		free(path);
	}
	return NULL;
}

/* One process that is looked at. */
struct look {
	struct taken *taken;
	struct holding holding;
	size_t left;             /* so many more of its descriptors */
	struct mountinfo mounts; /* as its namespace has them; once something needs them */
	bool maps_seen;          /* its threads have them in common, but one that has ended has none */
};

static void look_found(struct look *look, enum holds holds, char *path) {
	if (holds > look->holding.holds) {
		free(look->holding.path);
		look->holding.holds = holds;
		look->holding.path = path;
	} else {
		free(path);
	}
}

/* The task is gone or has closed it meanwhile, or nobody sees what it holds. `code`: an errno. */
static void look_failed(struct look *look, pid_t task, int code) {
	if (code == ENOENT || code == ESRCH || process_has_ended(task)) return;
	look_found(look, HOLDS_UNSEEN, string_copy("what it holds can't be seen"));
}

/* The numbers in a folder of /proc; a negative errno where they aren't all. */
static int list_numbers(const char *path, size_t most, struct pids *numbers) {
	DIR *stream = mem_expect(opendir(path));
	int r = stream ? 0 : -errno;
	while (stream && r == 0) {
		errno = 0;
		const struct dirent *entry = readdir(stream);
		if (!entry) break;
		if (!isdigit((unsigned char)entry->d_name[0])) continue;
		if (numbers->count == most)
			r = -E2BIG;
		else
			pids_add(numbers, (pid_t)strtol(entry->d_name, NULL, 10));
	}
	if (stream && r == 0) r = -errno;
	if (stream) closedir(stream);
	return r;
}

/* Names */

/* One whose path is longer than the kernel tells (PATH_MAX) lies where the first folder above it that has a path does.
 * What has none to the end, and a file, whose folder can't be had, count as in them. */
static bool lies_deep_in(const struct strings *folders, int fd) {
	CLEANUP_FD int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	for (int i = 0; at >= 0 && i < HOLDERS_UP_MAX; i++) {
		const int above = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd_close(at);
		at = above;
		CLEANUP_FREE char *name = string_format("fd/%d", at), *text = process_link(getpid(), name);
		if (at >= 0 && text[0] != '\0') return is_in(folders, text);
	}
	return true;
}

static bool lies_in(const struct strings *folders, int fd, const char *path) {
	if (folders->count == 0) return false;
	return path[0] != '\0' ? is_in(folders, path) : lies_deep_in(folders, fd);
}

/* Opened to be written, by the flags of its fdinfo (octal, open(2)); NULL: a folder or program. */
static bool is_open_to_write(const char *info) {
	const char *flags = info ? strstr(info, "flags:") : NULL;
	const unsigned long bits = flags ? strtoul(flags + strlen("flags:"), NULL, 8) : 0;
	return (bits & O_ACCMODE) != O_RDONLY && !(bits & O_PATH);
}

/* How much can be reached by a file of a mount. In one that could not be made read-only, what is open to be read, or by
 * name alone, can be opened anew to be written (/proc/PID/fd). */
static enum holds file_holds(struct taken *taken, const struct place *place, const char *info) {
	const struct taken_mount *mount = find_among(&taken->once, place->mount);
	if (mount) return is_kept(taken, mount, place->inode) ? HOLDS_NOTHING : HOLDS_FOLDER;
	mount = find_among(&taken->whole, place->mount);
	return mount && mount->written && !is_open_to_write(info) ? HOLDS_FOLDER : HOLDS_FILE;
}

/* What isn't told may be written. */
static bool is_read_only(struct look *look, pid_t task, uint64_t mount) {
	CLEANUP_FREE char *path = string_format("/proc/%d/mountinfo", task);
	CLEANUP_FD int fd = look->mounts.count == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) mountinfo_read(fd, &look->mounts);
	const struct mountinfo_entry *entry = mountinfo_find(&look->mounts, mount);
	return entry && entry->read_only;
}

/* How much can be written by it of what may be read alone. A file that is open to be read can be opened anew
 * (/proc/PID/fd); a program can't be written while it runs. */
static enum holds written_by(struct look *look, pid_t task, int fd, const struct place *place, const char *path,
			     const char *info) {
	const struct taken *taken = look->taken;
	const bool file = S_ISREG(place->mode) && info;
	if ((!S_ISDIR(place->mode) && !file) || !lies_in(&taken->read_only, fd, path)) return HOLDS_NOTHING;
	if (path[0] == '/' && shows(taken, path, true)) return HOLDS_NOTHING;
	if (is_read_only(look, task, place->mount)) return HOLDS_NOTHING;
	return file ? HOLDS_FILE : HOLDS_FOLDER;
}

/* A file that had another name before the host put it there may be open to be written, and a folder's files may be
 * made, by the mount around. */
static bool holds_replaced(struct look *look, pid_t task, const struct place *place, const char *path,
			   const char *info) {
	const bool folder = S_ISDIR(place->mode), file = S_ISREG(place->mode) && is_open_to_write(info);
	if ((!folder && !file) || path[0] != '/' || !is_in(&look->taken->replaced, path)) return false;
	return !is_read_only(look, task, place->mount);
}

/* A name of /proc/TASK that leads to a file or folder, opened as a name alone: nothing is asked of the file system that
 * it lies on. `info`: its fdinfo, or NULL for one that has none. */
static void look_at_name(struct look *look, pid_t task, const char *name, const char *info) {
	struct taken *taken = look->taken;
	const bool by_path = taken->covered.count + taken->read_only.count + taken->replaced.count > 0;
	if (info && !by_path && !is_taken(taken, number(info, "mnt_id:"))) return;
	CLEANUP_FREE char *link = string_format("/proc/%d/%s", task, name);
	CLEANUP_FD int fd = open(link, O_PATH | O_CLOEXEC);
	struct place place = {0};
	const int r = fd < 0 ? -errno : place_of(fd, &place);
	if (r < 0) {
		look_failed(look, task, -r);
		return;
	}
	const enum holds holds = S_ISDIR(place.mode) ? HOLDS_FOLDER : file_holds(taken, &place, info);
	const bool once = is_among(&taken->once, place.mount), whole = once || is_among(&taken->whole, place.mount),
		   part = is_among(&taken->parts, place.mount);
	CLEANUP_FREE char *text = process_link(task, name), *path = NULL;
	if (whole || part)
		path = whole_path(once ? &taken->once : whole ? &taken->whole : &taken->parts, text, place.inode);
	if (!path) path = STEAL(text);
	if (whole || (part && holds == HOLDS_FOLDER) || lies_in(&taken->covered, fd, path)) {
		look_found(look, holds, STEAL(path));
		return;
	}
	const enum holds writes = holds_replaced(look, task, &place, path, info)
					  ? HOLDS_FOLDER
					  : written_by(look, task, fd, &place, path, info);
	look_found(look, writes, STEAL(path));
}

/* Messages that wait in a socket (scm_fds, Linux 5.6) may hold anything, and so may what isn't told of it. What has no
 * file isn't looked at: the fdinfo of an epoll or inotify lists all its watches, millions of them, and is made whole
 * for whoever reads one byte (seq_read_iter of fs/seq_file.c). The link of a file begins with '/' whatever its name,
 * and is empty where its path is too long. */
static void look_at_descriptor(struct look *look, pid_t task, int descriptor) {
	CLEANUP_FREE char *path = string_format("/proc/%d/fdinfo/%d", task, descriptor), *info = NULL;
	CLEANUP_FREE char *name = string_format("fd/%d", descriptor), *link = process_link(task, name);
	const bool is_socket = string_starts(link, "socket:");
	size_t size = 0;
	if (!is_socket && link[0] != '/' && link[0] != '\0') return;
	const int r = regular_read(path, HOLDERS_FDINFO_MAX, &info, &size, NULL);
	if (r < 0) {
		look_failed(look, task, -r);
		return;
	}
	look->holding.sockets |= is_socket && (strstr(info, "scm_fds:") || size == HOLDERS_FDINFO_MAX);
	if (is_socket && (number(info, "scm_fds:") > 0 || size == HOLDERS_FDINFO_MAX))
		look_found(look, HOLDS_UNSEEN, STEAL(link));
	if (!is_socket) look_at_name(look, task, name, info);
}

static void look_at_descriptors(struct look *look, pid_t task) {
	CLEANUP_FREE char *folder = string_format("/proc/%d/fdinfo", task);
	struct pids descriptors = {0};
	const int r = list_numbers(folder, look->left, &descriptors);
	for (size_t i = 0; i < descriptors.count; i++) look_at_descriptor(look, task, descriptors.items[i]);
	if (r == -E2BIG) look_found(look, HOLDS_UNSEEN, string_copy("more files than are looked at"));
	if (r < 0) look_failed(look, task, -r);
	look->left -= descriptors.count;
	pids_finish(&descriptors);
}

/* Maps */

/* A line of /proc/PID/maps; the name stays the line's. */
struct mapping {
	bool shared;
	dev_t device;
	uint64_t inode;
	const char *name;
};

static char *next_word(char *text) {
	text += strcspn(text, " ");
	return text + strspn(text, " ");
}

/* Newlines alone are escaped in names (show_map_vma of fs/proc/task_mmu.c). */
static void unescape(char *name) {
	for (char *newline; (newline = strstr(name, "\\012")); name = newline + 1) {
		*newline = '\n';
		memmove(newline + 1, newline + 4, strlen(newline + 4) + 1);
	}
}

/* "ADDRESS PERMISSIONS OFFSET DEVICE INODE PATH" (proc_pid_maps(5)); permissions end with 's' where it is shared. */
static struct mapping mapping_parse(char *line) {
	char *permissions = next_word(line), *device = next_word(next_word(permissions)), *minor, *end;
	const unsigned major = (unsigned)strtoul(device, &minor, 16);
	struct mapping mapping = {.shared = strcspn(permissions, "s") == 3};
	mapping.device = makedev(major, *minor == ':' ? (unsigned)strtoul(minor + 1, NULL, 16) : 0);
	mapping.inode = strtoull(next_word(device), &end, 10);
	end += strspn(end, " ");
	unescape(end);
	mapping.name = end;
	return mapping;
}

/* On a file system of which something was taken. */
static bool is_near(const struct taken_mounts *mounts, const struct mapping *mapping) {
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->items[i].device == 0 || mounts->items[i].device == mapping->device) return true;
	return false;
}

/* Not by one that has opened it for reading alone, as it must where the file isn't its own. */
static bool may_be_written(int fd) {
	struct stat status;
	return fstat(fd, &status) < 0 || status.st_uid == geteuid() || faccessat(fd, "", W_OK, AT_EMPTY_PATH) == 0;
}

/* What the plan shows under that very name. stat(2) may have another device than the file system's (btrfs). A link on
 * the way is the tool's to make. */
static bool is_shown(const struct taken *taken, const struct mapping *mapping) {
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	struct place place;
	if (mapping->name[0] != '/' || !shows(taken, mapping->name, false)) return false;
	CLEANUP_FD int fd = (int)syscall(SYS_openat2, AT_FDCWD, mapping->name, &how, sizeof how);
	if (fd < 0 || place_of(fd, &place) < 0 || place.inode != mapping->inode) return false;
	const struct mountinfo_entry *mount = mountinfo_find(&taken->host, place.mount);
	if (place.device != mapping->device && (!mount || mount->device != mapping->device)) return false;
	return !taken->written || !mapping->shared || shows(taken, mapping->name, true) || !may_be_written(fd);
}

/* Its path, or NULL. The kernel names what lies in a detached mount as if that were the root, what has no name any more
 * by a former one, and doesn't say which mount it is. So what can't be told from a file of what was taken counts as
 * one. */
static char *held_by(const struct taken *taken, const struct mapping *mapping) {
	if (is_covered(taken, mapping->name)) return string_copy(mapping->name);
	if (mapping->shared && is_in(&taken->read_only, mapping->name) && !shows(taken, mapping->name, true))
		return string_copy(mapping->name);
	CLEANUP_FREE char *part = whole_path(&taken->parts, mapping->name, mapping->inode);
	if (part && is_covered(taken, part)) return STEAL(part);
	const bool near = is_near(&taken->whole, mapping);
	if (near && is_shown(taken, mapping)) return NULL;
	char *whole = whole_path(&taken->whole, mapping->name, mapping->inode);
	return whole || !near ? whole : string_copy(mapping->name);
}

static void look_at_maps(struct look *look, pid_t task) {
	CLEANUP_FREE char *path = string_format("/proc/%d/maps", task), *text = NULL;
	struct mapping last = {.name = ""};
	size_t size = 0;
	if (look->maps_seen) return;
	const int r = regular_read(path, HOLDERS_MAPS_MAX, &text, &size, NULL);
	if (r < 0) {
		look_failed(look, task, -r);
		return;
	}
	look->maps_seen = size > 0;
	if (size >= HOLDERS_MAPS_MAX) look_found(look, HOLDS_FILE, string_copy("more maps than are looked at"));
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
		const struct mapping mapping = mapping_parse(line);
		const bool again = mapping.inode == last.inode && mapping.device == last.device &&
				   mapping.shared == last.shared && string_equal(mapping.name, last.name);
		if (mapping.inode == 0 || again) continue;
		last = mapping;
		char *whole = held_by(look->taken, &mapping),
		     *once = whole_path(&look->taken->once, mapping.name, mapping.inode);
		if (whole) look_found(look, HOLDS_FILE, whole);
		if (mapping.shared && is_in(&look->taken->replaced, mapping.name))
			look_found(look, HOLDS_FOLDER, string_copy(mapping.name));
		if (once && !map_is_kept(look->taken, mapping.device, mapping.inode))
			look_found(look, HOLDS_FOLDER, STEAL(once));
		free(once);
	}
}

static bool same_descriptors(pid_t a, pid_t b) {
	return syscall(SYS_kcmp, a, b, KCMP_FILES, 0UL, 0UL) == 0;
}

/* Each thread may have descriptors and folders of its own (unshare(2)), and the first one may have ended. */
static void look_at_task(struct look *look, pid_t task, pid_t before) {
	if (before == 0 || !same_descriptors(task, before)) look_at_descriptors(look, task);
	look_at_name(look, task, "cwd", NULL);
	look_at_name(look, task, "root", NULL);
	look_at_name(look, task, "exe", NULL);
	look_at_maps(look, task);
}

void holder_look(pid_t pid, struct taken *taken, struct holding *ret_holding) {
	CLEANUP_FREE char *path = string_format("/proc/%d/task", pid);
	struct look look = {.taken = taken, .left = LIMIT_HOLDER_FILES};
	struct pids tasks = {0};
	const int r = list_numbers(path, LIMIT_PROCESSES, &tasks);
	for (size_t i = 0; i < tasks.count && look.holding.holds < HOLDS_FOLDER; i++)
		look_at_task(&look, tasks.items[i], i > 0 ? tasks.items[i - 1] : 0);
	/* A /proc that hides it says ENOENT of one that lives, too (hidepid of proc(5)). */
	if (r < 0 && tasks.count == 0) look_failed(&look, pid, EACCES);
	if (r < 0) look_failed(&look, pid, -r);
	pids_finish(&tasks);
	mountinfo_finish(&look.mounts);
	*ret_holding = look.holding;
}

void holding_finish(struct holding *holding) {
	free(holding->path);
	*holding = (struct holding){0};
}

void pids_add(struct pids *pids, pid_t pid) {
	pids->items = array_grow(pids->items, pids->count, sizeof *pids->items);
	pids->items[pids->count++] = pid;
}

bool processes_add_children(struct pids *pids, pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/task", pid);
	struct pids tasks = {0};
	int r = list_numbers(path, LIMIT_PROCESSES, &tasks);
	for (size_t i = 0; i < tasks.count; i++) {
		CLEANUP_FREE char *file = string_format("%s/%d/children", path, tasks.items[i]), *text = NULL;
		const int read = regular_read(file, HOLDERS_CHILDREN_MAX, &text, NULL, NULL);
		if (read < 0 && read != -ENOENT && read != -ESRCH) r = read;
		for (char *rest = text, *word;
		     text && (word = strtok_r(rest, " ", &rest)) && pids->count < LIMIT_HOLDERS;)
			pids_add(pids, (pid_t)strtol(word, NULL, 10));
	}
	pids_finish(&tasks);
	return r == 0 || process_has_ended(pid);
}

bool pids_have(const struct pids *pids, pid_t pid) {
	for (size_t i = 0; i < pids->count; i++)
		if (pids->items[i] == pid) return true;
	return false;
}

void pids_finish(struct pids *pids) {
	free(pids->items);
	*pids = (struct pids){0};
}

/* All of a pid namespace descend from its first process, which inherits who lost their parents. */
size_t sandbox_processes(pid_t init, pid_t **ret_pids) {
	struct pids pids = {0};
	size_t count = 0;
	processes_add_children(&pids, init);
	for (size_t i = 0; i < pids.count; i++) {
		processes_add_children(&pids, pids.items[i]);
		if (process_is_in(pids.items[i], init)) pids.items[count++] = pids.items[i];
	}
	*ret_pids = pids.items;
	return count;
}

/* "PID (NAME) STATE …" (proc_pid_stat(5)); a name may have parentheses. */
bool process_has_ended(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/stat", pid), *text = NULL;
	if (regular_read(path, HOLDERS_STAT_MAX, &text, NULL, NULL) < 0) return kill(pid, 0) < 0 && errno == ESRCH;
	const char *state = strrchr(text, ')');
	return !state || state[1] != ' ' || state[2] == 'Z' || state[2] == 'X';
}

void holders_add(struct holders *holders, pid_t pid, char *command, struct holding *holding) {
	if (holders->all++ >= LIMIT_HOLDERS_TOLD) {
		free(command);
		return;
	}
	holders->items = array_grow(holders->items, holders->count, sizeof *holders->items);
	holders->items[holders->count++] =
		(struct holder){.pid = pid, .command = command, .path = STEAL(holding->path)};
}
