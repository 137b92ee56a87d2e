/*
 * Many at once, signals, the kernel's own requests, requesters that aren't the sandbox's, and what a hostile one may
 * try.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/memory_use.h"
#include "support/patience.h"
#include "touch.h"

enum { THREADS = 200, CROWD = MEMORY_USE_IS_INFLATED ? 300 : 1000, NAMES = 5000, LOOKUPS = 10 * 1000 };
static int look_often(const char *host, const char *argument);
static int run_it(const char *host, const char *name);

enum { FUSE_MAGIC = 0x65735546, SOON_MS = 1000, ATTACKS = 150 };

static struct fixture *hung(const char *node, enum fixture_answer answer) {
	struct fixture *fixture = fixture_new();
	touch_make_tree(fixture);
	fixture_start(fixture);
	fixture_hang(fixture, node);
	fixture_answer(fixture, answer);
	return fixture;
}

static int open_it(const char *host, const char *name) {
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", host, name);
	int fd = open(path, O_RDONLY);
	return fd < 0 ? errno : 0;
}

static int stat_it(const char *host, const char *name) {
	struct stat status;
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", host, name);
	return stat(path, &status) < 0 ? errno : 0;
}

static int list_it(const char *host, const char *name) {
	char path[PATH_MAX];
	int count = 0;
	snprintf(path, sizeof path, "%s/%s", host, name);
	DIR *folder = opendir(path);
	if (!folder) return -errno;
	errno = 0;
	while (readdir(folder)) count++;
	return errno ? -errno : count;
}

static void make_names(struct fixture *fixture, const char *folder, int count) {
	CLEANUP_FREE char *path = fixture_path(fixture, folder);
	if (mkdir(path, 0700) < 0 && errno != EEXIST) fail_msg("%s", path);
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < count; i++) {
		char name[32];
		snprintf(name, sizeof name, "n%05d", i);
		close(openat(fd, name, O_CREAT | O_WRONLY, 0600));
	}
	close(fd);
}

/* --- many */

struct opener {
	pthread_t thread;
	const char *host;
	int number;
	bool right;
};

static void *open_mine(void *argument) {
	struct opener *opener = argument;
	char path[PATH_MAX];
	struct statfs status;
	snprintf(path, sizeof path, "%s/many/n%05d", opener->host, opener->number);
	int fd = open(path, O_RDONLY);
	opener->right = fd >= 0 && fstatfs(fd, &status) == 0 && status.f_type != FUSE_MAGIC;
	return NULL;
}

static int open_by_threads(const char *host, const char *argument) {
	static struct opener openers[THREADS];
	int right = 0;
	(void)argument;
	for (int i = 0; i < THREADS; i++) {
		openers[i] = (struct opener){.host = host, .number = i};
		if (pthread_create(&openers[i].thread, NULL, open_mine, &openers[i]) != 0) return -EAGAIN;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(openers[i].thread, NULL);
		right += openers[i].right;
	}
	return right;
}

static void threads_held_at_once_are_each_right(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = fixture_new();
	make_names(fixture, "many", THREADS);
	fixture_start(fixture);
	fixture_hang(fixture, "");
	fixture_answer(fixture, ANSWER_NEVER);
	size_t run = fixture_begin(fixture, open_by_threads, "");
	assert_true(fixture_serve_until(fixture, held_reach, THREADS));
	assert_int_equal(fixture_put(fixture, "many"), 0);
	fixture_settle(fixture, HELD_AGAIN);
	assert_int_equal(fixture_wait(fixture, run), THREADS);
	assert_int_equal(fixture_counts(fixture)->asked, THREADS);
}

static void a_crowd_that_waits_leaves_others_alone(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_NEVER);
	assert_int_equal(fixture_put(fixture, "a"), 0);
	for (int i = 0; i < CROWD; i++) fixture_begin(fixture, i % 2 ? open_it : stat_it, "top.txt");
	assert_true(fixture_serve_until(fixture, held_reach, CROWD));
	/* in the granted part of the same folder, and of the names that a hidden one has */
	int late = 0;
	for (int i = 0; i < 20; i++) {
		const int64_t begun = now_ms();
		assert_int_equal(fixture_run(fixture, stat_it, "a/b.txt"), 0);
		assert_int_equal(fixture_run(fixture, open_it, "missing"), ENOENT);
		late += now_ms() - begun > SOON_MS;
	}
	assert_true(late <= 5); /* those may be the machine's own */
	assert_int_equal(fixture_put(fixture, "top.txt"), 0);
	fixture_settle(fixture, HELD_AGAIN);
	for (int i = 0; i < CROWD; i++) assert_int_equal(fixture_wait(fixture, (size_t)i), 0);
}

static void memory_is_flat(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = fixture_new();
	make_names(fixture, "many", 1000);
	fixture_start(fixture);
	fixture_hang(fixture, "");
	fixture_answer(fixture, ANSWER_REFUSED);

	assert_int_equal(fixture_run(fixture, look_often, "2000"), 0);
	const long before = memory_use_kib();
	CLEANUP_FREE char *count = string_format("%d", LOOKUPS);
	const char *more = getenv("SBX_TEST_LOOKUPS"); /* a million takes a minute */
	size_t run = fixture_begin(fixture, look_often, more ? more : count);
	int code;
	do code = fixture_wait(fixture, run);
	while (code == -ETIME);
	assert_int_equal(code, 0);
	if (more) printf("%s look-ups: %ld KiB, then %ld KiB\n", more, before, memory_use_kib());
	assert_true(memory_use_stayed(before, memory_use_kib(), 512));
}

/* Names that are there and names that aren't, without touching what they name. */
static int look_often(const char *host, const char *argument) {
	const long count = strtol(argument, NULL, 10);
	for (long i = 0; i < count; i++) {
		char path[PATH_MAX];
		snprintf(path, sizeof path, i % 3 ? "%s/many/n%05ld" : "%s/many/missing%ld", host, i % 1000);
		if (i % 3 ? mkdir(path, 0700) == 0 || errno != EEXIST : rmdir(path) == 0 || errno != ENOENT)
			return errno ? errno : EINVAL;
	}
	return 0;
}

static void a_long_listing_shows_what_may_be_known(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = fixture_new();
	make_names(fixture, "many", NAMES);
	fixture_start(fixture);
	fixture_lead(fixture, "");
	fixture_lead(fixture, "many");
	fixture_hide(fixture, "many/n00017");
	fixture_hang(fixture, "");
	assert_int_equal(fixture_run(fixture, list_it, "many"), NAMES - 1 + 2);
	assert_int_equal(fixture_run(fixture, stat_it, "many/n00017"), ENOENT);
	assert_int_equal(fixture_counts(fixture)->asked, 0);
}

/* Where a tool puts the position of a folder's descriptor, no part of a hidden name is read. */
static int seek_about(const char *host, const char *argument) {
	char path[PATH_MAX], bytes[4096];
	snprintf(path, sizeof path, "%s/%s", host, argument);
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	if (fd < 0) return errno;
	for (long at = 0; at < 300; at++) {
		if (lseek(fd, at, SEEK_SET) < 0) continue;
		long size = syscall(SYS_getdents64, fd, bytes, sizeof bytes);
		if (size > 0 && memmem(bytes, (size_t)size, "cret", 4)) return EINVAL;
	}
	return 0;
}

static void positions_read_no_part_of_a_name(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = fixture_new();
	make_names(fixture, "many", 5);
	CLEANUP_FREE char *secret = fixture_path(fixture, "many/secret");
	assert_int_equal(mkdir(secret, 0700), 0);
	fixture_start(fixture);
	fixture_lead(fixture, "");
	fixture_lead(fixture, "many");
	fixture_hide(fixture, "many/secret");
	fixture_hang(fixture, "");
	assert_int_equal(fixture_run(fixture, seek_about, "many"), 0);
}

/* --- signals */

static volatile sig_atomic_t signalled;

static void note_signal(int number) {
	(void)number;
	signalled = 1;
}

static int open_with_handler(const char *host, const char *name) {
	struct sigaction action = {.sa_handler = note_signal};
	sigaction(SIGINT, &action, NULL);
	action.sa_flags = SA_RESTART;
	sigaction(SIGURG, &action, NULL);
	int code = open_it(host, name);
	return code + (signalled ? 10000 : 0);
}

static pid_t begin_held(struct fixture *fixture, fixture_action *action, size_t *ret_run) {
	const size_t held = fixture_counts(fixture)->held;
	*ret_run = fixture_begin(fixture, action, "top.txt");
	assert_true(fixture_serve_until(fixture, held_reach, held + 1));
	return fixture_pid(fixture, *ret_run);
}

static bool is_gone(struct fixture *fixture, size_t pid) {
	(void)fixture;
	return kill((pid_t)pid, 0) < 0;
}

static void killed_and_interrupted_ones_go(void **state) {
	(void)state;
	static const int deadly[] = {SIGKILL, SIGINT, SIGTERM};
	CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_NEVER);
	size_t run;
	fixture_heed_interrupts(fixture, true);
	for (size_t i = 0; i < ARRAY_LENGTH(deadly); i++) {
		pid_t pid = begin_held(fixture, stat_it, &run);
		assert_int_equal(kill(pid, deadly[i]), 0);
		assert_true(fixture_serve_until(fixture, is_gone, (size_t)pid));
	}
	assert_int_equal(fixture_counts(fixture)->held, 0);
	pid_t pid = begin_held(fixture, open_with_handler, &run);
	assert_int_equal(kill(pid, SIGINT), 0);
	assert_int_equal(fixture_wait(fixture, run), EINTR + 10000);
}

static void a_signal_that_is_not_heeded_ends_nothing(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_NEVER);
	size_t run;
	pid_t pid = begin_held(fixture, open_with_handler, &run);
	assert_int_equal(kill(pid, SIGURG), 0);
	assert_true(fixture_serve_until(fixture, interrupts_reach, 1));
	assert_int_equal(fixture_counts(fixture)->held, 1);
	assert_int_equal(fixture_put(fixture, "top.txt"), 0);
	fixture_settle(fixture, HELD_AGAIN);
	assert_int_equal(fixture_wait(fixture, run), 10000);
}

/* --- who asks, and what for */

static void the_host_is_not_asked_about_and_not_answered(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_OBJECT);
	CLEANUP_FREE char *path =
		string_format("/proc/%d/root%s/a/b.txt", fixture_init(fixture), fixture_host(fixture));
	pid_t child = fork();
	if (child == 0) {
		struct stat status;
		_exit(stat(path, &status) < 0 ? errno : 0);
	}
	int status = 0;
	for (int i = 0; i < 500 && waitpid(child, &status, WNOHANG) == 0; i++) fixture_serve(fixture, 10);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EACCES);
	assert_int_equal(fixture_counts(fixture)->asked, 0);
}

static int size_of_it(const char *host, const char *name) {
	struct stat status;
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", host, name);
	return stat(path, &status) < 0 ? -errno : (int)status.st_size;
}

static void a_program_that_is_seen_is_asked_about_when_it_is_run(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = fixture_new();

	struct stat status;
	touch_make_tree(fixture);
	CLEANUP_FREE char *path = fixture_path(fixture, "a/bin");
	assert_int_equal(stat(path, &status), 0);
	fixture_start(fixture);
	fixture_program(fixture, "a/bin");
	fixture_hang(fixture, "a/bin");
	fixture_answer(fixture, ANSWER_REFUSED);
	assert_int_equal(fixture_run(fixture, size_of_it, "a/bin"), status.st_size);
	assert_int_equal(fixture_counts(fixture)->asked, 0);
	assert_int_equal(fixture_run(fixture, run_it, "a/bin"), EACCES);
	assert_string_equal(fixture_counts(fixture)->last, "proc:spawn a/bin");
	fixture_answer(fixture, ANSWER_OBJECT);
	assert_int_equal(fixture_run(fixture, run_it, "a/bin"), 0);
	assert_int_equal(fixture_counts(fixture)->asked, 2);
}

static int run_it(const char *host, const char *name) {
	char path[PATH_MAX];
	int status = 0;
	snprintf(path, sizeof path, "%s/%s", host, name);
	pid_t child = fork();
	if (child == 0) {
		char *const arguments[] = {path, NULL};
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execv(path, arguments);
		_exit(errno);
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static void what_no_rule_asks_about_is_not_there(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_OBJECT);
	fixture_hide(fixture, "a");
	assert_int_equal(fixture_run(fixture, open_it, "a/b.txt"), ENOENT);
	assert_int_equal(fixture_run(fixture, stat_it, "a"), ENOENT);
	assert_int_equal(fixture_run(fixture, stat_it, "not-there-either"), ENOENT);
	assert_int_equal(fixture_counts(fixture)->asked, 0);
}

enum { MANY = 600 };

static void make_file(struct fixture *fixture, const char *name) {
	CLEANUP_FREE char *path = fixture_path(fixture, name);
	CLEANUP_FD int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
}

/* Names that lead to mounts are learnt all at once; of the others nothing is. */
static void a_portal_that_reads_a_folder_asks_for_no_name_in_it(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = fixture_new();
	CLEANUP_FREE char *many = fixture_path(fixture, "many");
	assert_int_equal(mkdir(many, 0700), 0);
	for (int i = 0; i < MANY; i++) {
		CLEANUP_FREE char *name = string_format("many/%d", i), *other = string_format("many/other-%d", i);
		make_file(fixture, name);
		make_file(fixture, other);
		fixture_lead(fixture, name);
	}
	fixture_start(fixture);
	assert_int_equal(fixture_put(fixture, "many"), 0);
	size_t before = fixture_counts(fixture)->sights;
	assert_int_equal(fixture_reach(fixture, "many"), MANY);
	assert_true(fixture_counts(fixture)->sights - before >= MANY);

	assert_int_equal(fixture_read(fixture, "many"), MANY);
	before = fixture_counts(fixture)->sights;
	assert_int_equal(fixture_reach(fixture, "many"), MANY);
	assert_in_range(fixture_counts(fixture)->sights - before, 0,
			MANY / 3); /* of the folder, and of what isn't there */
	assert_int_equal(fixture_counts(fixture)->asked, 0);
}

static void what_has_ended_is_asked_for_again(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_OBJECT);
	for (size_t i = 1; i <= 20; i++) {
		assert_int_equal(fixture_run(fixture, open_it, "a/b.txt"), 0);
		assert_int_equal(fixture_run(fixture, open_it, "a/b.txt"), 0);
		assert_int_equal(fixture_counts(fixture)->asked, i);
		assert_int_equal(fixture_take(fixture, "a/b.txt"), 0);
	}
}

static int open_a_long_name(const char *host, const char *argument) {
	char path[PATH_MAX];
	memset(path, 'x', sizeof path);
	memcpy(path, host, strlen(host));
	path[strlen(host)] = '/';
	path[strlen(host) + 1 + strtoul(argument, NULL, 10)] = '\0';
	return open(path, O_RDONLY) < 0 ? errno : 0;
}

static void names_are_as_long_as_names_may_be(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_OBJECT);
	assert_int_equal(fixture_run(fixture, open_a_long_name, "255"), ENOENT);
	assert_int_equal(fixture_run(fixture, open_a_long_name, "256"), ENAMETOOLONG);
	assert_int_equal(fixture_run(fixture, open_a_long_name, "1200"), ENAMETOOLONG);
}

static void an_aborted_connection_is_told(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_NEVER);
	size_t run;
	begin_held(fixture, open_it, &run);
	fixture_abort(fixture);
	assert_int_equal(fixture_wait(fixture, run), ECONNABORTED);
	assert_int_equal(fixture_counts(fixture)->ended, 1);
	fixture_serve(fixture, 20);
	assert_int_equal(fixture_counts(fixture)->ended, 1);
}

/* --- What is granted behind a node costs nothing. */

static int stat_often(const char *host, const char *name) {
	int code = 0;
	for (int i = 0; i < 5000 && code == 0; i++) code = stat_it(host, name);
	return code;
}

enum { LOOKS_FOR_NOTHING = 500 };

static int look_for_nothing(const char *host, const char *name) {
	int code = ENOENT;
	for (int i = 0; i < LOOKS_FOR_NOTHING && code == ENOENT; i++) code = stat_it(host, name);
	return code;
}

static int make_it(const char *host, const char *name) {
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", host, name);
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	return fd < 0 ? errno : 0;
}

static int make_it_exclusively(const char *host, const char *name) {
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", host, name);
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	return fd < 0 ? errno : 0;
}

static int mkdir_it(const char *host, const char *name) {
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", host, name);
	return mkdir(path, 0700) < 0 ? errno : 0;
}

static void what_is_granted_behind_a_node_is_used_without_asking_the_server(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_OBJECT);
	assert_int_equal(fixture_put(fixture, "a"), 0);
	const size_t before = fixture_counts(fixture)->sights;
	assert_int_equal(fixture_run(fixture, stat_often, "a/b.txt"), 0);
	assert_true(fixture_counts(fixture)->sights - before < 500);
	assert_int_equal(fixture_counts(fixture)->asked, 0);
}

/* No question can come of it: the folder is asked about once in a while, the name each time, for it may be allowed. */
static void a_denied_name_beside_what_is_asked_about_costs_one_request(void **state) {
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_OBJECT);
	fixture_hide(fixture, "denied");
	size_t sights = SIZE_MAX;
	/* a busy machine may be too slow for what counts as often */
	for (int tries = 0; tries < 50 && sights > 2 * LOOKS_FOR_NOTHING; tries++) {
		const size_t before = fixture_counts(fixture)->sights;
		assert_int_equal(fixture_run(fixture, look_for_nothing, "denied"), ENOENT);
		sights = fixture_counts(fixture)->sights - before;
	}
	assert_in_range(sights, LOOKS_FOR_NOTHING, 2 * LOOKS_FOR_NOTHING);
	assert_int_equal(fixture_run(fixture, stat_it, "a/b.txt"), 0);
	assert_int_equal(fixture_counts(fixture)->asked, 1);
}

/* Then what is made in that folder is held all the same, and ends where it belongs. */
static void what_is_made_in_a_busy_folder_is_held(void **state) {
	(void)state;
	static const struct {
		fixture_action *action;
		int first; /* with O_EXCL it is too late to walk again: asked, and right the next time */
	} ways[] = {{make_it, 0}, {mkdir_it, 0}, {make_it_exclusively, ESTALE}};
	for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
		CLEANUP_FIXTURE struct fixture *fixture = hung("", ANSWER_OBJECT);
		CLEANUP_FREE char *made = fixture_path(fixture, "made");
		assert_int_equal(fixture_put(fixture, "a"), 0);
		assert_int_equal(fixture_run(fixture, stat_often, "a/b.txt"), 0);
		fixture_answer(fixture, ANSWER_REFUSED);
		assert_int_equal(fixture_run(fixture, ways[i].action, "made"), EACCES);
		assert_int_equal(fixture_counts(fixture)->asked, 1);
		assert_string_equal(fixture_counts(fixture)->last, "fs:write  by folder");
		assert_int_equal(fixture_run(fixture, stat_often, "a/b.txt"), 0);
		fixture_answer(fixture, ANSWER_OBJECT);
		assert_int_equal(fixture_run(fixture, ways[i].action, "made"), ways[i].first);
		assert_int_equal(fixture_counts(fixture)->asked, 2);
		if (ways[i].first) assert_int_equal(fixture_run(fixture, ways[i].action, "made"), 0);
		assert_int_equal(access(made, F_OK), 0);
	}
}

/* --- No lock is held by who waits, whatever its memory says. */

static struct open_how lie;
static char lie_path[PATH_MAX];
static volatile bool lying = true;

/* What the kernel has copied is a name that is there, or isn't; what the server reads is the same, or the other. */
static void *lie_on(void *argument) {
	char *name = lie_path + strlen(argument) + 1;
	while (lying) {
		lie.flags ^= O_CREAT;
		memcpy(name, "c.txt", 5);
		memcpy(name, "n.new", 5);
	}
	return NULL;
}

static int attack_locks(const char *host, const char *argument) {
	pthread_t liar;
	char folder[PATH_MAX / 2], fixed[PATH_MAX];
	snprintf(folder, sizeof folder, "%s/a", host);
	snprintf(lie_path, sizeof lie_path, "%s/c.txt", folder);
	snprintf(fixed, sizeof fixed, "%s/unfixed", folder);
	lie.flags = O_RDWR;
	lie.mode = 0600;
	pthread_create(&liar, NULL, lie_on, folder);
	for (int i = 0; i < ATTACKS; i++) {
		switch (*argument) {
		case 'o':
			close((int)syscall(SYS_openat2, AT_FDCWD, lie_path, &lie, sizeof lie));
			break;
		case 'm':
			mkdir(lie_path, 0700);
			break;
		case 'x':
			setxattr(lie_path, "user.t", "1", 1, 0);
			setxattr(folder, "user.t", "1", 1, 0);
			break;
		case 'c':
			chmod(lie_path, 0700);
			chmod(folder, 0700);
			break;
		case 'r':
			rename(lie_path, fixed);
			unlink(fixed);
			break;
		default:
			close(open(lie_path, O_CREAT | O_RDWR, 0600));
			break;
		}
	}
	lying = false;
	pthread_join(liar, NULL);
	return 0;
}

static bool held_or_over(struct fixture *fixture, size_t unused) {
	(void)unused;
	return fixture_counts(fixture)->held > 0 || fixture_finished(fixture) == fixture_begun(fixture);
}

/* While calls of theirs wait, which nobody answers, the portal looks new names up in that folder, mounts in it and on
 * it: it needs the folder's lock for each, and gets it. */
static void attack_fs_held_locks_keep_nobody_waiting(void **state) {
	static const char *const ways[] = {"o", "m", "x", "c", "r", "n"};
	(void)state;
	CLEANUP_FIXTURE struct fixture *fixture = fixture_new();
	touch_make_tree(fixture);
	make_names(fixture, "a", 3 * ATTACKS);
	fixture_start(fixture);
	fixture_hang(fixture, "");
	fixture_answer(fixture, ANSWER_NEVER);
	assert_int_equal(fixture_put(fixture, "a/c.txt"), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) fixture_begin(fixture, attack_locks, ways[i]);
	fixture_begin(fixture, stat_often, "a/c.txt"); /* so that it is told to stay as it is */
	size_t rounds = 0;
	while (fixture_finished(fixture) < fixture_begun(fixture)) {
		assert_true(fixture_serve_until(fixture, held_or_over, 0));
		if (fixture_counts(fixture)->held == 0) continue;
		CLEANUP_FREE char *name = string_format("a/n%05zu", rounds++ % (3 * ATTACKS));
		assert_int_equal(fixture_put(fixture, name), 0);
		assert_int_equal(fixture_take(fixture, name), 0);
		if (rounds % 4 == 0) {
			assert_int_equal(fixture_put(fixture, "a"), 0);
			assert_int_equal(fixture_take(fixture, "a"), 0);
		}
		fixture_settle(fixture, HELD_INTERRUPTED);
	}
	assert_true(rounds > ATTACKS / 2);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_held_at_once_are_each_right),
		cmocka_unit_test(a_crowd_that_waits_leaves_others_alone),
		cmocka_unit_test(memory_is_flat),
		cmocka_unit_test(a_long_listing_shows_what_may_be_known),
		cmocka_unit_test(positions_read_no_part_of_a_name),
		cmocka_unit_test(killed_and_interrupted_ones_go),
		cmocka_unit_test(a_signal_that_is_not_heeded_ends_nothing),
		cmocka_unit_test(the_host_is_not_asked_about_and_not_answered),
		cmocka_unit_test(a_program_that_is_seen_is_asked_about_when_it_is_run),
		cmocka_unit_test(what_no_rule_asks_about_is_not_there),
		cmocka_unit_test(a_portal_that_reads_a_folder_asks_for_no_name_in_it),
		cmocka_unit_test(a_denied_name_beside_what_is_asked_about_costs_one_request),
		cmocka_unit_test(what_has_ended_is_asked_for_again),
		cmocka_unit_test(names_are_as_long_as_names_may_be),
		cmocka_unit_test(an_aborted_connection_is_told),
		cmocka_unit_test(what_is_granted_behind_a_node_is_used_without_asking_the_server),
		cmocka_unit_test(what_is_made_in_a_busy_folder_is_held),
		cmocka_unit_test(attack_fs_held_locks_keep_nobody_waiting),
	};
	home_make(NULL);
	int result = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return result;
}
