/* A number that was given to another process (attack B1), truly: in a PID namespace of the test's own, where root may
 * choose the next one (clone3(2), set_tid). */
#include <assert.h>
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "schema/channel.h"
#include "schema/message.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/passing.h"

/* What an impostor found: its exit status. */
enum { SERVED = 10, CLOSED, NO_CONNECTION, NO_USER };

static_assert(PROTOCOL_VERSION == 7, "hello says so");
static const char hello[] = "{\"type\":\"hello\",\"id\":1,\"protocol\":7,\"version\":\"x\"}";

static int connect_to_broker(void) {
	CLEANUP_FREE char *path = NULL;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (channel_socket_path(&path, NULL) < 0 || strlen(path) >= sizeof address.sun_path) return -1;
	memcpy(address.sun_path, path, strlen(path));
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static int speak(int fd) {
	char reply[4096];
	if (send(fd, hello, sizeof hello - 1, MSG_NOSIGNAL) < 0) return CLOSED;
	return recv(fd, reply, sizeof reply, 0) > 0 ? SERVED : CLOSED;
}

static int status_of(pid_t child) {
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR) return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Impostors, made by a child that stays root */

struct order {
	pid_t pid;
	uid_t user;
	gid_t group;
	bool own;          /* it connects itself */
	char runtime[128]; /* $XDG_RUNTIME_DIR, which is the test's own */
};

static int maker_end = -1;

/* A user like the broker's own, in its namespaces, whom it would serve. */
_Noreturn static void be_impostor(const struct order *order, int end, int fd) {
	if (setresgid(order->group, order->group, order->group) < 0 ||
	    setresuid(order->user, order->user, order->user) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ||
	    getpid() != order->pid || setenv("XDG_RUNTIME_DIR", order->runtime, 1) < 0 || send(end, "ready", 5, 0) < 0)
		_exit(NO_USER);
	int own = order->own ? connect_to_broker() : fd;
	_exit(own < 0 ? NO_CONNECTION : speak(own));
}

static void make_impostor(int end, const struct order *order, int fd) {
	pid_t number = order->pid;
	struct clone_args arguments = {
		.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&number, .set_tid_size = 1};
	pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
	if (child == 0) be_impostor(order, end, fd);
	int status = child < 0 ? -errno : status_of(child);
	send(end, &status, sizeof status, 0);
}

static void keep_a_maker(void) {
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return;
	pid_t child = fork();
	if (child == 0) {
		struct order order;
		int fds[PASSING_MAX];
		size_t count;
		fd_close(ends[0]);
		while (passing_receive(ends[1], &order, sizeof order, fds, &count) == sizeof order && count == 1) {
			make_impostor(ends[1], &order, fds[0]);
			fd_close(fds[0]);
		}
		_exit(0);
	}
	fd_close(ends[1]);
	maker_end = ends[0];
}

/* Returns when it has its number and its user, and has not yet said a word that the stopped broker hears. */
static void order_impostor(pid_t pid, int fd, bool own) {
	struct order order = {.pid = pid, .user = getuid(), .group = getgid(), .own = own};
	snprintf(order.runtime, sizeof order.runtime, "%s", getenv("XDG_RUNTIME_DIR"));
	char ready[16];
	assert_int_equal(passing_send(maker_end, &order, sizeof order, &fd, 1), 0);
	assert_int_equal(recv(maker_end, ready, sizeof ready, 0), 5);
}

static int impostor_status(void) {
	int status;
	assert_int_equal(recv(maker_end, &status, sizeof status, 0), (ssize_t)sizeof status);
	return status;
}

/* Somebody connects (and is served, if it says something), leaves the connection to us and is gone, and its number is
 * free. */
static pid_t connect_and_vanish(bool speaks, int *ret_fd) {
	int ends[2], fds[PASSING_MAX];
	size_t count;
	char byte;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid_t child = fork();
	if (child == 0) {
		int fd = connect_to_broker();
		if (fd >= 0 && speaks && speak(fd) != SERVED) _exit(CLOSED);
		_exit(fd >= 0 && passing_send(ends[1], "x", 1, &fd, 1) == 0 ? SERVED : NO_CONNECTION);
	}
	assert_int_equal(status_of(child), SERVED);
	assert_int_equal(passing_receive(ends[0], &byte, 1, fds, &count), 1);
	assert_int_equal(count, 1);
	fd_close(ends[0]);
	fd_close(ends[1]);
	*ret_fd = fds[0];
	return child;
}

static bool kernel_knows_peers(void) {
	int ends[2], fd = -1;
	socklen_t size = sizeof fd;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	bool known = getsockopt(ends[0], SOL_SOCKET, 77 /* SO_PEERPIDFD, Linux 6.5 */, &fd, &size) == 0;
	fd_close(fd);
	fd_close(ends[0]);
	fd_close(ends[1]);
	return known;
}

static void attack_broker_1_who_has_the_number_of_one_that_is_gone_is_not_that_one(void **state) {
	(void)state;
	if (maker_end < 0) skip(); /* not started as root */
	if (!kernel_knows_peers()) skip();
	pid_t broker = broker_pid();
	int fd;
	/* The broker doesn't look while one goes and another comes. */
	assert_int_equal(kill(broker, SIGSTOP), 0);
	pid_t number = connect_and_vanish(false, &fd);
	order_impostor(number, fd, false);
	assert_int_equal(kill(broker, SIGCONT), 0);
	assert_int_equal(impostor_status(), CLOSED);
	fd_close(fd);
}

/* The same with a connection that was let in before. */
static void attack_broker_1_a_connection_ends_with_who_made_it(void **state) {
	(void)state;
	if (maker_end < 0) skip();
	int fd;
	pid_t broker = broker_pid();
	pid_t number = connect_and_vanish(true, &fd);
	assert_int_equal(kill(broker, SIGSTOP), 0);
	order_impostor(number, fd, false);
	assert_int_equal(kill(broker, SIGCONT), 0);
	assert_int_equal(impostor_status(), CLOSED);
	fd_close(fd);
}

/* For its number alone: with a connection of its own the same process is served. */
static void an_impostor_is_served_as_itself(void **state) {
	(void)state;
	if (maker_end < 0) skip();
	int fd;
	pid_t number = connect_and_vanish(false, &fd);
	order_impostor(number, fd, true);
	assert_int_equal(impostor_status(), SERVED);
	fd_close(fd);
}

static int setup(void **state) {
	(void)state;
	return broker_start(NULL);
}

static int run_all(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_broker_1_who_has_the_number_of_one_that_is_gone_is_not_that_one),
		cmocka_unit_test(attack_broker_1_a_connection_ends_with_who_made_it),
		cmocka_unit_test(an_impostor_is_served_as_itself),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, setup, broker_teardown);
	home_remove();
	return failed;
}

int main(void) {
	if (geteuid() != 0) {
		puts("SKIPPED: only root may choose a process's number");
		return run_all();
	}
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0) {
		perror("SKIPPED: no PID namespace of the test's own");
		return run_all();
	}
	/* Its first process, with whose end all others end. */
	pid_t child = fork();
	if (child != 0) return child < 0 ? 1 : status_of(child);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("proc", "/proc", "proc", 0, NULL) < 0) {
		perror("/proc");
		return 1;
	}
	keep_a_maker();
	return run_all();
}
