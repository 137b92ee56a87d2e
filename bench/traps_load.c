/*
 * traps_load: what a system call costs under the sandbox's filter, and what one costs that is trapped and goes on.
 *
 *     traps_load [ROUNDS]
 *
 * The real filter and the real traps (runner/), judged by a sight that allows everything; no sandbox around them, so
 * that the bare kernel is the comparison. In each round all sides make the same calls, one after the other. Prints a
 * table of medians, in nanoseconds a call, with the ratio to the bare one. The floor is a trap that lets each call go
 * on without a look.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/string.h"
#include "hold/traps.h"
#include "load.h"
#include "schema/clearance.h"
#include "session/clearance.h"
#include "support/passing.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum { ROUNDS = 9, ROUNDS_MAX = 1000, CALLS = 200 * 1000, TRAPPED_CALLS = 20 * 1000 };

enum side { SIDE_BARE, SIDE_FILTER, SIDE_FLOOR, SIDE_TRAPS, SIDE_TRAPS_WITHOUT_SYNC };
enum { SIDE_COUNT = SIDE_TRAPS_WITHOUT_SYNC + 1 };

static const struct {
	const char *name;
	bool filtered, synchronous;
	unsigned wanted;
} sides[SIDE_COUNT] = {
	[SIDE_BARE] = {.name = "bare"},
	[SIDE_FILTER] = {.name = "filter", .filtered = true},
	[SIDE_FLOOR] = {"floor", true, true, TRAPS_WRITES | TRAPS_PROGRAMS},
	[SIDE_TRAPS] = {"filter with traps", true, true, TRAPS_WRITES | TRAPS_PROGRAMS},
	[SIDE_TRAPS_WITHOUT_SYNC] = {"without synchronous wake-up", true, false, TRAPS_WRITES | TRAPS_PROGRAMS},
};

static int call_getppid(const char *path) {
	(void)path;
	return (int)syscall(SYS_getppid);
}

static int call_stat(const char *path) {
	struct stat status;
	return stat(path, &status);
}

static int call_open_read(const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) close(fd);
	return fd;
}

static int call_open_write(const char *path) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) close(fd);
	return fd;
}

static int call_chmod(const char *path) {
	return chmod(path, 0600);
}

static int call_make(const char *path) {
	char name[64];
	snprintf(name, sizeof name, "%s.new", path);
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) return fd;
	close(fd);
	return unlink(name);
}

static int call_make_or_open(const char *path) {
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0) close(fd);
	return fd;
}

static const struct {
	const char *name;
	int (*make)(const char *path);
	bool trapped;
} calls[] = {
	{"getppid", call_getppid, false},
	{"stat", call_stat, false},
	{"open to read, close", call_open_read, false},
	{"open to write, close", call_open_write, true},
	{"chmod", call_chmod, true},
	{"make or open, close", call_make_or_open, true},
	{"make, close, remove (two calls)", call_make, true},
};
enum { CALL_COUNT = ARRAY_LENGTH(calls) };

static int64_t times[CALL_COUNT][SIDE_COUNT][ROUNDS_MAX]; /* ns a call */

/* In the child */

static int load_filter(const struct sock_fprog *program, bool listen) {
	unsigned long flags = listen ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
}

static _Noreturn void make_calls(enum side side, size_t which, const char *path, const struct sock_fprog *program,
				 int parent) {
	char byte = 0;
	if (sides[side].filtered) {
		int listener = load_filter(program, sides[side].wanted);
		if (listener < 0) _exit(1);
		if (sides[side].wanted && passing_send(parent, &byte, 1, &listener, 1) < 0) _exit(1);
		if (sides[side].wanted) fd_close(listener);
	}
	const int count = calls[which].trapped ? TRAPPED_CALLS : CALLS;
	for (int i = 0; i < 100; i++)
		if (calls[which].make(path) < 0) _exit(1);
	const int64_t begin = load_now_ns();
	for (int i = 0; i < count; i++) calls[which].make(path);
	const int64_t each = (load_now_ns() - begin) / count;
	_exit(send(parent, &each, sizeof each, 0) == sizeof each ? 0 : 1);
}

/* In the parent */

static struct sight allow(void *context, const char *path) {
	(void)context, (void)path;
	return (struct sight){.mode = VIEW_WRITE};
}

static bool plain(void *context, const char *path) {
	(void)context, (void)path;
	return true;
}

static bool never(void *context) {
	(void)context;
	return false;
}

static void at_once(void *context, void (*done)(void *argument), void *argument) {
	(void)context;
	done(argument);
}

/* As sbxd says so to a runner. */
static int follow_file(struct clearance *clearance, struct error *error) {
	static const struct clearance_word given = {.flags = CLEARANCE_GIVEN};
	char name[] = "/tmp/traps_load.XXXXXX";
	struct stat status;
	CLEANUP_FD int fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0 || write(fd, &given, sizeof given) != sizeof given || fstat(fd, &status) < 0)
		return error_errno(error, "making %s", name);
	const int r = clearance_follow(clearance, name, status.st_ino, 0, error);
	unlink(name);
	return r;
}

static void stop(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	event_base_loopbreak(argument);
}

static void let_all_go_on(int listener) {
	struct seccomp_notif received = {0};
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	for (;;) {
		struct pollfd polled = {.fd = listener, .events = POLLIN};
		if (poll(&polled, 1, -1) < 0 || (polled.revents & POLLHUP)) return;
		memset(&received, 0, sizeof received);
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &received) < 0) continue;
		struct seccomp_notif_resp answer = {.id = received.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

/* Until the child has sent its result. */
static int serve(int child, enum side side, struct error *error) {
	char byte;
	int fds[PASSING_MAX];
	size_t count = 0;
	if (passing_receive(child, &byte, 1, fds, &count) != 1 || count != 1)
		return error_set(error, EPIPE, "the filter could not be loaded");
	if (side == SIDE_FLOOR) {
		let_all_go_on(fds[0]);
		fd_close(fds[0]);
		return 0;
	}
	struct event_base *base = loop_new();
	CLEANUP_CLEARANCE struct clearance *clearance = NULL;
	int r = clearance_new(&clearance, error);
	if (r == 0) r = follow_file(clearance, error);
	if (r < 0) return r;
	const struct traps_options options = {.base = base,
					      .listener = fds[0],
					      .wanted = sides[side].wanted,
					      .sight = allow,
					      .clearance = clearance,
					      .behind = never,
					      .carried_out = at_once};
	struct traps *traps;
	r = traps_new(&options, &traps, error);
	if (r < 0) return r;
	traps_see(traps, &(struct traps_view){.seen = allow, .plain = plain});
	if (!sides[side].synchronous) ioctl(fds[0], SECCOMP_IOCTL_NOTIF_SET_FLAGS, 0UL);
	struct event *result = event_new(base, child, EV_READ, stop, base);
	event_add(result, NULL);
	event_base_dispatch(base);
	event_free(result);
	traps_free(traps);
	event_base_free(base);
	return 0;
}

static int measure(enum side side, size_t which, const char *path, int64_t *ret_each, struct error *error) {
	const struct filter *filter = &filters[sides[side].wanted];
	int pair[2], status, r = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return error_errno(error, "socketpair");
	const struct sock_fprog program = {.len = (unsigned short)filter->count,
					   .filter = (struct sock_filter *)filter->steps};
	pid_t pid = fork();
	if (pid == 0) make_calls(side, which, path, &program, pair[1]);
	fd_close(pair[1]);
	if (sides[side].wanted) r = serve(pair[0], side, error);
	if (r == 0 && recv(pair[0], ret_each, sizeof *ret_each, 0) != sizeof *ret_each)
		r = error_set(error, EPIPE, "%s, %s: no result", calls[which].name, sides[side].name);
	fd_close(pair[0]);
	waitpid(pid, &status, 0);
	return r;
}

static void print_table(size_t rounds) {
	int64_t medians[SIDE_COUNT];
	printf("| ns a call |");
	for (size_t side = 0; side < SIDE_COUNT; side++) printf(" %s |", sides[side].name);
	printf("\n|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < CALL_COUNT; i++) {
		for (size_t side = 0; side < SIDE_COUNT; side++) {
			load_sort(times[i][side], rounds);
			medians[side] = times[i][side][rounds / 2];
		}
		printf("| %s%s | %" PRId64 " |", calls[i].name, calls[i].trapped ? " (trapped)" : "",
		       medians[SIDE_BARE]);
		for (size_t side = SIDE_FILTER; side < SIDE_COUNT; side++)
			printf(" %" PRId64 " (%.2f) |", medians[side],
			       (double)medians[side] / (double)medians[SIDE_BARE]);
		printf("\n");
	}
}

static int measure_all(size_t rounds, const char *path, struct error *error) {
	int r = 0;
	for (size_t round = 0; r == 0 && round < rounds; round++)
		for (size_t i = 0; r == 0 && i < CALL_COUNT; i++)
			for (size_t side = 0; r == 0 && side < SIDE_COUNT; side++)
				r = measure((enum side)side, i, path, &times[i][side][round], error);
	return r;
}

int main(int argc, char **argv) {
	struct error error = ERROR_NONE;
	unsigned long long rounds = ROUNDS;
	char path[] = "/tmp/sbx-traps.XXXXXX";
	if (argc > 1 && (string_to_u64(argv[1], &rounds) < 0 || rounds < 1 || rounds > ROUNDS_MAX)) return 2;
	CLEANUP_FD int fd = mkstemp(path);
	if (fd < 0) return 1;
	int r = measure_all((size_t)rounds, path, &error);
	unlink(path);
	if (r < 0) {
		log_error("%s", error.message);
		return 1;
	}
	print_table((size_t)rounds);
	return 0;
}
