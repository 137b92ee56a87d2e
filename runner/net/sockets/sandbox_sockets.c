/*
 * Theory of operation. /proc/TASK/fd tells the inode of a socket (proc_pid_fd(5)), and /proc/TASK/fdinfo of an epoll
 * instance the inodes of what is registered there (proc_pid_fdinfo(5), "tfd" lines).
 *
 * Whether a socket is the only one is for the tool's good alone, and a call waits for it: the processes that the
 * sandbox's own /proc lists are looked at, each by its first thread's descriptors. What has to be shut down may be
 * hidden: it is looked for in every thread that has descriptors of its own, which kcmp(2) says.
 */
#include "sandbox_sockets.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"
#include "mounts/holders.h"
#include "schema/limits.h"

#ifndef PIDFD_THREAD /* Linux 6.9 */
#define PIDFD_THREAD O_EXCL
#endif

enum { LINK_MAX_SIZE = 64, EPOLL_INFO_MAX = 256 * 1024 };

int sandbox_socket_know(int fd, struct sandbox_socket *ret_socket) {
	struct stat status;
	struct sandbox_socket known = {0};
	socklen_t size = sizeof known.cookie;
	if (fstat(fd, &status) < 0 || getsockopt(fd, SOL_SOCKET, SO_COOKIE, &known.cookie, &size) < 0) return -errno;
	known.inode = status.st_ino;
	*ret_socket = known;
	return 0;
}

static bool read_link(int folder, const char *name, char link[LINK_MAX_SIZE]) {
	ssize_t size = readlinkat(folder, name, link, LINK_MAX_SIZE - 1);
	if (size < 0) return false;
	link[size] = '\0';
	return true;
}

/* Of the socket that a link leads to, or 0. */
static ino_t inode_of(const char *link) {
	static const char prefix[] = "socket:[";
	return string_starts(link, prefix) ? strtoull(link + strlen(prefix), NULL, 10) : 0;
}

/* Is it the only one? */

struct counting {
	const struct sandbox_socket *socket;
	int number;
	int left;  /* descriptors that are looked at */
	int found; /* the socket */
};

static DIR *open_folder(int at, const char *path) {
	CLEANUP_FD int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : mem_expect(fdopendir(fd));
	if (stream) fd_steal(&fd);
	return stream;
}

static bool is_registered(int proc, const char *pid, const char *number, ino_t inode) {
	CLEANUP_FREE char *path = string_format("%s/fdinfo/%s", pid, number), *text = mem_array(char, EPOLL_INFO_MAX);
	CLEANUP_FREE char *wanted = string_format(" ino:%llx ", (unsigned long long)inode);
	CLEANUP_FD int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t got = fd < 0 ? -1 : 0;
	while (fd >= 0 && size < EPOLL_INFO_MAX - 1 && (got = read(fd, text + size, EPOLL_INFO_MAX - 1 - size)) > 0)
		size += (size_t)got;
	return got != 0 || strstr(text, wanted);
}

/* False: it is not the only one, or it can't be told. */
static bool count_descriptor(struct counting *counting, int proc, const char *pid, int fds, const char *number) {
	char link[LINK_MAX_SIZE];
	if (--counting->left < 0) return false;
	if (!read_link(fds, number, link)) return errno == ENOENT; /* closed meanwhile */
	if (string_equal(link, "anon_inode:[eventpoll]"))
		return !is_registered(proc, pid, number, counting->socket->inode);
	if (inode_of(link) != counting->socket->inode) return true;
	return ++counting->found == 1 && strtol(number, NULL, 10) == counting->number;
}

static bool count_process(struct counting *counting, int proc, const char *pid) {
	CLEANUP_FREE char *path = string_format("%s/fd", pid);
	DIR *stream = open_folder(proc, path);
	bool sole = stream || errno == ENOENT || errno == ESRCH; /* it has ended */
	for (struct dirent *entry; stream && sole && (entry = readdir(stream));)
		if (entry->d_name[0] != '.') sole = count_descriptor(counting, proc, pid, dirfd(stream), entry->d_name);
	if (stream) closedir(stream);
	return sole;
}

/* Process 1 is sbx-init, which has none and can't be looked into. */
static bool is_process(const char *name) {
	return isdigit((unsigned char)name[0]) && !string_equal(name, "1");
}

int sandbox_sockets_proc(pid_t init) {
	CLEANUP_FREE char *path = string_format("/proc/%d/root/proc", init);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs status;
	if (fd < 0 || fstatfs(fd, &status) < 0) return -errno;
	return status.f_type == PROC_SUPER_MAGIC ? fd_steal(&fd) : -ENODEV;
}

bool sandbox_socket_is_sole(int proc, int number, const struct sandbox_socket *socket) {
	struct counting counting = {.socket = socket, .number = number, .left = LIMIT_DIRECT_FILES};
	DIR *stream = open_folder(proc, ".");
	bool sole = stream != NULL;
	for (struct dirent *entry; sole && (entry = readdir(stream));)
		if (is_process(entry->d_name)) sole = count_process(&counting, proc, entry->d_name);
	if (stream) closedir(stream);
	return sole && counting.found == 1;
}

/* Shutting down */

/* Looking through all threads that have descriptors of their own, until `each` says no more. */
struct looking {
	bool (*each)(struct looking *looking, pid_t task, const char *number, const char *link);
	int left; /* descriptors of a process that are looked at */
	const struct sandbox_socket *sockets;
	size_t count;
	bool *found;
	size_t found_count;
};

static bool look_in_task(struct looking *looking, pid_t task) {
	CLEANUP_FREE char *path = string_format("/proc/%d/fd", task);
	DIR *stream = mem_expect(opendir(path));
	bool goes_on = true;
	for (struct dirent *entry; stream && goes_on && (entry = readdir(stream));) {
		char link[LINK_MAX_SIZE];
		if (entry->d_name[0] == '.') continue;
		if (!read_link(dirfd(stream), entry->d_name, link)) continue;
		if (--looking->left < 0) break;
		goes_on = looking->each(looking, task, entry->d_name, link);
	}
	if (stream) closedir(stream);
	return goes_on;
}

static bool same_descriptors(pid_t a, pid_t b) {
	return syscall(SYS_kcmp, a, b, KCMP_FILES, 0UL, 0UL) == 0;
}

static bool look_in_process(struct looking *looking, pid_t pid) {
	CLEANUP_FREE char *tasks = string_format("/proc/%d/task", pid);
	DIR *stream = mem_expect(opendir(tasks));
	bool goes_on = true;
	pid_t before = 0;
	looking->left = LIMIT_HOLDER_FILES;
	for (struct dirent *entry; stream && goes_on && (entry = readdir(stream));) {
		const pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
		if (task <= 0 || (before > 0 && same_descriptors(task, before))) continue;
		goes_on = look_in_task(looking, task);
		before = task;
	}
	if (stream) closedir(stream);
	return goes_on;
}

static void look(struct looking *looking, pid_t init) {
	CLEANUP_FREE pid_t *pids = NULL;
	const size_t count = sandbox_processes(init, &pids);
	bool goes_on = true;
	for (size_t i = 0; i < count && goes_on; i++) goes_on = look_in_process(looking, pids[i]);
}

/* The index of what a link leads to; `count`: none of those that are looked for. */
static size_t index_of(const struct looking *looking, const char *link) {
	const ino_t inode = inode_of(link);
	size_t i = 0;
	while (i < looking->count && looking->sockets[i].inode != inode) i++;
	return i;
}

/* A descriptor of a thread, as one of ours; -1: it is gone. */
static int take(pid_t task, const char *number) {
	CLEANUP_FD int process = (int)syscall(SYS_pidfd_open, task, PIDFD_THREAD);
	if (process < 0) process = (int)syscall(SYS_pidfd_open, task, 0U);
	return process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, (int)strtol(number, NULL, 10), 0U);
}

/* The socket is one, however many have it: it is enough to find one of them. */
static bool each_shut(struct looking *looking, pid_t task, const char *number, const char *link) {
	const size_t i = index_of(looking, link);
	struct sandbox_socket known;
	if (i == looking->count || looking->found[i]) return true;
	CLEANUP_FD int fd = take(task, number);
	if (fd < 0 || sandbox_socket_know(fd, &known) < 0 || known.cookie != looking->sockets[i].cookie) return true;
	shutdown(fd, SHUT_RDWR);
	looking->found[i] = true;
	return ++looking->found_count < looking->count;
}

void sandbox_sockets_shut(pid_t init, const struct sandbox_socket *sockets, size_t count, bool *found) {
	struct looking looking = {.each = each_shut, .sockets = sockets, .count = count, .found = found};
	memset(found, 0, count * sizeof *found);
	if (count > 0) look(&looking, init);
}
