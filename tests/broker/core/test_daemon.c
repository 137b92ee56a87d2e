/* sbxd as a process: exactly one, in the background, gone when idle, nothing half done after kill -9. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/string.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

enum { MANY = 50 };

static void sleep_ms(long ms) {
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	nanosleep(&time, NULL);
}

static bool exists(const char *name) {
	CLEANUP_FREE char *path = home_path(name);
	struct stat status;
	return lstat(path, &status) == 0;
}

static bool nothing_is_left(void) {
	return !exists("run/sbx/broker.sock") && !exists("run/sbx/broker.lock");
}

/* Processes that were started under this name (argv[0]), by /proc. */
static int count_processes(const char *name) {
	int count = 0;
	DIR *processes = opendir("/proc");
	assert_non_null(processes);
	const struct dirent *entry;
	while ((entry = readdir(processes))) {
		CLEANUP_FREE char *path = string_format("/proc/%s/cmdline", entry->d_name);
		CLEANUP_FREE char *line = NULL;
		if (*entry->d_name >= '0' && *entry->d_name <= '9' && file_read(path, 65536, &line, NULL, NULL) == 0)
			count += strcmp(line, name) == 0;
	}
	closedir(processes);
	return count;
}

static pid_t spawn_program(const char *program, const char *argv0, const char *argument) {
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
		execv(program, (char *const[]){(char *)argv0, (char *)argument, NULL});
		_exit(127);
	}
	return child;
}

static pid_t spawn(const char *argv0, const char *argument) {
	CLEANUP_FREE char *program = home_path("bin/sbxd");
	return spawn_program(program, argv0, argument);
}

static int wait_for(pid_t child) {
	int status;
	while (waitpid(child, &status, 0) < 0) assert_int_equal(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int status_as_root = -1;

static void root_is_refused(void **state) {
	(void)state;
	if (status_as_root == -1) skip(); /* not started as root */
	assert_int_equal(status_as_root, 1);
}

static void fifty_starts_make_one_broker(void **state) {
	(void)state;
	pid_t children[MANY];
	for (int i = 0; i < MANY; i++) children[i] = spawn("sbxd-of-test", NULL);
	for (int i = 0; i < MANY; i++) assert_int_equal(wait_for(children[i]), 0);
	assert_int_equal(count_processes("sbxd-of-test"), 1);
	/* Whoever's start has ended finds it serving. */
	assert_true(broker_pid() > 0);
}

static void a_second_start_ends_quietly(void **state) {
	(void)state;
	assert_int_equal(broker_start(NULL), 0);
	pid_t first = broker_pid();
	assert_int_equal(broker_start(NULL), 0);
	assert_int_equal(broker_pid(), first);
}

static void it_leaves_when_idle_and_leaves_nothing(void **state) {
	(void)state;
	static const char *const arguments[] = {"--idle", "200ms", NULL};
	assert_int_equal(broker_start(arguments), 0);
	struct peer *peer = peer_connect(true);
	sleep_ms(600); /* a client keeps it */
	json_t *reply = peer_call(peer, "status", NULL);
	assert_non_null(reply);
	json_decref(reply);
	peer_free(peer);
	wait_until(nothing_is_left());
}

static void a_socket_that_a_killed_broker_left_is_replaced(void **state) {
	(void)state;
	assert_int_equal(broker_start(NULL), 0);
	broker_kill();
	assert_true(exists("run/sbx/broker.sock"));
	assert_null(peer_connect(false));
	assert_int_equal(broker_start(NULL), 0);
	assert_true(broker_pid() > 0);
}

static void term_ends_it_and_removes_the_socket(void **state) {
	(void)state;
	assert_int_equal(broker_start(NULL), 0);
	broker_stop();
	assert_true(nothing_is_left());
}

static void remove_file(const char *name) {
	CLEANUP_FREE char *path = home_path(name);
	assert_int_equal(unlink(path), 0);
}

static bool leaves(int pidfd) {
	struct pollfd gone = {.fd = pidfd, .events = POLLIN};
	return poll(&gone, 1, PATIENCE_MS) == 1;
}

static void one_whose_files_were_removed_leaves_and_the_next_stays(void **state) {
	(void)state;
	assert_int_equal(broker_start(NULL), 0);
	pid_t first = broker_pid();
	CLEANUP_FD int held = (int)syscall(SYS_pidfd_open, first, 0);
	remove_file("run/sbx/broker.lock");
	remove_file("run/sbx/broker.sock");
	remove_file(".local/state/sbx/sbx.db");
	assert_int_equal(broker_start(NULL), 0);
	pid_t second = broker_pid();
	assert_int_not_equal(first, second);
	assert_true(leaves(held));
	assert_int_equal(broker_pid(), second);
	assert_true(exists("run/sbx/broker.lock"));
}

static void one_whose_database_was_removed_leaves(void **state) {
	(void)state;
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_FD int held = (int)syscall(SYS_pidfd_open, broker_pid(), 0);
	remove_file(".local/state/sbx/sbx.db");
	assert_true(leaves(held));
	assert_true(nothing_is_left());
}

static void its_files_are_private(void **state) {
	(void)state;
	static const struct {
		const char *name;
		mode_t mode;
	} files[] = {{"run/sbx", 0700},
		     {"run/sbx/broker.sock", 0700},
		     {".local/state/sbx", 0700},
		     {".local/state/sbx/sbx.db", 0600},
		     {".local/state/sbx/sbx.db-wal", 0600},
		     {".local/state/sbx/sbxd.log", 0600}};
	assert_int_equal(broker_start(NULL), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		CLEANUP_FREE char *path = home_path(files[i].name);
		struct stat status;
		assert_int_equal(lstat(path, &status), 0);
		assert_int_equal(status.st_mode & 0777 & ~files[i].mode, 0);
	}
}

static void attack_broker_11_a_folder_that_others_may_write_is_refused(void **state) {
	(void)state;
	CLEANUP_FREE char *folder = home_path("run/sbx");
	assert_true(mkdir(folder, 0700) == 0 || errno == EEXIST);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(broker_start(NULL), 1);
	assert_int_equal(chmod(folder, 0700), 0);
}

static void attack_broker_11_a_link_for_its_folder_is_refused(void **state) {
	(void)state;
	CLEANUP_FREE char *folder = home_path("run/sbx");
	CLEANUP_FREE char *elsewhere = home_path("elsewhere");
	assert_true(rmdir(folder) == 0 || errno == ENOENT);
	assert_true(mkdir(elsewhere, 0700) == 0 || errno == EEXIST);
	assert_int_equal(symlink(elsewhere, folder), 0);
	assert_int_equal(broker_start(NULL), 1);
	assert_int_equal(unlink(folder), 0);
}

static void attack_broker_14_a_damaged_database_refuses_everything(void **state) {
	(void)state;
	CLEANUP_FREE char *database = home_path(".local/state/sbx/sbx.db");
	CLEANUP_FREE char *aside = home_path(".local/state/sbx/aside.db");
	assert_true(rename(database, aside) == 0 || errno == ENOENT);
	assert_int_equal(file_write(database, "this is no database at all, is it?", 34, 0600, NULL), 0);
	assert_int_equal(broker_start(NULL), 1);
	assert_null(peer_connect(false));
	assert_int_equal(unlink(database), 0);
	assert_true(rename(aside, database) == 0 || errno == ENOENT);
}

static void bad_options_are_told(void **state) {
	(void)state;
	static const char *const bad[][3] = {
		{"--idle", "soon", NULL}, {"--nonsense", NULL, NULL}, {"word", NULL, NULL}};
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) assert_int_equal(broker_start(bad[i]), 2);
	static const char *const help[] = {"--help", NULL};
	assert_int_equal(broker_start(help), 0);
	assert_null(peer_connect(false));
}

static void attack_broker_4_without_arguments_at_all_it_still_serves(void **state) {
	(void)state;
	assert_int_equal(wait_for(spawn(NULL, NULL)), 0);
	assert_true(broker_pid() > 0);
}

/* Of a database that no broker has open. */
static int64_t ask_database(const char *sql) {
	CLEANUP_FREE char *path = home_path(".local/state/sbx/sbx.db");
	sqlite3 *db;
	sqlite3_stmt *statement;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	int64_t value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return value;
}

static json_t *grant_wish(const char *target) {
	return json_pack("{s:s, s:s, s:s, s:s}", "permission", "net:access", "target", target, "effect", "allow",
			 "lifetime", "always");
}

/* Killed while grants are written: every grant has its event, every event its grant, the chain is whole. */
static void kill_9_leaves_no_half_grant(void **state) {
	(void)state;
	for (int round = 0; round < 5; round++) {
		assert_int_equal(broker_start(NULL), 0);
		pid_t broker = broker_pid();
		CLEANUP_FD int held = (int)syscall(SYS_pidfd_open, broker, 0);
		int ready[2];
		assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
		pid_t writer = fork();
		assert_true(writer >= 0);
		if (writer == 0) {
			struct peer *peer = peer_connect(true);
			for (int i = 0; peer; i++) {
				if (i == 3 && write(ready[1], "", 1) != 1) _exit(1);
				CLEANUP_FREE char *target = string_format("h%d.test:443", i);
				peer_send(peer, "grant", grant_wish(target));
				char reply[65536];
				if (recv(peer->fd, reply, sizeof reply, 0) <= 0) break;
			}
			_exit(0);
		}
		/* Before that there would be little to lose. */
		char byte;
		assert_int_equal(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		close(ready[1]);
		sleep_ms(30 + round * 17);
		assert_int_equal(kill(broker, SIGKILL), 0);
		assert_true(leaves(held)); /* until then its socket may still take connections */
		assert_int_equal(wait_for(writer), 0);
	}
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	json_t *reply, *cursor = json_null();
	do {
		reply = peer_call(peer, "verify", json_pack("{s:o}", "cursor", cursor));
		assert_true(json_is_null(json_object_get(reply, "bad")));
		cursor = json_incref(json_object_get(reply, "next"));
		json_decref(reply);
	} while (!json_is_null(cursor));
	broker_stop();
	assert_true(ask_database("SELECT count(*) FROM grants") > 10);
	assert_int_equal(ask_database("SELECT count(*) FROM grants WHERE id NOT IN"
				      " (SELECT grant_id FROM events WHERE kind = 'grant')"),
			 0);
	assert_int_equal(ask_database("SELECT count(*) FROM events WHERE kind = 'grant' AND grant_id NOT IN"
				      " (SELECT id FROM grants)"),
			 0);
}

static void a_session_of_a_killed_broker_has_ended(void **state) {
	(void)state;
	assert_int_equal(broker_start(NULL), 0);
	struct peer *peer = peer_connect(true);
	int64_t session = peer_open_session(peer, json_pack("{s:[s]}", "allow", "net:access=svc.test:443"));
	broker_kill();
	peer_free(peer);
	assert_int_equal(broker_start(NULL), 0);
	broker_stop();
	CLEANUP_FREE char *ended =
		string_format("SELECT exit FROM sessions WHERE id = %lld AND ended_ms > 0", (long long)session);
	CLEANUP_FREE char *grants =
		string_format("SELECT count(*) FROM grants WHERE session = %lld AND active = 1", (long long)session);
	assert_int_equal(ask_database(ended), -2);
	assert_int_equal(ask_database(grants), 0);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	/* As root it must refuse, and this process is root only until home_make. */
	if (geteuid() == 0) status_as_root = wait_for(spawn_program(SBX_TEST_SBXD, "sbxd", NULL));
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_is_refused),
		cmocka_unit_test_teardown(fifty_starts_make_one_broker, broker_teardown),
		cmocka_unit_test_teardown(a_second_start_ends_quietly, broker_teardown),
		cmocka_unit_test_teardown(it_leaves_when_idle_and_leaves_nothing, broker_teardown),
		cmocka_unit_test_teardown(a_socket_that_a_killed_broker_left_is_replaced, broker_teardown),
		cmocka_unit_test_teardown(term_ends_it_and_removes_the_socket, broker_teardown),
		cmocka_unit_test_teardown(one_whose_files_were_removed_leaves_and_the_next_stays, broker_teardown),
		cmocka_unit_test_teardown(one_whose_database_was_removed_leaves, broker_teardown),
		cmocka_unit_test_teardown(its_files_are_private, broker_teardown),
		cmocka_unit_test_teardown(attack_broker_11_a_folder_that_others_may_write_is_refused, broker_teardown),
		cmocka_unit_test_teardown(attack_broker_11_a_link_for_its_folder_is_refused, broker_teardown),
		cmocka_unit_test_teardown(attack_broker_14_a_damaged_database_refuses_everything, broker_teardown),
		cmocka_unit_test_teardown(bad_options_are_told, broker_teardown),
		cmocka_unit_test_teardown(attack_broker_4_without_arguments_at_all_it_still_serves, broker_teardown),
		cmocka_unit_test_teardown(kill_9_leaves_no_half_grant, broker_teardown),
		cmocka_unit_test_teardown(a_session_of_a_killed_broker_has_ended, broker_teardown),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
