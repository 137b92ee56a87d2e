/* Where sbxd and its clients meet, whatever the environment is like, and whom a client doesn't talk to (attack B11). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/string.h"
#include "schema/channel.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"

static int setup(void **state) {
	(void)state;
	CLEANUP_FREE char *run = home_path("run");
	CLEANUP_FREE char *bin = home_path("bin");
	CLEANUP_FREE char *home = path_parent(bin);
	return setenv("XDG_RUNTIME_DIR", run, 1) + setenv("HOME", home, 1) + unsetenv("XDG_STATE_HOME");
}

static int teardown(void **state) {
	broker_stop();
	return setup(state);
}

static bool exists(const char *name) {
	CLEANUP_FREE char *path = home_path(name);
	struct stat status;
	return lstat(path, &status) == 0;
}

static void make_folder(const char *name, mode_t mode) {
	CLEANUP_FREE char *path = home_path(name);
	assert_true(mkdir(path, mode) == 0 || errno == EEXIST);
	assert_int_equal(chmod(path, mode), 0);
}

/* The broker and a client of the same environment, each by itself, come to the same socket. */
static void they_meet_at(const char *socket) {
	CLEANUP_FREE char *expected = home_path(socket);
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	assert_int_equal(channel_socket_path(&path, NULL), 0);
	assert_string_equal(path, expected);
	assert_int_equal(broker_start(NULL), 0);
	assert_int_equal(channel_connect(path, &channel, NULL), 0);
}

static void a_runtime_directory_that_is_ours_alone_is_used(void **state) {
	(void)state;
	assert_null(channel_runtime_fault());
	they_meet_at("run/sbx/broker.sock");
}

static void without_one_the_state_folder_is(void **state) {
	(void)state;
	CLEANUP_FREE char *others_may_enter = home_path("open");
	CLEANUP_FREE char *file = home_path("file");
	make_folder("open", 0750);
	home_write("file", "");
	const struct {
		const char *value, *fault;
	} cases[] = {
		{NULL, "isn't set"},
		{"", "isn't set"},
		{"run", "isn't an absolute"},
		{"/nonexistent/run", "isn't there"},
		{"/", "another user"}, /* as /run/user/0 is after su */
		{others_may_enter, "open to others"},
		{file, "no directory"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_equal(
			cases[i].value ? setenv("XDG_RUNTIME_DIR", cases[i].value, 1) : unsetenv("XDG_RUNTIME_DIR"), 0);
		assert_non_null(strstr(channel_runtime_fault(), cases[i].fault));
		they_meet_at(".local/state/sbx/run/broker.sock");
		broker_stop();
	}
}

static void a_path_too_long_for_a_socket_is_an_error_of_both(void **state) {
	(void)state;
	enum { LONG = 120 };
	char name[LONG + 1] = "";
	memset(name, 'x', LONG);
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CHANNEL struct channel *channel = NULL;
	CLEANUP_FREE char *run = home_path(name);
	struct error error = ERROR_NONE;
	make_folder(name, 0700);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", run, 1), 0);
	assert_int_equal(broker_start(NULL), 1);
	assert_int_equal(channel_socket_path(&path, NULL), 0);
	assert_int_equal(channel_connect(path, &channel, &error), -ENAMETOOLONG);
	assert_non_null(strstr(error.message, "XDG_RUNTIME_DIR"));
	assert_int_equal(setup(state), 0); /* teardown asks whether one serves */
}

static void a_home_behind_a_link_is_fine(void **state) {
	(void)state;
	CLEANUP_FREE char *link = home_path("link");
	make_folder("elsewhere", 0700);
	assert_int_equal(symlink("elsewhere", link), 0);
	assert_int_equal(setenv("HOME", link, 1), 0);
	assert_int_equal(broker_start(NULL), 0);
	assert_true(exists("elsewhere/.local/state/sbx/sbx.db"));
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	assert_non_null(peer);
	broker_stop();
	assert_int_equal(unlink(link), 0);
}

static void attack_broker_11_nothing_is_made_through_a_link_for_the_state_folder(void **state) {
	(void)state;
	CLEANUP_FREE char *base = home_path("state");
	CLEANUP_FREE char *link = home_path("state/sbx");
	make_folder("state", 0700);
	make_folder("target", 0700);
	assert_int_equal(symlink("../target", link), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", base, 1), 0);
	assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
	assert_int_equal(broker_start(NULL), 1);
	assert_false(exists("target/run"));
	assert_false(exists("target/sbx.db"));
	assert_int_equal(setup(state), 0);
}

static int listen_at(const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, path, strlen(path));
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0777) < 0 ||
	    listen(fd, 4) < 0)
		return -1;
	return fd;
}

static void refused_by_client(const char *path, int code, const char *why) {
	CLEANUP_CHANNEL struct channel *channel = NULL;
	struct error error = ERROR_NONE;
	assert_int_equal(channel_connect(path, &channel, &error), -code);
	if (!strstr(error.message, why)) fail_msg("%s", error.message);
}

static void attack_broker_11_a_client_asks_nobody_in_a_folder_that_others_write(void **state) {
	(void)state;
	CLEANUP_FREE char *path = home_path("shared/broker.sock");
	make_folder("shared", 0777);
	CLEANUP_FD int fake = listen_at(path);
	assert_true(fake >= 0);
	refused_by_client(path, EPERM, "can be written by others");
	struct pollfd connected = {.fd = fake, .events = POLLIN};
	assert_int_equal(poll(&connected, 1, 0), 0);
	make_folder("shared", 0755);
}

static void attack_broker_11_a_client_asks_nobody_behind_a_link(void **state) {
	(void)state;
	CLEANUP_FREE char *path = home_path("way/broker.sock");
	CLEANUP_FREE char *real = home_path("mine/broker.sock");
	CLEANUP_FREE char *way = home_path("way");
	make_folder("mine", 0700);
	assert_int_equal(symlink("mine", way), 0);
	int fake = listen_at(real);
	refused_by_client(path, ELOOP, "is a link");
	assert_int_equal(unlink(way), 0);
	fd_close(fake);
}

/* A child that stays root, if we are: it waits for a path, listens there, and says whether it was told anything. */
static int root_end = -1;

static void keep_a_root_child(void) {
	int ends[2];
	if (geteuid() != 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return;
	pid_t child = fork();
	if (child == 0) {
		char path[128] = "";
		char said = 'q';
		close(ends[0]);
		if (recv(ends[1], path, sizeof path - 1, 0) <= 0) _exit(1);
		int fd = listen_at(path);
		if (fd < 0 || send(ends[1], "r", 1, 0) != 1) _exit(1);
		int client = accept(fd, NULL, NULL);
		char byte;
		if (recv(client, &byte, 1, 0) > 0) said = 'h';
		_exit(send(ends[1], &said, 1, 0) != 1);
	}
	close(ends[1]);
	root_end = ends[0];
}

static void attack_broker_11_a_client_tells_another_users_broker_nothing(void **state) {
	(void)state;
	if (root_end < 0) {
		print_message("SKIPPED: needs a second user: start it as root\n");
		skip();
	}
	CLEANUP_FREE char *path = home_path("mine/roots.sock");
	char byte = 0;
	make_folder("mine", 0700);
	assert_true(send(root_end, path, strlen(path), 0) > 0);
	assert_int_equal(recv(root_end, &byte, 1, 0), 1);
	assert_int_equal(byte, 'r');
	refused_by_client(path, EPERM, "belongs to user 0");
	assert_int_equal(recv(root_end, &byte, 1, 0), 1);
	assert_int_equal(byte, 'q');
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_runtime_directory_that_is_ours_alone_is_used, teardown),
		cmocka_unit_test_teardown(without_one_the_state_folder_is, teardown),
		cmocka_unit_test_teardown(a_path_too_long_for_a_socket_is_an_error_of_both, teardown),
		cmocka_unit_test_teardown(a_home_behind_a_link_is_fine, teardown),
		cmocka_unit_test_teardown(attack_broker_11_nothing_is_made_through_a_link_for_the_state_folder,
					  teardown),
		cmocka_unit_test(attack_broker_11_a_client_asks_nobody_in_a_folder_that_others_write),
		cmocka_unit_test(attack_broker_11_a_client_asks_nobody_behind_a_link),
		cmocka_unit_test(attack_broker_11_a_client_tells_another_users_broker_nothing),
	};
	keep_a_root_child();
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, setup, NULL);
	home_remove();
	return failed;
}
