/*
 * withdrawn_tool: a tool that uses a granted folder in every way that a grant gives, and makes trouble meanwhile, for
 * tests/fault/withdrawals.py.
 *
 * `withdrawn_tool TIMES FOLDER TROUBLE`: one process for each way (ways[]) tries it without end. TIMES is a file of two
 * 64-bit numbers for each way, shared with the test: CLOCK_MONOTONIC in nanoseconds before the last try that worked
 * began, and after it. TROUBLE is a row of troubles[].
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PAUSE_US = 500, /* between two tries */
	IN_FLIGHT = 4096,
	LOOKERS = 8,               /* processes that keep the curtain busy */
	FORKERS = 2,               /* threads that copy a large memory */
	PIECE = 64 << 20,          /* of a mapping, which is mapped again and again: page tables without memory */
	PIECES = 256,              /* 16 GiB */
	MESSAGE_DESCRIPTORS = 253, /* SCM_MAX_FD, include/net/scm.h */
	MESSAGES_TO_A_SOCKET = 8,  /* below net.unix.max_dgram_qlen */
};

struct times {
	_Atomic int64_t began, ended;
};

static const char *folder;
static int folder_fd;

static int64_t now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool reads(int at, const char *path) {
	char byte;
	int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return false;
	bool read_it = read(fd, &byte, 1) == 1;
	close(fd);
	return read_it;
}

/* What is written is when the try began: a process may be stopped between its open(2) and its write(2), for long. */
static bool writes(int at, const char *path) {
	const int64_t began = now();
	int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) return false;
	bool wrote = write(fd, &began, sizeof began) == sizeof began;
	close(fd);
	return wrote;
}

static const char *below(const char *name, char path[static PATH_MAX]) {
	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

static bool read_by_name(void) {
	char path[PATH_MAX];
	return reads(AT_FDCWD, below("file", path));
}

static bool write_by_name(void) {
	char path[PATH_MAX];
	return writes(AT_FDCWD, below("by-name", path));
}

static bool read_by_working_folder(void) {
	return reads(AT_FDCWD, "file");
}

static bool write_by_working_folder(void) {
	return writes(AT_FDCWD, "by-working-folder");
}

static bool read_by_open_folder(void) {
	return reads(folder_fd, "file");
}

static bool write_by_open_folder(void) {
	return writes(folder_fd, "by-open-folder");
}

static const struct {
	bool (*try)(void);
	bool stays, opens; /* its working folder is the granted one; it holds it open */
} ways[] = {
	{read_by_name, false, false},          {write_by_name, false, false},
	{read_by_working_folder, true, false}, {write_by_working_folder, true, false},
	{read_by_open_folder, false, true},    {write_by_open_folder, false, true},
};
enum { WAYS = sizeof ways / sizeof *ways };

static _Noreturn void fail(const char *what) {
	perror(what);
	_exit(125);
}

static _Noreturn void use(size_t way, struct times *times) {
	if (ways[way].stays && chdir(folder) < 0) fail(folder);
	if (ways[way].opens && (folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) fail(folder);
	for (;;) {
		const int64_t began = now();
		if (ways[way].try()) {
			times[way].began = began;
			times[way].ended = now();
		}
		usleep(PAUSE_US);
	}
}

/* Troubles. Each returns when it is there, and lasts until the sandbox ends. */

static pid_t fork_or_fail(void) {
	pid_t child = fork();
	if (child < 0) fail("fork");
	if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static void no_trouble(void) {
}

static bool send_full_message(int socket, int fd) {
	union {
		char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_DESCRIPTORS)];
		struct cmsghdr aligned;
	} control = {0};
	char byte = 0;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int) * MESSAGE_DESCRIPTORS);
	for (size_t i = 0; i < MESSAGE_DESCRIPTORS; i++) memcpy(CMSG_DATA(header) + i * sizeof fd, &fd, sizeof fd);
	return sendmsg(socket, &message, MSG_DONTWAIT) == 1;
}

/* More descriptors in flight than a process with the usual limit may add one to: too_many_unix_fds of net/core/scm.c
 * compares the user's with the sender's. Other tests of the same user raise theirs. */
static void put_in_flight(void) {
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max < IN_FLIGHT ? limit.rlim_max : IN_FLIGHT;
	setrlimit(RLIMIT_NOFILE, &limit);
	const int null = open("/dev/null", O_RDONLY);
	for (bool sent = true; sent;) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0) return;
		sent = false;
		for (int i = 0; i < MESSAGES_TO_A_SOCKET && send_full_message(pair[0], null); i++) sent = true;
	}
}

/* Names that the curtain is asked for, each a new one. */
static void keep_curtain_busy(void) {
	for (int i = 0; i < LOOKERS; i++) {
		if (fork_or_fail() != 0) continue;
		for (unsigned count = 0;; count++) {
			char path[PATH_MAX];
			struct stat status;
			snprintf(path, sizeof path, "%s/../asked/%d-%u", folder, i, count);
			stat(path, &status);
		}
	}
}

/* Calls that a doorbell looks at, from processes that come and go. */
static void keep_traps_busy(void) {
	for (int i = 0; i < LOOKERS; i++) {
		if (fork_or_fail() != 0) continue;
		for (;;) {
			mkdir(".envrc/x", 0700);
			if (fork_or_fail() == 0) _exit(0);
			wait(NULL);
		}
	}
}

static void *copy_for_ever(void *unused) {
	for (;;) {
		pid_t child = fork();
		if (child == 0) _exit(0);
		if (child > 0) waitpid(child, NULL, 0);
	}
	return unused;
}

static void *call_for_ever(void *unused) {
	for (;;) {
		writes(AT_FDCWD, ".envrc");
		usleep(PAUSE_US);
	}
	return unused;
}

/* A private mapping with one page of its own has its page tables copied by fork(2) under the lock of the memory. */
static _Noreturn void copy_memory(void) {
	const int memory = memfd_create("memory", MFD_CLOEXEC);
	pthread_t thread;
	if (memory < 0 || ftruncate(memory, PIECE) < 0) fail("memory");
	for (int i = 0; i < PIECES; i++) {
		char *piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE, memory, 0);
		if (piece == MAP_FAILED) fail("mmap");
		*piece = 1;
		madvise(piece, PIECE, MADV_POPULATE_READ);
	}
	for (int i = 0; i < FORKERS; i++)
		if (pthread_create(&thread, NULL, copy_for_ever, NULL) != 0) fail("a thread");
	call_for_ever(NULL);
	_exit(0);
}

static void fork_memory(void) {
	if (fork_or_fail() == 0) copy_memory();
}

/* Descendants that multiply, as many as the sandbox may have; each uses its own name. */
static void multiply(void) {
	if (fork_or_fail() != 0) return;
	for (;;)
		if (fork() < 0) usleep(PAUSE_US);
}

/* Who writes keeps the mount from being made read-only. */
static void keep_writing(void) {
	char path[PATH_MAX];
	int fd = open(below("kept", path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0) fail(path);
	if (fork_or_fail() != 0) return;
	for (;;) {
		if (pwrite(fd, "x", 1, 0) < 0) _exit(0);
		usleep(PAUSE_US);
	}
}

static const struct {
	const char *name;
	void (*make)(void);
} troubles[] = {
	{"none", no_trouble},    {"flight", put_in_flight}, {"curtain", keep_curtain_busy}, {"traps", keep_traps_busy},
	{"memory", fork_memory}, {"multiply", multiply},    {"writer", keep_writing},
};

static struct times *map_times(const char *path) {
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)(WAYS * sizeof(struct times))) < 0) fail(path);
	void *times = mmap(NULL, WAYS * sizeof(struct times), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (times == MAP_FAILED) fail(path);
	return times;
}

int main(int count, char **words) {
	if (count != 4) return 2;
	struct times *times = map_times(words[1]);
	folder = words[2];
	for (size_t way = 0; way < WAYS; way++)
		if (fork_or_fail() == 0) use(way, times);
	for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
		if (strcmp(troubles[i].name, words[3]) == 0) troubles[i].make();
	puts("up");
	fflush(stdout);
	for (;;) pause();
}
