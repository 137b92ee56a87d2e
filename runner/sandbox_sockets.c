/*
 * Theory of operation. /proc/TASK/fd tells the inode of a socket (proc_pid_fd(5)), and /proc/TASK/fdinfo of an epoll
 * instance the inodes of what is registered there (proc_pid_fdinfo(5), "tfd" lines). Threads share their descriptors
 * as a rule, which kcmp(2) says; where it can't be asked each is looked at.
 */
#include "sandbox_sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/string.h"
#include "holders.h"
#include "regular.h"
#include "schema/limits.h"

#ifndef PIDFD_THREAD /* Linux 6.9 */
#define PIDFD_THREAD O_EXCL
#endif

enum { LINK_MAX_SIZE = 64, EPOLL_INFO_MAX = 1024 * 1024 };

int sandbox_socket_know(int fd, struct sandbox_socket *ret_socket) {
	struct stat status;
	struct sandbox_socket known = {0};
	socklen_t size = sizeof known.cookie;
	if (fstat(fd, &status) < 0 || getsockopt(fd, SOL_SOCKET, SO_COOKIE, &known.cookie, &size) < 0) return -errno;
	known.inode = status.st_ino;
	*ret_socket = known;
	return 0;
}

/* `each` is called of each descriptor of each thread that has its own, until it says no more. */
struct looking {
	bool (*each)(struct looking *looking, pid_t task, const char *number, const char *link);
	bool together; /* `left` is for all processes, not for each */
	int left;      /* descriptors that are looked at */
	bool not_all;  /* there are more, or more processes */
	const struct sandbox_socket *sockets;
	size_t count;
	/* sandbox_socket_is_sole */
	pid_t thread;
	int number;
	/* sandbox_sockets_shut */
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
		ssize_t size = readlinkat(dirfd(stream), entry->d_name, link, sizeof link - 1);
		if (size < 0) continue;
		link[size] = '\0';
		if (--looking->left < 0) {
			looking->not_all = true;
			goes_on = !looking->together;
			break;
		}
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
	if (!looking->together) looking->left = LIMIT_HOLDER_FILES;
	for (struct dirent *entry; stream && goes_on && (entry = readdir(stream));) {
		const pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
		if (task <= 0 || (before > 0 && same_descriptors(task, before))) continue;
		goes_on = look_in_task(looking, task);
		before = task;
	}
	if (stream) closedir(stream);
	return goes_on;
}

/* False: `each` said so. */
static bool look(struct looking *looking, pid_t init) {
	CLEANUP_FREE pid_t *pids = NULL;
	const size_t count = sandbox_processes(init, &pids);
	bool goes_on = true;
	looking->not_all = count >= LIMIT_HOLDERS;
	for (size_t i = 0; i < count && goes_on; i++) goes_on = look_in_process(looking, pids[i]);
	return goes_on;
}

/* The index of what a link leads to; `count`: none of those that are looked for. */
static size_t index_of(const struct looking *looking, const char *link) {
	static const char prefix[] = "socket:[";
	size_t i = 0;
	if (!string_starts(link, prefix)) return looking->count;
	const ino_t inode = strtoull(link + strlen(prefix), NULL, 10);
	while (i < looking->count && looking->sockets[i].inode != inode) i++;
	return i;
}

/* Is it the only one? */

static bool is_registered(pid_t task, const char *number, ino_t inode) {
	CLEANUP_FREE char *path = string_format("/proc/%d/fdinfo/%s", task, number), *text = NULL;
	CLEANUP_FREE char *wanted = string_format(" ino:%llx ", (unsigned long long)inode);
	size_t size = 0;
	if (regular_read(path, EPOLL_INFO_MAX, &text, &size, NULL) < 0) return true;
	return size >= EPOLL_INFO_MAX || strstr(text, wanted);
}

static bool each_other(struct looking *looking, pid_t task, const char *number, const char *link) {
	if (string_equal(link, "anon_inode:[eventpoll]")) return !is_registered(task, number, looking->sockets->inode);
	if (index_of(looking, link) == looking->count) return true;
	return strtol(number, NULL, 10) == looking->number &&
	       (task == looking->thread || same_descriptors(task, looking->thread));
}

bool sandbox_socket_is_sole(pid_t init, pid_t thread, int number, const struct sandbox_socket *socket) {
	struct looking looking = {.each = each_other,
				  .together = true,
				  .left = LIMIT_DIRECT_FILES,
				  .sockets = socket,
				  .count = 1,
				  .thread = thread,
				  .number = number};
	return look(&looking, init) && !looking.not_all;
}

/* Shutting down */

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
