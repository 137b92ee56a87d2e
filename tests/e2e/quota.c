/*
 * quota: takes all that it can get of what the kernel counts by user, says how much, and keeps it.
 *
 *     quota NAME…     a line "NAME COUNT ERRNO" for each, then "kept"; until it is ended
 *
 * COUNT is how many were had until the call failed with ERRNO ("full" where as many as it tries were had).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	TAKERS = 8, /* processes that take watches of epoll at once */
	EPOLLS = 2000,
	TARGETS = 2000,
	FOLDERS = 2000,
	PASSED = 253, /* SCM_MAX_FD */
	MEGABYTE = 1 << 20,
	MOST = 1 << 20,
};

static void raise_files(void) {
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* One process's; -errno with what it had in *count. */
static int take_watches(long *count) {
	static int targets[TARGETS];
	struct epoll_event event = {.events = EPOLLIN};
	for (int i = 0; i < TARGETS; i++) targets[i] = eventfd(0, EFD_CLOEXEC);
	for (int e = 0; e < EPOLLS; e++) {
		const int epoll = epoll_create1(EPOLL_CLOEXEC);
		if (epoll < 0) return errno;
		for (int i = 0; i < TARGETS; i++, ++*count)
			if (epoll_ctl(epoll, EPOLL_CTL_ADD, targets[i], &event) < 0) return errno;
	}
	return 0;
}

static long take_epoll(int *code) {
	struct {
		long count;
		int code;
	} had;
	int said[2];
	long all = 0;
	if (pipe(said) < 0) return 0;
	for (int i = 0; i < TAKERS; i++) {
		if (fork() != 0) continue;
		close(said[0]);
		had.count = 0;
		had.code = take_watches(&had.count);
		if (write(said[1], &had, sizeof had) < 0) _exit(1);
		for (;;) pause();
	}
	close(said[1]);
	for (int i = 0; i < TAKERS && read(said[0], &had, sizeof had) == sizeof had; i++) {
		all += had.count;
		*code = had.code;
	}
	close(said[0]);
	return all;
}

static long take_instances(int *code) {
	long count = 0;
	while (count < MOST && inotify_init1(IN_CLOEXEC) >= 0) count++;
	*code = count < MOST ? errno : 0;
	return count;
}

/* The same folders with several instances. */
static long take_inotify(int *code) {
	char name[40];
	long count = 0;
	for (int i = 0; i < FOLDERS; i++) {
		snprintf(name, sizeof name, "/tmp/quota-%d", i);
		if (mkdir(name, 0700) < 0 && errno != EEXIST) break;
	}
	for (int fd; (fd = inotify_init1(IN_CLOEXEC)) >= 0;)
		for (int i = 0; i < FOLDERS; i++, count++) {
			snprintf(name, sizeof name, "/tmp/quota-%d", i);
			if (inotify_add_watch(fd, name, IN_CREATE) >= 0) continue;
			*code = errno;
			return count;
		}
	*code = errno;
	return count;
}

static long take_timers(int *code) {
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	timer_t timer;
	long count = 0;
	while (count < MOST && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) count++;
	*code = count < MOST ? errno : 0;
	return count;
}

static long take_aio(int *code) {
	long count = 0;
	for (aio_context_t context = 0; syscall(SYS_io_setup, 1000, &context) == 0; context = 0) count += 1000;
	*code = errno;
	return count;
}

/* Pages of pipes: until the kernel makes small ones only. */
static long take_pipes(int *code) {
	long count = 0;
	for (int ends[2]; pipe(ends) == 0; count++)
		if (fcntl(ends[0], F_SETPIPE_SZ, MEGABYTE) < 0) break;
	*code = errno;
	for (int ends[2], i = 0; i < TARGETS && pipe(ends) == 0; i++) {
	}
	return count;
}

static long take_queues(int *code) {
	struct mq_attr form = {.mq_maxmsg = 10, .mq_msgsize = 1024};
	char name[40];
	long count = 0;
	for (;; count++) {
		snprintf(name, sizeof name, "/quota-%ld", count);
		if (mq_open(name, O_CREAT | O_RDWR, 0600, &form) < 0) break;
	}
	*code = errno;
	return count;
}

static long take_keys(int *code) {
	char name[40];
	long count = 0;
	for (;; count++) {
		snprintf(name, sizeof name, "quota-%ld", count);
		if (syscall(SYS_add_key, "user", name, "x", 1, -3 /* KEY_SPEC_SESSION_KEYRING */) < 0) break;
	}
	*code = errno;
	return count;
}

/* MiB */
static long take_locked(int *code) {
	long count = 0;
	for (; count < MOST; count++) {
		void *at = mmap(NULL, MEGABYTE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED || mlock(at, MEGABYTE) < 0) break;
	}
	*code = errno;
	return count;
}

static long take_processes(int *code) {
	long count = 0;
	for (pid_t pid; (pid = fork()) != -1; count++)
		if (pid == 0)
			for (;;) pause();
	*code = errno;
	return count;
}

static bool pass(int through, int *ends) {
	union {
		char bytes[CMSG_SPACE(PASSED * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec part = {.iov_base = (char[]){0}, .iov_len = 1};
	const struct msghdr message = {.msg_iov = &part,
				       .msg_iovlen = 1,
				       .msg_control = control.bytes,
				       .msg_controllen = sizeof control.bytes};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(PASSED * sizeof(int));
	for (int i = 0; i < PASSED; i++) memcpy(CMSG_DATA(header) + (size_t)i * sizeof(int), ends, sizeof(int));
	return sendmsg(through, &message, MSG_DONTWAIT) == 1;
}

static long take_flight(int *code) {
	long count = 0;
	for (int pair[2]; socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0;) {
		while (pass(pair[0], pair)) count += PASSED;
		if (errno != EAGAIN) break;
	}
	*code = errno;
	return count;
}

static const struct {
	const char *name;
	long (*take)(int *code);
} quotas[] = {
	{"epoll", take_epoll},   {"instances", take_instances}, {"inotify", take_inotify}, {"timers", take_timers},
	{"aio", take_aio},       {"pipes", take_pipes},         {"queues", take_queues},   {"keys", take_keys},
	{"locked", take_locked}, {"processes", take_processes}, {"flight", take_flight},
};

static int take(const char *name) {
	for (size_t i = 0; i < sizeof quotas / sizeof *quotas; i++) {
		if (strcmp(quotas[i].name, name) != 0) continue;
		int code = 0;
		const long count = quotas[i].take(&code);
		printf("%s %ld %s\n", name, count, code ? strerrorname_np(code) : "full");
		fflush(stdout);
		return 0;
	}
	fprintf(stderr, "quota: no quota %s\n", name);
	return 2;
}

int main(int argc, char **argv) {
	raise_files();
	for (int i = 1; i < argc; i++)
		if (take(argv[i]) != 0) return 2;
	puts("kept");
	fflush(stdout);
	for (;;) pause();
}
