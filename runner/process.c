#include "process.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
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

/* Without the newline that the kernel ends it with; NULL when it is gone. One read gives all of it. */
static char *name_of(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/comm", pid);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	char name[LIMIT_PROCESS];
	ssize_t size = fd < 0 ? -1 : read(fd, name, sizeof name);
	if (size < 0) return NULL;
	if (size > 0 && name[size - 1] == '\n') size--;
	return string_copy_bytes(name, (size_t)size);
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

/* A third of what reading /proc takes. False where the kernel can't say it so. */
static bool place_told(pid_t task, struct place *ret_place) {
	static_assert(sizeof(struct pidfd_info_first) == 64, "PIDFD_INFO_SIZE_VER0");
	struct pidfd_info_first info = {.mask = 0};
	CLEANUP_FD int fd = (int)syscall(SYS_pidfd_open, task, PIDFD_THREAD);
	if (fd < 0 || ioctl(fd, PIDFD_GET_INFO_FIRST, &info) < 0) return false;
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

static struct place place_of(pid_t task) {
	struct place place;
	return place_told(task, &place) ? place : place_read(task);
}

char *process_link(pid_t task, const char *name) {
	CLEANUP_FREE char *link = string_format("/proc/%d/%s", task, name);
	char text[PATH_MAX];
	ssize_t size = readlink(link, text, sizeof text);
	return string_copy_bytes(text, size > 0 ? (size_t)size : 0);
}

static bool namespace_of(pid_t pid, struct stat *ret_status) {
	CLEANUP_FREE char *path = string_format("/proc/%d/ns/pid", pid);
	return pid > 0 && stat(path, ret_status) == 0;
}

bool process_is_in(pid_t pid, pid_t init) {
	struct stat own, inside;
	return namespace_of(pid, &own) && namespace_of(init, &inside) && own.st_dev == inside.st_dev &&
	       own.st_ino == inside.st_ino;
}

char *process_name(pid_t pid) {
	char *name = name_of(pid);
	return name ? name : string_copy("?");
}

void process_describe(pid_t thread, pid_t init, char **ret_process, struct strings *ret_parents) {
	struct place place = place_of(thread);
	CLEANUP_FREE char *own = place.process > 0 ? name_of(place.process) : NULL;
	*ret_process = own ? string_format("%s (%d)", own, place.process) : NULL;
	*ret_parents = (struct strings){0};
	while (place.parent > 1 && place.parent != init && ret_parents->count < LIMIT_PARENTS) {
		char *name = name_of(place.parent);
		if (!name) return;
		strings_take(ret_parents, name);
		place = place_of(place.parent);
	}
}
