/* Whom the broker talks to: nobody of another user, user namespace or PID namespace, and nobody with a borrowed
 * connection (attacks B1, B3, B11). */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/channel.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/passing.h"

/* What a child found: its exit status. */
enum { SERVED = 10, CLOSED, NO_CONNECTION, NO_NAMESPACE };

enum { PEERPIDFD = 77 }; /* SO_PEERPIDFD, asm-generic/socket.h of Linux 6.5 */

static const char hello[] = "{\"type\":\"hello\",\"id\":1,\"protocol\":7,\"version\":\"x\"}";

/* Without the helpers, whose failures would end a child in the middle of the parent's test. */
static int speak(int fd) {
	char reply[4096];
	if (send(fd, hello, sizeof hello - 1, MSG_NOSIGNAL) < 0) return CLOSED;
	return recv(fd, reply, sizeof reply, 0) > 0 ? SERVED : CLOSED;
}

static int connect_and_speak(const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, path, strlen(path));
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) return NO_CONNECTION;
	return speak(fd);
}

static int status_of(pid_t child) {
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR) return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_in(int namespaces) {
	CLEANUP_FREE char *path = NULL;
	if (channel_socket_path(&path, NULL) < 0) return -1;
	pid_t child = fork();
	if (child == 0) {
		if (unshare(namespaces) < 0) _exit(NO_NAMESPACE);
		/* A new PID namespace is for the children. */
		pid_t grandchild = fork();
		if (grandchild == 0) _exit(connect_and_speak(path));
		_exit(status_of(grandchild));
	}
	return status_of(child);
}

static void refused_in(int namespaces) {
	int status = run_in(namespaces);
	if (status == NO_NAMESPACE) skip(); /* this machine lets nobody make one */
	assert_int_equal(status, CLOSED);
}

static void the_same_namespaces_are_served(void **state) {
	(void)state;
	assert_int_equal(run_in(CLONE_FILES), SERVED);
}

static void attack_broker_11_another_user_namespace_is_refused(void **state) {
	(void)state;
	refused_in(CLONE_NEWUSER);
}

static void attack_broker_11_another_pid_namespace_is_refused(void **state) {
	(void)state;
	refused_in(CLONE_NEWUSER | CLONE_NEWPID);
}

static void attack_broker_11_a_borrowed_connection_is_cut(void **state) {
	(void)state;
	struct peer *peer = peer_connect(true);
	pid_t child = fork();
	if (child == 0) _exit(speak(peer->fd));
	assert_int_equal(status_of(child), CLOSED);
	assert_null(peer_receive(peer));
	peer_free(peer);
}

static void attack_broker_11_a_connection_borrowed_before_hello_is_cut(void **state) {
	(void)state;
	struct peer *peer = peer_connect(false);
	pid_t child = fork();
	if (child == 0) _exit(speak(peer->fd));
	assert_int_equal(status_of(child), CLOSED);
	peer_free(peer);
}

static void attack_broker_1_a_connector_that_is_gone_is_not_somebody_else(void **state) {
	(void)state;
	CLEANUP_FREE char *path = NULL;
	assert_int_equal(channel_socket_path(&path, NULL), 0);
	pid_t broker = broker_pid();
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
	/* The broker doesn't look while its client comes and goes, leaving the connection to us. */
	assert_int_equal(kill(broker, SIGSTOP), 0);
	pid_t child = fork();
	if (child == 0) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};
		memcpy(address.sun_path, path, strlen(path));
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) _exit(NO_CONNECTION);
		_exit(passing_send(ends[0], "x", 1, &fd, 1) == 0 ? SERVED : CLOSED);
	}
	assert_int_equal(status_of(child), SERVED);
	char byte;
	int fds[PASSING_MAX];
	size_t count;
	assert_int_equal(passing_receive(ends[1], &byte, 1, fds, &count), 1);
	assert_int_equal(count, 1);
	assert_int_equal(kill(broker, SIGCONT), 0);
	assert_int_equal(speak(fds[0]), CLOSED);
	close(fds[0]);
	close(ends[0]);
	close(ends[1]);
}

static void who_can_not_be_looked_at_is_refused(void **state) {
	(void)state;
	CLEANUP_FREE char *path = NULL;
	assert_int_equal(channel_socket_path(&path, NULL), 0);
	pid_t child = fork();
	if (child == 0) {
		if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) _exit(NO_NAMESPACE);
		_exit(connect_and_speak(path));
	}
	assert_int_equal(status_of(child), CLOSED);
}

/* A child that stays root, if we are: it tries each path that it gets, and tells what came of it. */
static int root_end = -1;

static void keep_a_root_child(void) {
	int ends[2];
	if (geteuid() != 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return;
	if (fork() == 0) {
		close(ends[0]);
		for (;;) {
			char path[128] = "";
			if (recv(ends[1], path, sizeof path - 1, 0) <= 0) _exit(0);
			int outcome = connect_and_speak(path);
			if (send(ends[1], &outcome, sizeof outcome, 0) < 0) _exit(1);
		}
	}
	close(ends[1]);
	root_end = ends[0];
}

static void attack_broker_3_another_user_is_refused(void **state) {
	(void)state;
	if (root_end < 0) skip(); /* needs a second user: started as root */
	CLEANUP_FREE char *path = NULL;
	assert_int_equal(channel_socket_path(&path, NULL), 0);
	int outcome = -1;
	assert_true(send(root_end, path, strlen(path), 0) > 0);
	assert_int_equal(recv(root_end, &outcome, sizeof outcome, 0), sizeof outcome);
	assert_int_equal(outcome, CLOSED);
}

static int setup(void **state) {
	(void)state;
	return broker_start(NULL);
}

/* A kernel before 6.5 has no SO_PEERPIDFD (attack B1): sbxd under a filter that says so. */
static bool forget_peer_pidfd(void) {
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	const struct scmp_arg_cmp option = {.arg = 2, .op = SCMP_CMP_EQ, .datum_a = PEERPIDFD};
	bool fine =
		filter &&
		seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOPROTOOPT), SCMP_SYS(getsockopt), 1, &option) == 0 &&
		seccomp_load(filter) == 0;
	seccomp_release(filter);
	return fine;
}

static int setup_old_kernel(void **state) {
	(void)state;
	CLEANUP_FREE char *program = home_path("bin/sbxd");
	pid_t child = fork();
	if (child == 0) {
		int fd = -1;
		socklen_t size = sizeof fd;
		setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
		if (!forget_peer_pidfd() || getsockopt(0, SOL_SOCKET, PEERPIDFD, &fd, &size) == 0 ||
		    errno != ENOPROTOOPT)
			_exit(126);
		execl(program, "sbxd", (char *)NULL);
		_exit(127);
	}
	return status_of(child);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_namespaces_are_served),
		cmocka_unit_test(attack_broker_11_another_user_namespace_is_refused),
		cmocka_unit_test(attack_broker_11_another_pid_namespace_is_refused),
		cmocka_unit_test(attack_broker_11_a_borrowed_connection_is_cut),
		cmocka_unit_test(attack_broker_11_a_connection_borrowed_before_hello_is_cut),
		cmocka_unit_test(attack_broker_1_a_connector_that_is_gone_is_not_somebody_else),
		cmocka_unit_test(who_can_not_be_looked_at_is_refused),
		cmocka_unit_test(attack_broker_3_another_user_is_refused),
	};
	keep_a_root_child();
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, setup, broker_teardown);
	failed += cmocka_run_group_tests_name("before Linux 6.5", tests, setup_old_kernel, broker_teardown);
	home_remove();
	return failed;
}
