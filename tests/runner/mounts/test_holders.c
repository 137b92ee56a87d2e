/* Who still holds a mount that was detached: by a descriptor, a folder, a map, also where only one of its threads does,
 * or a message that nobody has received; and ending just those who hold a folder of it, or all. */
#include "hold/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "support/patience.h"

enum hold {
	HOLD_DESCRIPTOR,
	HOLD_MAP,
	HOLD_MAP_DELETED,        /* of another name of it, which is no more */
	HOLD_MAP_NEWLINE,        /* of another name of it, with a newline */
	HOLD_THREADS_DESCRIPTOR, /* of a thread with descriptors of its own */
	HOLD_LEFT,               /* the first thread has ended */
	HOLD_FOLDER,
	HOLD_OPEN_FOLDER,    /* as a name alone (O_PATH) */
	HOLD_THREADS_FOLDER, /* of a thread with a working folder of its own */
	HOLD_PASSED,         /* in a message that waits in a socket, */
	HOLD_LOCKED,         /* which has hundreds of locks, too */
	HOLD_UNSEEN,         /* by a process that can't be looked at */
	HOLD_NOTHING,
	HOLD_COUNT
};

enum { OTHERS = 100, DEEP = 25 };

static char folder[] = "/tmp/sbx-holders.XXXXXX";
static char *file;
static pid_t pids[HOLD_COUNT], top;
static struct taken taken;

static uint64_t mount_of(int fd) {
	CLEANUP_FREE char *path = string_format("/proc/self/fdinfo/%d", fd), *text = NULL;
	if (file_read(path, 4096, &text, NULL, NULL) < 0) abort();
	return strtoull(strstr(text, "mnt_id:") + strlen("mnt_id:"), NULL, 10);
}

static void write_file(const char *path, const char *text) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) abort();
	close(fd);
}

/* A mount namespace of our own, as an ordinary user in a user namespace of our own. */
static bool make_space(void) {
	const uid_t uid = geteuid();
	if (uid == 0) return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return false;
	CLEANUP_FREE char *map = string_format("0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static int ready[2]; /* a byte from each who holds what it is to hold */

static _Noreturn void hold_still(void) {
	if (write(ready[1], "", 1) != 1) abort();
	for (;;) pause();
}

static void *thread(void *argument) {
	const enum hold how = *(const enum hold *)argument;
	if (how == HOLD_THREADS_FOLDER && (unshare(CLONE_FS) < 0 || chdir(folder) < 0)) abort();
	if (how != HOLD_THREADS_FOLDER && (unshare(CLONE_FILES) < 0 || open(file, O_RDONLY | O_CLOEXEC) < 0)) abort();
	hold_still();
}

static _Noreturn void hold_in_a_thread(enum hold how) {
	pthread_t other;
	if (pthread_create(&other, NULL, thread, &how) != 0) abort();
	if (how == HOLD_LEFT) syscall(SYS_exit, 0);
	for (;;) pause();
}

static void lock(int fd) {
	for (int i = 0; i < 200; i++) {
		struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 2 * i, .l_len = 1};
		if (fcntl(fd, F_SETLK, &lock) < 0) abort();
	}
}

static void pass(int fd, bool locked) {
	int pair[2];
	char byte = 0;
	union {
		char bytes[CMSG_SPACE(sizeof fd)];
		struct cmsghdr align;
	} control = {0};
	struct iovec data = {&byte, 1};
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	*header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(header), &fd, sizeof fd);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 || sendmsg(pair[0], &message, 0) != 1) abort();
	for (int i = 0; i < 2 && locked; i++) lock(pair[i]);
}

static void map_other_name(const char *name, bool deleted) {
	CLEANUP_FREE char *other = path_join(folder, name);
	if (link(file, other) < 0) abort();
	int fd = open(other, O_RDWR | O_CLOEXEC);
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) abort();
	close(fd);
	if (deleted && unlink(other) < 0) abort();
}

static pid_t hold(enum hold how) {
	pid_t pid = fork();
	if (pid != 0) return pid;
	if (how == HOLD_THREADS_DESCRIPTOR || how == HOLD_LEFT || how == HOLD_THREADS_FOLDER) hold_in_a_thread(how);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (how == HOLD_PASSED || how == HOLD_LOCKED) pass(fd, how == HOLD_LOCKED);
	if (how == HOLD_MAP_DELETED) map_other_name("other", true);
	if (how == HOLD_MAP_NEWLINE) map_other_name("two\nlines", false);
	if (how == HOLD_UNSEEN && prctl(PR_SET_DUMPABLE, 0) < 0) abort();
	if (how == HOLD_MAP && mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED) abort();
	if (how == HOLD_FOLDER && chdir(folder) < 0) abort();
	if (how == HOLD_OPEN_FOLDER && open(folder, O_PATH | O_CLOEXEC) < 0) abort();
	if (how != HOLD_DESCRIPTOR) close(fd);
	hold_still();
}

/* Detaches the mount when all hold it, and tells its id and who they are. */
static _Noreturn void run_space(int out) {
	uint64_t id = 0;
	if (!make_space() || mount(folder, folder, NULL, MS_BIND, NULL) < 0) _exit(77);
	int fd = open(folder, O_PATH | O_CLOEXEC);
	id = mount_of(fd);
	close(fd);
	if (pipe2(ready, O_CLOEXEC) < 0) _exit(77);
	for (int i = 0; i < HOLD_COUNT; i++) pids[i] = hold((enum hold)i);
	for (int i = 0; i < HOLD_COUNT; i++) {
		char byte;
		if (read(ready[0], &byte, 1) != 1) _exit(77);
	}
	if (umount2(folder, MNT_DETACH) < 0) _exit(78);
	if (write(out, &id, sizeof id) < 0 || write(out, pids, sizeof pids) < 0) _exit(79);
	for (;;) pause();
}

static dev_t device_of(const char *path) {
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	return status.st_dev;
}

static bool is_shown(const void *context, const char *path, bool written) {
	(void)context, (void)written;
	return !path_is_below(path, folder);
}

static int setup(void **state) {
	uint64_t id;
	int pipes[2];
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/sbx-holders.XXXXXX");
	assert_non_null(mkdtemp(folder));
	file = path_join(folder, "todo");
	assert_int_equal(file_write(file, "milk\n", 5, 0600, NULL), 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	top = fork();
	if (top == 0) run_space(pipes[1]);
	close(pipes[1]);
	if (read(pipes[0], &id, sizeof id) != sizeof id) skip(); /* no namespaces to be had */
	assert_int_equal(read(pipes[0], pids, sizeof pids), sizeof pids);
	close(pipes[0]);
	for (int i = 0; i < OTHERS; i++) {
		CLEANUP_FREE char *other = string_format("/nowhere/%d", i);
		taken_add(&taken.whole,
			  &(struct taken_mount){.id = UINT64_MAX - (uint64_t)i, .device = makedev(4095, 1)}, other);
	}
	taken_add(&taken.whole, &(struct taken_mount){.id = id, .device = device_of(file)}, folder);
	taken.shows = is_shown;
	return 0;
}

static int teardown(void **state) {
	(void)state;
	for (int i = 0; i < HOLD_COUNT; i++)
		if (pids[i] > 0) kill(pids[i], SIGKILL);
	kill(top, SIGKILL);
	waitpid(top, NULL, 0);
	CLEANUP_FREE char *other = path_join(folder, "two\nlines");
	unlink(other);
	unlink(file);
	rmdir(folder);
	free(file);
	taken_finish(&taken);
	return 0;
}

static const struct holder *holder_of(const struct holders *holders, pid_t pid) {
	for (size_t i = 0; i < holders->count; i++)
		if (holders->items[i].pid == pid) return &holders->items[i];
	return NULL;
}

static bool is_alive(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", pid), *text = NULL;
	if (file_read(path, 4096, &text, NULL, NULL) < 0) return false;
	return !strstr(text, "\nState:\tZ") || !strstr(text, "\nThreads:\t1\n");
}

/* Until it is done; `files`: who holds files is ended, too. */
static struct sweep *sweep_all(pid_t init, bool files) {
	const struct timespec pause = {.tv_nsec = SWEEP_PAUSE_MS * 1000000L};
	struct sweep *sweep = sweep_new(init, &taken, files);
	for (enum sweep_state state; (state = sweep_turn(sweep)) != SWEEP_DONE;)
		if (state == SWEEP_LATER) nanosleep(&pause, NULL);
	return sweep;
}

static void expect_holder(const struct holders *holders, int kind) {
	const struct holder *holder = holder_of(holders, pids[kind]);
	if (!holder) {
		fail_msg("kind %d was not found", kind);
		return;
	}
	if (kind == HOLD_PASSED || kind == HOLD_LOCKED)
		assert_memory_equal(holder->path, "socket:", strlen("socket:"));
	else if (kind == HOLD_UNSEEN)
		assert_string_equal(holder->path, "what it holds can't be seen");
	else if (kind == HOLD_MAP_DELETED)
		assert_string_equal(holder->path, "/other (deleted)");
	else if (kind == HOLD_MAP_NEWLINE)
		assert_string_equal(path_name(holder->path), "two\nlines");
	else
		assert_string_equal(holder->path, kind >= HOLD_FOLDER ? folder : file);
	assert_string_equal(holder->command, "test_runner_hol"); /* 15 bytes of it */
}

static void who_holds_a_folder_is_ended_and_who_holds_a_file_is_named(void **state) {
	(void)state;
	struct sweep *sweep = sweep_all(top, false);
	for (int i = 0; i < HOLD_NOTHING; i++) {
		expect_holder(i < HOLD_FOLDER ? sweep_left(sweep) : sweep_ended(sweep), i);
		assert_int_equal(is_alive(pids[i]), i < HOLD_FOLDER);
	}
	assert_int_equal(sweep_left(sweep)->all, HOLD_FOLDER);
	assert_int_equal(sweep_ended(sweep)->all, HOLD_NOTHING - HOLD_FOLDER);
	assert_true(is_alive(pids[HOLD_NOTHING]));
	assert_true(is_alive(top));
	sweep_free(sweep);
}

static void where_it_is_wanted_just_all_holders_are_ended(void **state) {
	(void)state;
	struct sweep *sweep = sweep_all(top, true);
	for (int i = 0; i < HOLD_NOTHING; i++) {
		expect_holder(sweep_ended(sweep), i);
		assert_false(is_alive(pids[i]));
	}
	assert_int_equal(sweep_ended(sweep)->all, HOLD_NOTHING);
	assert_int_equal(sweep_left(sweep)->all, 0);
	assert_true(is_alive(pids[HOLD_NOTHING]));
	assert_true(is_alive(top));
	sweep_free(sweep);
}

static bool is_descriptor(int kind) {
	return kind == HOLD_DESCRIPTOR || kind == HOLD_THREADS_DESCRIPTOR || kind == HOLD_LEFT;
}

static void what_could_be_opened_anew_to_be_written_is_ended(void **state) {
	(void)state;
	taken.whole.items[taken.whole.count - 1].written = true;
	struct sweep *sweep = sweep_all(top, false);
	for (int i = 0; i < HOLD_FOLDER; i++) {
		expect_holder(is_descriptor(i) ? sweep_ended(sweep) : sweep_left(sweep), i);
		assert_int_equal(is_alive(pids[i]), !is_descriptor(i));
	}
	sweep_free(sweep);
}

/* The last one that was taken was there for so many calls alone. */
static void was_once(size_t calls) {
	struct taken_mount mount = taken.whole.items[--taken.whole.count];
	free(taken.whole.paths.items[--taken.whole.paths.count]);
	mount.calls = calls;
	mount.written = true;
	taken_add(&taken.once, &mount, folder);
}

static void a_file_of_one_call_is_nobodys_business_and_a_folder_is(void **state) {
	(void)state;
	was_once(1);
	struct sweep *sweep = sweep_all(top, false);
	for (int i = 0; i < HOLD_NOTHING; i++) assert_int_equal(is_alive(pids[i]), i < HOLD_FOLDER);
	assert_int_equal(sweep_left(sweep)->all, 0);
	sweep_free(sweep);
}

static void a_file_more_than_there_were_calls_is_ended(void **state) {
	(void)state;
	was_once(0);
	struct sweep *sweep = sweep_all(top, false);
	for (int i = 0; i < HOLD_FOLDER; i++)
		if (is_descriptor(i)) expect_holder(sweep_ended(sweep), i);
	sweep_free(sweep);
}

static void nobody_of_another_pid_namespace_is_touched(void **state) {
	(void)state;
	struct sweep *sweep = sweep_all(0x3ffffff, true); /* no such sandbox */
	assert_int_equal(sweep_ended(sweep)->all, 0);
	assert_true(is_alive(pids[HOLD_DESCRIPTOR]));
	sweep_free(sweep);
}

/* DEEP folders with names of 200 bytes below it. */
static pid_t stay_deep_in(const char *path) {
	char name[201];
	pid_t pid = fork();
	if (pid != 0) return pid;
	memset(name, 'd', 200);
	name[200] = '\0';
	if (mkdir(path, 0700) < 0 || chdir(path) < 0) abort();
	for (int i = 0; i < DEEP; i++)
		if (mkdir(name, 0700) < 0 || chdir(name) < 0) abort();
	hold_still();
}

/* nftw(3) goes by paths, and so not that deep. */
static void clear_out(const char *path) {
	const pid_t pid = fork();
	int status = -1;
	if (pid == 0) execlp("rm", "rm", "-rf", path, (char *)NULL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void who_is_deeper_than_paths_go_is_ended_below_a_denial_alone(void **state) {
	char byte, place[] = "/tmp/sbx-holders.XXXXXX";
	(void)state;
	assert_non_null(mkdtemp(place));
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	CLEANUP_FREE char *denied = path_join(place, "denied"), *other = path_join(place, "other");
	const pid_t below = stay_deep_in(denied), beside = stay_deep_in(other);
	for (int i = 0; i < 2; i++) assert_int_equal(read(ready[0], &byte, 1), 1);
	strings_add(&taken.covered, denied);
	struct sweep *sweep = sweep_all(getpid(), false);
	assert_int_equal(sweep_ended(sweep)->all, 1);
	assert_int_equal(sweep_ended(sweep)->items[0].pid, below);
	assert_true(is_alive(beside));
	kill(beside, SIGKILL);
	for (int i = 0; i < 2; i++) assert_true(wait(NULL) > 0);
	sweep_free(sweep);
	clear_out(place);
}

#define HOLDERS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Root may look at everything, also where the one process that nobody can look at is to be met. */
static void be_no_tracer(void) {
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, data) < 0) abort();
	data[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
	data[CAP_TO_INDEX(CAP_SYS_PTRACE)].permitted &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
	if (syscall(SYS_capset, &header, data) < 0) abort();
}

int main(void) {
	be_no_tracer();
	const struct CMUnitTest tests[] = {
		HOLDERS_TEST(who_holds_a_folder_is_ended_and_who_holds_a_file_is_named),
		HOLDERS_TEST(where_it_is_wanted_just_all_holders_are_ended),
		HOLDERS_TEST(what_could_be_opened_anew_to_be_written_is_ended),
		HOLDERS_TEST(a_file_of_one_call_is_nobodys_business_and_a_folder_is),
		HOLDERS_TEST(a_file_more_than_there_were_calls_is_ended),
		HOLDERS_TEST(nobody_of_another_pid_namespace_is_touched),
		cmocka_unit_test(who_is_deeper_than_paths_go_is_ended_below_a_denial_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
