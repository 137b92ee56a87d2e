#include "holders.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "process.h"
#include "regular.h"
#include "schema/limits.h"

enum {
	HOLDERS_FDINFO_MAX = 4096,
	HOLDERS_MAPS_MAX = 4 * 1024 * 1024,
	HOLDERS_MAP_PATHS = 64,
	HOLDERS_ROUNDS = 32,
	HOLDERS_CHILDREN_MAX = 64 * 1024
};

void taken_add(struct taken *taken, const struct strings *paths, const uint64_t *mounts, size_t count) {
	for (size_t i = 0; i < paths->count; i++)
		if (!strings_contain(&taken->paths, paths->items[i])) strings_add(&taken->paths, paths->items[i]);
	for (size_t i = 0; i < count; i++) {
		taken->mounts = array_grow(taken->mounts, taken->mount_count, sizeof *taken->mounts);
		taken->mounts[taken->mount_count++] = mounts[i];
	}
}

void taken_cover(struct taken *taken, const char *path) {
	if (!strings_contain(&taken->covered, path)) strings_add(&taken->covered, path);
}

void taken_uncover(struct taken *taken, const char *path) {
	struct strings *covered = &taken->covered;
	for (size_t i = 0; i < covered->count; i++) {
		if (!string_equal(covered->items[i], path)) continue;
		free(covered->items[i]);
		covered->items[i] = covered->items[--covered->count];
		return;
	}
}

static bool is_covered(const struct taken *taken, const char *path) {
	return path_is_below_any(path, (const char *const *)taken->covered.items, taken->covered.count);
}

void taken_finish(struct taken *taken) {
	strings_finish(&taken->paths);
	strings_finish(&taken->covered);
	free(taken->mounts);
	*taken = (struct taken){0};
}

static bool is_taken(const struct taken *taken, uint64_t mount) {
	for (size_t i = 0; i < taken->mount_count; i++)
		if (taken->mounts[i] == mount) return true;
	return false;
}

/* A number of an fdinfo file (proc_pid_fdinfo(5)); 0 when it isn't there. */
static uint64_t number(const char *text, const char *field) {
	const char *found = strstr(text, field);
	return found ? strtoull(found + strlen(field), NULL, 10) : 0;
}

/* A path in a detached mount begins at that mount's root: put where it was, if the host has that inode there. */
static char *whole_path(const struct taken *taken, const char *text, uint64_t inode) {
	for (size_t i = 0; text[0] == '/' && i < taken->paths.count && i < HOLDERS_MAP_PATHS; i++) {
		char *path = string_format("%s%s", taken->paths.items[i], string_equal(text, "/") ? "" : text);
		struct stat status;
		if (lstat(path, &status) == 0 && (inode == 0 || status.st_ino == inode)) return path;
		free(path);
	}
	return NULL;
}

static char *path_to_show(const struct taken *taken, char *text, uint64_t inode) {
	char *whole = whole_path(taken, text, inode);
	if (!whole) return text;
	free(text);
	return whole;
}

/* What a link of /proc leads to, when that is covered. */
static char *covered_text(const struct taken *taken, pid_t task, const char *name) {
	CLEANUP_FREE char *text = taken->covered.count > 0 ? process_link(task, name) : NULL;
	return text && is_covered(taken, text) ? STEAL(text) : NULL;
}

/* `left`: how many more of its process's are looked at. A message that waits in a socket of it, which may bring what
 * was taken at any time (scm_fds, Linux 5.6), and what isn't looked at any more count as holding it. */
static char *held_descriptor(pid_t task, const struct taken *taken, int *left) {
	CLEANUP_FREE char *folder = string_format("/proc/%d/fdinfo", task);
	DIR *stream = mem_expect(opendir(folder));
	char *found = NULL;
	for (struct dirent *entry; stream && !found && (entry = readdir(stream));) {
		if (!isdigit((unsigned char)entry->d_name[0])) continue;
		CLEANUP_FREE char *path = path_join(folder, entry->d_name), *text = NULL;
		if (--*left < 0) {
			found = string_copy("more files than are looked at");
			break;
		}
		if (regular_read(path, HOLDERS_FDINFO_MAX, &text, NULL, NULL) < 0) continue;
		CLEANUP_FREE char *name = string_format("fd/%s", entry->d_name);
		if (is_taken(taken, number(text, "mnt_id:")) || number(text, "scm_fds:") > 0)
			found = path_to_show(taken, process_link(task, name), number(text, "ino:"));
		else
			found = covered_text(taken, task, name);
	}
	if (stream) closedir(stream);
	return found;
}

/* Opened as a name alone: nothing is asked of the file system it lies on. */
static char *held_folder(pid_t task, const char *name, const struct taken *taken) {
	CLEANUP_FREE char *link = string_format("/proc/%d/%s", task, name), *info = NULL, *text = NULL;
	CLEANUP_FD int fd = open(link, O_PATH | O_CLOEXEC);
	if (fd < 0) return NULL;
	info = string_format("/proc/self/fdinfo/%d", fd);
	if (regular_read(info, HOLDERS_FDINFO_MAX, &text, NULL, NULL) < 0) return NULL;
	if (!is_taken(taken, number(text, "mnt_id:"))) return covered_text(taken, task, name);
	return path_to_show(taken, process_link(task, name), number(text, "ino:"));
}

static char *next_word(char *text) {
	text += strcspn(text, " ");
	return text + strspn(text, " ");
}

/* "ADDRESS PERMISSIONS OFFSET DEVICE INODE PATH" (proc_pid_maps(5)). The threads of a process have them in common, but
 * one that has ended has none. */
static char *held_map(pid_t task, const struct taken *taken, bool *seen) {
	CLEANUP_FREE char *path = string_format("/proc/%d/maps", task), *text = NULL;
	const char *last = "";
	size_t size = 0;
	if (*seen || regular_read(path, HOLDERS_MAPS_MAX, &text, &size, NULL) < 0) return NULL;
	*seen = size > 0;
	if (size >= HOLDERS_MAPS_MAX) return string_copy("more maps than are looked at");
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
		char *field = line, *name;
		for (int i = 0; i < 4; i++) field = next_word(field);
		const uint64_t inode = strtoull(field, &name, 10);
		name += strspn(name, " ");
		if (inode == 0 || string_equal(name, last)) continue;
		last = name;
		char *whole = is_covered(taken, last) ? string_copy(last) : whole_path(taken, last, inode);
		if (whole) return whole;
	}
	return NULL;
}

static bool same_descriptors(pid_t a, pid_t b) {
	return syscall(SYS_kcmp, a, b, KCMP_FILES, 0UL, 0UL) == 0;
}

/* Each thread may have descriptors and folders of its own (unshare(2)), and the first one may have ended. */
static char *what_it_holds(pid_t pid, const struct taken *taken) {
	CLEANUP_FREE char *tasks = string_format("/proc/%d/task", pid);
	DIR *stream = mem_expect(opendir(tasks));
	char *path = NULL;
	int left = LIMIT_HOLDER_FILES;
	bool maps_seen = false;
	pid_t before = 0;
	for (struct dirent *entry; stream && !path && (entry = readdir(stream));) {
		const pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
		if (task <= 0) continue;
		if (before == 0 || !same_descriptors(task, before)) path = held_descriptor(task, taken, &left);
		if (!path) path = held_folder(task, "cwd", taken);
		if (!path) path = held_folder(task, "root", taken);
		if (!path) path = held_map(task, taken, &maps_seen);
		before = task;
	}
	if (stream) closedir(stream);
	return path;
}

/* Of a pid namespace; false when it is gone or another user's. */
static bool namespace_of(pid_t pid, struct stat *ret_status) {
	CLEANUP_FREE char *path = string_format("/proc/%d/ns/pid", pid);
	return stat(path, ret_status) == 0;
}

static bool is_inside(pid_t pid, const struct stat *inside) {
	struct stat own;
	return namespace_of(pid, &own) && own.st_dev == inside->st_dev && own.st_ino == inside->st_ino;
}

struct pids {
	pid_t *items;
	size_t count;
};

static void add_children(pid_t pid, struct pids *pids) {
	CLEANUP_FREE char *tasks = string_format("/proc/%d/task", pid);
	DIR *stream = mem_expect(opendir(tasks));
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		CLEANUP_FREE char *path = string_format("%s/%s/children", tasks, entry->d_name), *text = NULL;
		if (entry->d_name[0] == '.' || regular_read(path, HOLDERS_CHILDREN_MAX, &text, NULL, NULL) < 0)
			continue;
		for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest)) && pids->count < LIMIT_HOLDERS;) {
			pids->items = array_grow(pids->items, pids->count, sizeof *pids->items);
			pids->items[pids->count++] = (pid_t)strtol(word, NULL, 10);
		}
	}
	if (stream) closedir(stream);
}

/* All of a pid namespace descend from its first process, which inherits who lost their parents. */
size_t sandbox_processes(pid_t init, pid_t **ret_pids) {
	struct stat inside;
	struct pids pids = {0};
	size_t count = 0;
	if (namespace_of(init, &inside)) add_children(init, &pids);
	for (size_t i = 0; i < pids.count; i++) {
		add_children(pids.items[i], &pids);
		if (is_inside(pids.items[i], &inside)) pids.items[count++] = pids.items[i];
	}
	*ret_pids = pids.items;
	return count;
}

/* `each` is called of all that were there, its path NULL when it holds nothing. False: there may be more than were
 * looked at. */
static bool each_holder(pid_t init, const struct taken *taken,
			void (*each)(void *argument, pid_t pid, const struct stat *inside, char *path),
			void *argument) {
	struct stat inside;
	struct pids pids = {0};
	if (taken->mount_count + taken->covered.count == 0 || !namespace_of(init, &inside)) return true;
	add_children(init, &pids);
	for (size_t i = 0; i < pids.count; i++) {
		add_children(pids.items[i], &pids);
		char *path = is_inside(pids.items[i], &inside) ? what_it_holds(pids.items[i], taken) : NULL;
		each(argument, pids.items[i], &inside, path);
	}
	free(pids.items);
	return pids.count < LIMIT_HOLDERS;
}

static void add_holder(void *argument, pid_t pid, const struct stat *inside, char *path) {
	struct holders *holders = argument;
	(void)inside;
	if (!path) return;
	if (holders->all++ >= LIMIT_HOLDERS_TOLD) {
		free(path);
		return;
	}
	holders->items = array_grow(holders->items, holders->count, sizeof *holders->items);
	holders->items[holders->count++] = (struct holder){.pid = pid, .command = process_name(pid), .path = path};
}

void holders_find(pid_t init, const struct taken *taken, struct holders *ret_holders) {
	*ret_holders = (struct holders){0};
	each_holder(init, taken, add_holder, ret_holders);
}

void holders_finish(struct holders *holders) {
	for (size_t i = 0; i < holders->count; i++) {
		free(holders->items[i].command);
		free(holders->items[i].path);
	}
	free(holders->items);
	*holders = (struct holders){0};
}

/*
 * Who was listed and had ended when it was looked at may have handed on what it held, to a child that isn't listed: a
 * tool can fork faster than it is looked at. So it is done when, in one round, nobody was ended and nobody had; who
 * never comes to rest is ended whole.
 */
struct killing {
	const struct taken *taken;
	pid_t *pids; /* that were ended, or had ended: they may take a moment to be gone */
	size_t count, ended;
};

static bool is_known(const struct killing *killing, pid_t pid) {
	for (size_t i = 0; i < killing->count; i++)
		if (killing->pids[i] == pid) return true;
	return false;
}

static void remember(struct killing *killing, pid_t pid) {
	killing->pids = array_grow(killing->pids, killing->count, sizeof *killing->pids);
	killing->pids[killing->count++] = pid;
}

/* "PID (NAME) STATE …" (proc_pid_stat(5)); a name may have parentheses. */
static bool has_ended(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/stat", pid), *text = NULL;
	if (regular_read(path, HOLDERS_FDINFO_MAX, &text, NULL, NULL) < 0) return true;
	const char *state = strrchr(text, ')');
	return !state || state[1] != ' ' || state[2] == 'Z' || state[2] == 'X';
}

static void kill_holder(void *argument, pid_t pid, const struct stat *inside, char *path) {
	struct killing *killing = argument;
	CLEANUP_FREE char *held = path;
	if (is_known(killing, pid)) return;
	CLEANUP_FD int process = held ? (int)syscall(SYS_pidfd_open, pid, 0U) : -1;
	CLEANUP_FREE char *still = process >= 0 && is_inside(pid, inside) ? what_it_holds(pid, killing->taken) : NULL;
	if (still && syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0U) == 0)
		killing->ended++;
	else if (!has_ended(pid))
		return;
	remember(killing, pid);
}

size_t holders_kill(pid_t init, const struct taken *taken) {
	struct killing killing = {.taken = taken};
	bool at_rest = false;
	for (int round = 0; round < HOLDERS_ROUNDS && !at_rest; round++) {
		const size_t before = killing.count;
		if (!each_holder(init, taken, kill_holder, &killing)) break; /* past the bound they may hold it, too */
		at_rest = killing.count == before;
	}
	if (!at_rest) kill(init, SIGKILL);
	free(killing.pids);
	return killing.ended;
}
