/* Where clients come in: the service manager's socket, and a broker that has no descriptors left for them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/channel.h"
#include "schema/message.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

enum { LOG_MAX = 1024 * 1024, CROWD = 50, FEW = 90 };

static int wait_for(pid_t child) {
	int status;
	while (waitpid(child, &status, 0) < 0) assert_int_equal(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The service manager's */

/* In run/sbx, as sbxd.socket has it with "broker.sock". */
static int make_socket(const char *name, int type, bool listening) {
	static const int on = 1; /* PassCredentials=yes */
	CLEANUP_FREE char *relative = string_format("run/sbx/%s", name);
	CLEANUP_FREE char *path = home_path(relative);
	CLEANUP_FREE char *folder = home_path("run/sbx");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	assert_true(strlen(path) < sizeof address.sun_path);
	memcpy(address.sun_path, path, strlen(path));
	assert_true(mkdir(folder, 0700) == 0 || errno == EEXIST);
	unlink(path);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	if (listening) assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* sbxd as a service manager starts it, with its stderr in a file of the home. */
static pid_t activate(int socket, const char *count) {
	CLEANUP_FREE char *program = home_path("bin/sbxd");
	CLEANUP_FREE char *said = home_path("said");
	pid_t child = fork();
	assert_true(child >= 0);
	if (child > 0) return child;
	char pid[16];
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", count, 1);
	setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
	int errors = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (errors < 0 || dup2(errors, STDERR_FILENO) < 0) _exit(126);
	if (socket != 3 && dup2(socket, 3) < 0) _exit(126);
	if (fcntl(3, F_SETFD, 0) < 0) _exit(126);
	execl(program, "sbxd", "--foreground", (char *)NULL);
	_exit(127);
}

static void a_socket_of_the_service_manager_is_taken(void **state) {
	(void)state;
	CLEANUP_FREE char *path = NULL;
	struct stat status;
	assert_int_equal(channel_socket_path(&path, NULL), 0);
	CLEANUP_FD int fd = make_socket("broker.sock", SOCK_SEQPACKET, true);
	pid_t child = activate(fd, "1");
	assert_int_equal(broker_pid(), child);
	assert_int_equal(kill(child, SIGTERM), 0);
	assert_int_equal(wait_for(child), 0);
	assert_int_equal(lstat(path, &status), 0); /* it is not ours to remove */
	assert_int_equal(unlink(path), 0);
}

/* It would serve where nobody looks, or what nobody speaks. */
static void a_socket_that_commands_do_not_look_for_is_refused(void **state) {
	(void)state;
	static const struct {
		const char *name;
		int type;
		bool listening;
		const char *count, *says;
	} rows[] = {
		{"other.sock", SOCK_SEQPACKET, true, "1", "isn't where commands look: ListenSequentialPacket="},
		{"broker.sock", SOCK_SEQPACKET, false, "1", "must pass one listening socket"},
		{"broker.sock", SOCK_STREAM, true, "1", "must pass one listening socket"},
		{"broker.sock", SOCK_SEQPACKET, true, "2", "must pass one listening socket"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_FREE char *relative = string_format("run/sbx/%s", rows[i].name);
		CLEANUP_FREE char *path = home_path(relative);
		CLEANUP_FREE char *file = home_path("said");
		CLEANUP_FREE char *said = NULL;
		CLEANUP_FD int fd = make_socket(rows[i].name, rows[i].type, rows[i].listening);
		assert_int_equal(wait_for(activate(fd, rows[i].count)), 1);
		assert_int_equal(file_read(file, LOG_MAX, &said, NULL, NULL), 0);
		if (!strstr(said, rows[i].says)) fail_msg("%zu: %s", i, said);
		assert_int_equal(unlink(path), 0); /* left where it was */
	}
}

/* No descriptors left */

static int times_told(const char *what) {
	CLEANUP_FREE char *path = home_path(".local/state/sbx/sbxd.log");
	CLEANUP_FREE char *log = NULL;
	int count = 0;
	if (file_read(path, LOG_MAX, &log, NULL, NULL) < 0) return 0;
	for (const char *at = log; (at = strstr(at, what)); at++) count++;
	return count;
}

static void limit_files(pid_t broker, rlim_t most, struct rlimit *ret_before) {
	struct rlimit limit;
	assert_int_equal(prlimit(broker, RLIMIT_NOFILE, NULL, &limit), 0);
	if (ret_before) *ret_before = limit;
	limit.rlim_cur = most;
	assert_int_equal(prlimit(broker, RLIMIT_NOFILE, &limit, NULL), 0);
}

/* It serves whom it has, tries again each second and not all the time, and takes who waits when it can. */
static void a_broker_without_descriptors_left_takes_a_rest(void **state) {
	(void)state;
	static const char told[] = "no more clients for now";
	struct rlimit before;
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_PEER struct peer *here = peer_connect(true);
	pid_t broker = broker_pid();
	/* Each has two descriptors, one of which is waited for: more than FEW are open, and fewer than FEW waited for,
	 * since poll(2) refuses more than the limit. */
	struct peer *crowd[CROWD];
	for (size_t i = 0; i < CROWD; i++) assert_non_null(crowd[i] = peer_connect(true));
	limit_files(broker, FEW, &before);
	CLEANUP_PEER struct peer *waiting = peer_connect(false); /* the kernel takes it, sbxd not yet */
	assert_non_null(waiting);
	int64_t began = now_ms();
	wait_until(times_told(told) >= 2);
	assert_in_range(times_told(told), 2, 2 + (now_ms() - began) / 1000);
	json_t *reply = peer_call(here, "status", NULL);
	assert_string_equal(json_string_value(json_object_get(reply, "type")), "status");
	json_decref(reply);
	limit_files(broker, before.rlim_cur, NULL);
	reply = peer_call(waiting, "hello", json_pack("{s:i, s:s}", "protocol", PROTOCOL_VERSION, "version", "test"));
	assert_string_equal(json_string_value(json_object_get(reply, "type")), "hello");
	json_decref(reply);
	for (size_t i = 0; i < CROWD; i++) peer_free(crowd[i]);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_of_the_service_manager_is_taken),
		cmocka_unit_test(a_socket_that_commands_do_not_look_for_is_refused),
		cmocka_unit_test_teardown(a_broker_without_descriptors_left_takes_a_rest, broker_teardown),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
