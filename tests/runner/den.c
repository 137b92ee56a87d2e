#include "den.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/string.h"
#include "support/cmocka.h"
#include "support/held_calls.h"
#include "support/passing.h"
#include "support/patience.h"

#ifndef SO_NETNS_COOKIE /* Linux 5.14 */
#define SO_NETNS_COOKIE 71
#endif

enum { DEN_SAY = 3 }; /* the tool's descriptor to speak to */

void den_make(struct den *den) {
	char name[] = "/tmp/sbx-den.XXXXXX";
	assert_non_null(mkdtemp(name));
	*den = (struct den){.top = realpath(name, NULL), .base = loop_new(), .listener = -1, .said = -1};
	CLEANUP_FREE char *shown = path_join(den->top, "shown"), *hidden = path_join(den->top, "hidden");
	assert_int_equal(mkdir(shown, 0700) | mkdir(hidden, 0700), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status, (void)type, (void)place;
	return remove(path);
}

void den_remove(struct den *den) {
	nftw(den->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	event_base_free(den->base);
	free(den->top);
}

/* Inside */

void den_write(const char *line) {
	if (write(DEN_SAY, line, strlen(line)) < 0 || write(DEN_SAY, "\n", 1) < 0) _exit(98);
}

void den_say(const char *what, long result) {
	char line[200];
	snprintf(line, sizeof line, "%s: %s", what, result >= 0 ? "worked" : strerrorname_np(errno));
	den_write(line);
}

static void put(const char *path, const char *text) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) _exit(97);
	close(fd);
}

static void enter(const char *top) {
	char map[64], hidden[300];
	const unsigned uid = getuid(), gid = getgid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) < 0) _exit(96);
	put("/proc/self/setgroups", "deny");
	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	put("/proc/self/uid_map", map);
	snprintf(map, sizeof map, "%u %u 1", gid, gid);
	put("/proc/self/gid_map", map);
	snprintf(hidden, sizeof hidden, "%s/hidden", top);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("none", hidden, "tmpfs", 0, NULL) < 0)
		_exit(95);
}

static _Noreturn void be_tool(const char *top, int line, int says, void (*tool)(const char *top)) {
	char byte;
	/* free before the filter: our own talk is by sendmsg(2) */
	int fds[2] = {socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG),
		      held_calls_filter()};
	if (fds[0] < 0 || fds[1] < 0 || passing_send(line, "x", 1, fds, 2) < 0) _exit(93);
	close(fds[0]);
	close(fds[1]);
	if (read(line, &byte, 1) != 1) _exit(92);
	close(line);
	if (says != DEN_SAY) dup2(says, DEN_SAY);
	for (int fd = DEN_SAY + 1; fd < 64; fd++) close(fd);
	tool(top);
	_exit(0);
}

/* Process 1: waits for the tool, then ends, and all with it. */
static _Noreturn void be_init(const char *top, int line, int says, void (*tool)(const char *top)) {
	pid_t child = fork();
	if (child == 0) be_tool(top, line, says, tool);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
	}
	_exit(0);
}

/* Outside */

static void on_held(evutil_socket_t fd, short what, void *argument) {
	struct den *den = argument;
	struct seccomp_notif received = {0};
	enum socket_call_kind kind;
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	(void)what;
	if (poll(&polled, 1, 0) < 1) return;
	if (!(polled.revents & POLLIN)) {
		event_del(den->held);
		return;
	}
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &received) < 0) return;
	uint64_t arguments[CALL_ARGUMENTS];
	memcpy(arguments, received.data.args, sizeof arguments);
	assert_true(socket_call_kind(received.data.nr, &kind));
	den->taken++;
	struct socket_taken taken;
	assert_true(socket_take(&den->caller, kind, (pid_t)received.pid, arguments, &taken));
	socket_calls_add(den->calls, received.id, &taken);
}

static void on_heard(evutil_socket_t fd, short what, void *argument) {
	struct den *den = argument;
	(void)what;
	ssize_t size = read(fd, den->output + den->output_size, sizeof den->output - 1 - den->output_size);
	if (size > 0) den->output_size += (size_t)size;
	den->output[den->output_size] = '\0';
	if (size > 0) return;
	den->ended = true;
	event_base_loopbreak(den->base);
}

static pid_t child_of(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/task/%d/children", pid, pid);
	char text[64] = "";
	FILE *file = fopen(path, "re");
	if (file && !fgets(text, sizeof text, file)) text[0] = '\0';
	if (file) fclose(file);
	return (pid_t)strtol(text, NULL, 10);
}

/* Any socket of its network says which one it is. */
static uint64_t cookie_of(int socket) {
	uint64_t cookie = 0;
	socklen_t size = sizeof cookie;
	assert_int_equal(getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size), 0);
	return cookie;
}

void den_start(struct den *den, void (*tool)(const char *top)) {
	int line[2], says[2], fds[PASSING_MAX];
	size_t count = 0;
	char byte;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line), 0);
	assert_int_equal(pipe2(says, O_CLOEXEC), 0);
	den->outer = fork();
	if (den->outer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		enter(den->top);
		pid_t init = fork();
		if (init == 0) be_init(den->top, line[1], says[1], tool);
		close(line[1]);
		close(says[1]);
		waitpid(init, NULL, 0);
		_exit(0);
	}
	fd_close(line[1]);
	fd_close(says[1]);
	assert_int_equal(passing_receive(line[0], &byte, 1, fds, &count), 1);
	assert_int_equal(count, 2);
	den->listener = fds[1];
	den->said = says[0];
	den->ended = false;
	den->taken = den->output_size = 0;
	den->output[0] = '\0';
	wait_until((den->init = child_of(den->outer)) > 0);
	const struct socket_calls_options options = {.base = den->base,
						     .listener = den->listener,
						     .cookie = cookie_of(fds[0]),
						     .handle = den->handle,
						     .context = den};
	den->calls = socket_calls_new(&options);
	assert_int_equal(diag_new(fds[0], -1, &den->diag, NULL), 0);
	den->held = event_new(den->base, den->listener, EV_READ | EV_PERSIST, on_held, den);
	den->heard = event_new(den->base, den->said, EV_READ | EV_PERSIST, on_heard, den);
	event_add(den->held, NULL);
	event_add(den->heard, NULL);
	assert_int_equal(write(line[0], "x", 1), 1);
	fd_close(line[0]);
}

static void on_timeout(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what;
	fail_msg("the tool doesn't end; it said '%s'", ((struct den *)argument)->output);
}

void den_run(struct den *den) {
	const struct timeval limit = {.tv_sec = PATIENCE_MS / 1000};
	struct event *timeout = evtimer_new(den->base, on_timeout, den);
	evtimer_add(timeout, &limit);
	if (!den->ended) event_base_dispatch(den->base);
	event_free(timeout);
}

void den_end(struct den *den) {
	socket_calls_free(den->calls);
	socket_caller_finish(&den->caller);
	diag_free(den->diag);
	event_free(den->held);
	event_free(den->heard);
	fd_close(den->listener);
	fd_close(den->said);
	kill(den->outer, SIGKILL);
	kill(den->init, SIGKILL);
	while (waitpid(den->outer, NULL, 0) < 0 && errno == EINTR) {
	}
}
