#include "process.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "regular.h"
#include "schema/limits.h"

#ifndef PIDFD_THREAD /* Linux 6.9 */
#define PIDFD_THREAD O_EXCL
#endif

enum { PROCESS_FILE_MAX = 16 * 1024 };

unsigned long process_number(const char *path, const char *name, int base) {
	CLEANUP_FREE char *text = NULL, *lines = NULL, *key = string_format("\n%s:\t", name);
	if (regular_read(path, PROCESS_FILE_MAX, &text, NULL, NULL) < 0) return 0;
	lines = string_format("\n%s", text);
	const char *found = strstr(lines, key);
	return found ? strtoul(found + strlen(key), NULL, base) : 0;
}

static int open_name(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/comm", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Without the newline that the kernel ends it with; NULL when it is gone. One read gives all of it. */
static char *read_name(int fd) {
	char name[LIMIT_PROCESS];
	ssize_t size = fd < 0 ? -1 : pread(fd, name, sizeof name, 0);
	if (size < 0) return NULL;
	if (size > 0 && name[size - 1] == '\n') size--;
	return string_copy_bytes(name, (size_t)size);
}

static char *name_of(pid_t pid) {
	CLEANUP_FD int fd = open_name(pid);
	return read_name(fd);
}

struct place {
	pid_t process, parent; /* 0: it is gone */
};

/* struct pidfd_info of <linux/pidfd.h>, its first version (PIDFD_INFO_SIZE_VER0; Linux 6.13). */
struct pidfd_info_first {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid;
	uint32_t ids[8], spare;
};
#define PIDFD_GET_INFO_FIRST _IOWR(0xff, 11, struct pidfd_info_first)

static int open_task(pid_t task) {
	return (int)syscall(SYS_pidfd_open, task, PIDFD_THREAD);
}

/* A third of what reading /proc takes. False where the kernel can't say it so. */
static bool place_told(int pidfd, struct place *ret_place) {
	static_assert(sizeof(struct pidfd_info_first) == 64, "PIDFD_INFO_SIZE_VER0");
	struct pidfd_info_first info = {.mask = 0};
	if (pidfd < 0 || ioctl(pidfd, PIDFD_GET_INFO_FIRST, &info) < 0) return false;
	*ret_place = (struct place){.process = (pid_t)info.tgid, .parent = (pid_t)info.ppid};
	return true;
}

static pid_t number_in(const char *status, const char *key) {
	const char *found = strstr(status, key);
	return found ? (pid_t)strtol(found + strlen(key), NULL, 10) : 0;
}

/* By /proc/TASK/status (proc_pid_status(5)). */
static struct place place_read(pid_t task) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", task), *status = NULL;
	if (regular_read(path, PROCESS_FILE_MAX, &status, NULL, NULL) < 0) return (struct place){0};
	return (struct place){.process = number_in(status, "\nTgid:\t"), .parent = number_in(status, "\nPPid:\t")};
}

/* A line of numbers, the last of which is that of the innermost namespace (proc_pid_status(5)). */
static pid_t last_number_in(const char *status, const char *key) {
	const char *found = strstr(status, key);
	if (!found) return 0;
	found += strlen(key);
	const char *end = found + strcspn(found, "\n");
	while (end > found && end[-1] != '\t') end--;
	return (pid_t)strtol(end, NULL, 10);
}

bool process_numbers(pid_t task, bool inside, pid_t *ret_process, pid_t *ret_task) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", task), *status = NULL;
	if (regular_read(path, PROCESS_FILE_MAX, &status, NULL, NULL) < 0) return false;
	*ret_process = inside ? last_number_in(status, "\nNStgid:\t") : number_in(status, "\nTgid:\t");
	*ret_task = inside ? last_number_in(status, "\nNSpid:\t") : task;
	return *ret_process > 0 && *ret_task > 0;
}

static struct place place_of(pid_t task) {
	CLEANUP_FD int pidfd = open_task(task);
	struct place place;
	return place_told(pidfd, &place) ? place : place_read(task);
}

char *process_link(pid_t task, const char *name) {
	CLEANUP_FREE char *link = string_format("/proc/%d/%s", task, name);
	char text[PATH_MAX];
	ssize_t size = readlink(link, text, sizeof text);
	return string_copy_bytes(text, size > 0 ? (size_t)size : 0);
}

/* Of the task's own line, behind its name, which may have any bytes: the fields from `first` to `last`, which are in
 * ticks (proc_pid_stat(5)), together. /proc/TASK/stat would be all threads'. */
static int64_t ticks_ms(pid_t task, int first, int last) {
	enum { NAME = 2 };
	CLEANUP_FREE char *path = string_format("/proc/%d/task/%d/stat", task, task), *text = NULL;
	int64_t ticks = 0;
	if (regular_read(path, PROCESS_FILE_MAX, &text, NULL, NULL) < 0) return -1;
	char *at = strrchr(text, ')');
	for (int field = NAME; at && field <= last; field++) {
		if (field >= first) ticks += strtoll(at, NULL, 10);
		at = strchr(at + 1, ' ');
	}
	return at ? ticks * 1000 / sysconf(_SC_CLK_TCK) : -1;
}

int64_t process_start_ms(pid_t task) {
	enum { START = 22 };
	return ticks_ms(task, START, START);
}

int64_t process_ran_ms(pid_t task) {
	enum { USER = 14, SYSTEM = 15 };
	return ticks_ms(task, USER, SYSTEM);
}

static bool namespace_of(pid_t pid, struct stat *ret_status) {
	CLEANUP_FREE char *path = string_format("/proc/%d/ns/pid", pid);
	return stat(path, ret_status) == 0;
}

/* A chain of parents can't be longer than a sandbox has processes, so the caller loses nothing by this bound. */
static bool descends_from(pid_t pid, pid_t init) {
	for (int i = 0; i < LIMIT_PROCESSES && pid > 1; i++) {
		pid = place_of(pid).parent;
		if (pid == init) return true;
	}
	return false;
}

/* The namespace of one whose program can't be read is nobody's to see (ptrace(2), "Ptrace access mode checking"), its
 * parents are. */
bool process_is_in(pid_t pid, pid_t init) {
	struct stat own, inside;
	if (!namespace_of(pid, &own)) return kill(pid, 0) == 0 && descends_from(pid, init);
	return namespace_of(init, &inside) && own.st_dev == inside.st_dev && own.st_ino == inside.st_ino;
}

char *process_name(pid_t pid) {
	char *name = name_of(pid);
	return name ? name : string_copy("?");
}

/* Those who are kept */

enum { PROCESSES_KEPT = 8 };

/* Its descriptors are that task's and its process's for good: once they are gone they say so, whoever has the numbers
 * then (pidfd_open(2)). */
struct known {
	pid_t task; /* 0: nobody */
	int pidfd, name;
};

struct processes {
	struct known known[PROCESSES_KEPT];
	size_t next; /* to make room for another */
};

struct processes *processes_new(void) {
	return mem_new(struct processes);
}

static void known_forget(struct known *known) {
	if (known->task == 0) return;
	fd_close(known->pidfd);
	fd_close(known->name);
	*known = (struct known){.task = 0};
}

void processes_free(struct processes *processes) {
	if (!processes) return;
	for (size_t i = 0; i < PROCESSES_KEPT; i++) known_forget(&processes->known[i]);
	free(processes);
}

static struct known *known_find(struct processes *processes, pid_t task) {
	for (size_t i = 0; i < PROCESSES_KEPT && task > 0; i++)
		if (processes->known[i].task == task) return &processes->known[i];
	return NULL;
}

static bool known_look(const struct known *known, struct place *ret_place, char **ret_name) {
	return place_told(known->pidfd, ret_place) && (*ret_name = read_name(known->name));
}

/* False where there is nothing to keep. */
static bool known_add(struct processes *processes, pid_t task, struct place *ret_place, char **ret_name) {
	CLEANUP_FD int pidfd = open_task(task);
	if (!place_told(pidfd, ret_place)) return false;
	CLEANUP_FD int name = open_name(ret_place->process);
	if (!(*ret_name = read_name(name))) return false;
	struct known *known = &processes->known[processes->next];
	processes->next = (processes->next + 1) % PROCESSES_KEPT;
	known_forget(known);
	*known = (struct known){.task = task, .pidfd = fd_steal(&pidfd), .name = fd_steal(&name)};
	return true;
}

/* Where it stands, and what its process calls itself; freed by the caller, NULL: it is gone. */
static struct place look(struct processes *processes, pid_t task, char **ret_name) {
	struct known *known = processes ? known_find(processes, task) : NULL;
	struct place place;
	if (known && known_look(known, &place, ret_name)) return place;
	if (known) known_forget(known);
	if (processes && known_add(processes, task, &place, ret_name)) return place;
	place = place_of(task);
	*ret_name = place.process > 0 ? name_of(place.process) : NULL;
	return place;
}

void process_describe(struct processes *processes, pid_t thread, pid_t init, char **ret_process,
		      struct strings *ret_parents) {
	CLEANUP_FREE char *own = NULL;
	struct place place = look(processes, thread, &own);
	*ret_process = own ? string_format("%s (%d)", own, place.process) : NULL;
	*ret_parents = (struct strings){0};
	while (place.parent > 1 && place.parent != init && ret_parents->count < LIMIT_PARENTS) {
		char *name;
		place = look(processes, place.parent, &name);
		if (!name) return;
		strings_take(ret_parents, name);
	}
}
