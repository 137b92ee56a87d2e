#include "holders.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "portal_tree.h"
#include "process.h"
#include "regular.h"
#include "schema/limits.h"

enum {
	HOLDERS_FDINFO_MAX = 4096,
	HOLDERS_MAPS_MAX = 4 * 1024 * 1024,
	HOLDERS_MAP_PATHS = 64,
	HOLDERS_CHILDREN_MAX = 64 * 1024
};

void taken_add(struct taken_mounts *mounts, uint64_t id, const char *path) {
	if (!strings_contain(&mounts->paths, path)) strings_add(&mounts->paths, path);
	mounts->ids = array_grow(mounts->ids, mounts->count, sizeof *mounts->ids);
	mounts->ids[mounts->count++] = id;
}

bool taken_is_empty(const struct taken *taken) {
	return taken->whole.count + taken->parts.count + taken->covered.count == 0;
}

static bool is_covered(const struct taken *taken, const char *path) {
	return path_is_below_any(path, (const char *const *)taken->covered.items, taken->covered.count);
}

void taken_finish(struct taken *taken) {
	strings_finish(&taken->whole.paths);
	strings_finish(&taken->parts.paths);
	strings_finish(&taken->covered);
	free(taken->whole.ids);
	free(taken->parts.ids);
	*taken = (struct taken){0};
}

static bool is_among(const struct taken_mounts *mounts, uint64_t id) {
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->ids[i] == id) return true;
	return false;
}

static bool is_taken(const struct taken *taken, uint64_t id) {
	return is_among(&taken->whole, id) || is_among(&taken->parts, id);
}

/* A number of an fdinfo file (proc_pid_fdinfo(5)); 0 when it isn't there. */
static uint64_t number(const char *text, const char *field) {
	const char *found = strstr(text, field);
	return found ? strtoull(found + strlen(field), NULL, 10) : 0;
}

/* A path in a detached mount begins at that mount's root: put where it was, if the host has that inode there. */
static char *whole_path(const struct taken_mounts *mounts, const char *text, uint64_t inode) {
	for (size_t i = 0; text[0] == '/' && i < mounts->paths.count && i < HOLDERS_MAP_PATHS; i++) {
		char *path = string_format("%s%s", mounts->paths.items[i], string_equal(text, "/") ? "" : text);
		struct stat status;
		if (lstat(path, &status) == 0 && (inode == 0 || status.st_ino == inode)) return path;
		free(path);
	}
	return NULL;
}

/* One process that is looked at. */
struct look {
	const struct taken *taken;
	struct holding holding;
	int left;       /* so many more of its descriptors */
	bool maps_seen; /* its threads have them in common, but one that has ended has none */
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

/* A name of /proc/TASK that leads to a file or folder, opened as a name alone: nothing is asked of the file system that
 * it lies on. `info`: its fdinfo, or NULL for one that has none. */
static void look_at_name(struct look *look, pid_t task, const char *name, const char *info) {
	CLEANUP_FREE char *link = string_format("/proc/%d/%s", task, name);
	CLEANUP_FD int fd = -1;
	struct place place;
	if (!info || is_taken(look->taken, number(info, "mnt_id:")) || look->taken->covered.count > 0)
		fd = open(link, O_PATH | O_CLOEXEC);
	if (fd < 0 || place_of(fd, &place) < 0) return;
	const enum holds holds = S_ISDIR(place.mode) ? HOLDS_FOLDER : HOLDS_FILE;
	const bool whole = is_among(&look->taken->whole, place.mount),
		   part = is_among(&look->taken->parts, place.mount);
	CLEANUP_FREE char *text = process_link(task, name), *path = NULL;
	if (whole || part) path = whole_path(whole ? &look->taken->whole : &look->taken->parts, text, place.inode);
	if (!path) path = STEAL(text);
	if (whole || (part && holds == HOLDS_FOLDER) || is_covered(look->taken, path))
		look_found(look, holds, STEAL(path));
}

/* What has no file (epoll, inotify): its fdinfo lists all its watches, millions of them, and is made whole for whoever
 * reads one byte (seq_read_iter of fs/seq_file.c). The link of a file begins with '/' whatever its name. */
#define ANONYMOUS "anon_inode:"

/* Messages that wait in a socket (scm_fds, Linux 5.6), and what is not looked at any more, may hold anything. */
static void look_at_descriptors(struct look *look, pid_t task) {
	CLEANUP_FREE char *folder = string_format("/proc/%d/fdinfo", task);
	DIR *stream = mem_expect(opendir(folder));
	for (struct dirent *entry; stream && look->left > 0 && (entry = readdir(stream));) {
		if (!isdigit((unsigned char)entry->d_name[0])) continue;
		CLEANUP_FREE char *path = path_join(folder, entry->d_name), *info = NULL;
		CLEANUP_FREE char *name = string_format("fd/%s", entry->d_name);
		CLEANUP_FREE char *link = process_link(task, name);
		if (--look->left == 0) look_found(look, HOLDS_UNSEEN, string_copy("more files than are looked at"));
		if (string_starts(link, ANONYMOUS)) continue;
		if (regular_read(path, HOLDERS_FDINFO_MAX, &info, NULL, NULL) < 0) continue;
		look->holding.sockets |= strstr(info, "scm_fds:") != NULL;
		if (number(info, "scm_fds:") > 0) look_found(look, HOLDS_UNSEEN, process_link(task, name));
		look_at_name(look, task, name, info);
	}
	if (stream) closedir(stream);
}

static char *next_word(char *text) {
	text += strcspn(text, " ");
	return text + strspn(text, " ");
}

/* Owned; NULL: nothing of it was taken. */
static char *path_of_map(const struct taken *taken, const char *name, uint64_t inode) {
	if (is_covered(taken, name)) return string_copy(name);
	CLEANUP_FREE char *part = whole_path(&taken->parts, name, inode);
	return part && is_covered(taken, part) ? STEAL(part) : whole_path(&taken->whole, name, inode);
}

/* "ADDRESS PERMISSIONS OFFSET DEVICE INODE PATH" (proc_pid_maps(5)): no mount, so path and inode have to do. */
static void look_at_maps(struct look *look, pid_t task) {
	CLEANUP_FREE char *path = string_format("/proc/%d/maps", task), *text = NULL;
	const char *last = "";
	size_t size = 0;
	if (look->maps_seen || regular_read(path, HOLDERS_MAPS_MAX, &text, &size, NULL) < 0) return;
	look->maps_seen = size > 0;
	if (size >= HOLDERS_MAPS_MAX) look_found(look, HOLDS_FILE, string_copy("more maps than are looked at"));
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
		char *field = line, *name;
		for (int i = 0; i < 4; i++) field = next_word(field);
		const uint64_t inode = strtoull(field, &name, 10);
		name += strspn(name, " ");
		if (inode == 0 || string_equal(name, last)) continue;
		last = name;
		CLEANUP_FREE char *found = path_of_map(look->taken, last, inode);
		if (found) look_found(look, HOLDS_FILE, STEAL(found));
	}
}

static bool same_descriptors(pid_t a, pid_t b) {
	return syscall(SYS_kcmp, a, b, KCMP_FILES, 0UL, 0UL) == 0;
}

/* Each thread may have descriptors and folders of its own (unshare(2)), and the first one may have ended. */
void holder_look(pid_t pid, const struct taken *taken, struct holding *ret_holding) {
	CLEANUP_FREE char *tasks = string_format("/proc/%d/task", pid);
	DIR *stream = mem_expect(opendir(tasks));
	struct look look = {.taken = taken, .left = LIMIT_HOLDER_FILES};
	pid_t before = 0;
	for (struct dirent *entry; stream && look.holding.holds < HOLDS_FOLDER && (entry = readdir(stream));) {
		const pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
		if (task <= 0) continue;
		if (before == 0 || !same_descriptors(task, before)) look_at_descriptors(&look, task);
		look_at_name(&look, task, "cwd", NULL);
		look_at_name(&look, task, "root", NULL);
		look_at_name(&look, task, "exe", NULL);
		look_at_maps(&look, task);
		before = task;
	}
	if (stream) closedir(stream);
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

void processes_add_children(struct pids *pids, pid_t pid) {
	CLEANUP_FREE char *tasks = string_format("/proc/%d/task", pid);
	DIR *stream = mem_expect(opendir(tasks));
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		CLEANUP_FREE char *path = string_format("%s/%s/children", tasks, entry->d_name), *text = NULL;
		if (entry->d_name[0] == '.' || regular_read(path, HOLDERS_CHILDREN_MAX, &text, NULL, NULL) < 0)
			continue;
		for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest)) && pids->count < LIMIT_HOLDERS;)
			pids_add(pids, (pid_t)strtol(word, NULL, 10));
	}
	if (stream) closedir(stream);
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
	if (regular_read(path, HOLDERS_FDINFO_MAX, &text, NULL, NULL) < 0) return true;
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

void holders_finish(struct holders *holders) {
	for (size_t i = 0; i < holders->count; i++) {
		free(holders->items[i].command);
		free(holders->items[i].path);
	}
	free(holders->items);
	*holders = (struct holders){0};
}
