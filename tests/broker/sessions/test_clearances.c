/* The file by which runners are cleared, as a runner reads it. */
#include "sessions/clearances.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/clearance.h"
#include "support/cmocka.h"
#include "support/home.h"

static char *file_path(void) {
	return home_path("broker.clearance");
}

static struct clearances *make(void) {
	CLEANUP_FREE char *folder = home_path("");
	struct clearances *clearances;
	struct error error = ERROR_NONE;
	if (clearances_new(folder, &clearances, &error) < 0) fail_msg("%s", error.message);
	return clearances;
}

static uint32_t flags_of(size_t page) {
	CLEANUP_FREE char *path = file_path();
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct clearance_word word;
	assert_int_equal(pread(fd, &word, sizeof word, (off_t)page * getpagesize()), sizeof word);
	assert_int_equal(word.error, 0);
	return word.flags;
}

static size_t take_as(struct clearances *clearances, pid_t runner, int answering, bool given) {
	size_t page;
	const struct clearances_follower follower = {.runner = runner, .answering = answering};
	assert_int_equal(clearances_take(clearances, &follower, given, &page, NULL), 0);
	return page;
}

static size_t take_for(struct clearances *clearances, pid_t runner, bool given) {
	return take_as(clearances, runner, 0, given);
}

static size_t take(struct clearances *clearances, bool given) {
	return take_for(clearances, getpid(), given);
}

static pid_t runner_new(void) {
	const pid_t runner = fork();
	assert_true(runner >= 0);
	if (runner > 0) return runner;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) pause();
}

static int held(pid_t runner) {
	const int pidfd = (int)syscall(SYS_pidfd_open, runner, 0);
	assert_true(pidfd >= 0);
	return pidfd;
}

static void each_has_a_page_of_its_own(void **state) {
	(void)state;
	struct clearances *clearances = make();
	assert_int_equal(take(clearances, true), 0);
	assert_int_equal(take(clearances, false), 1);
	assert_int_equal(take(clearances, true), 2);
	assert_int_equal(flags_of(0), CLEARANCE_GIVEN);
	assert_int_equal(flags_of(1), CLEARANCE_WITHHELD);
	assert_int_equal(clearances_write(clearances, 1, true, NULL), 0);
	assert_int_equal(clearances_write(clearances, 2, false, NULL), 0);
	assert_int_equal(flags_of(0), CLEARANCE_GIVEN);
	assert_int_equal(flags_of(1), CLEARANCE_GIVEN);
	assert_int_equal(flags_of(2), CLEARANCE_WITHHELD);
	clearances_free(clearances);
}

static int answering_new(void) {
	const int fd = memfd_create("answering", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sizeof(clearance_answering)), 0);
	return fd;
}

static void say(int fd, clearance_answering answering) {
	assert_int_equal(pwrite(fd, &answering, sizeof answering, 0), sizeof answering);
}

static void a_page_is_in_use_while_its_runner_says_so(void **state) {
	(void)state;
	struct clearances *clearances = make();
	CLEANUP_FD int one = answering_new(), other = answering_new();
	take_as(clearances, getpid(), one, true);
	take_as(clearances, getpid(), other, true);
	assert_false(clearances_are_in_use(clearances, 1));
	say(other, 1);
	assert_true(clearances_are_in_use(clearances, 1));
	assert_false(clearances_are_in_use(clearances, 0));
	say(other, 0);
	assert_false(clearances_are_in_use(clearances, 1));
	assert_int_equal(ftruncate(other, 1), 0);
	assert_true(clearances_are_in_use(clearances, 1));
	clearances_free(clearances);
}

/* A pipe would keep the broker waiting for who writes to it. */
static void what_is_no_memory_file_says_nothing(void **state) {
	(void)state;
	struct clearances *clearances = make();
	CLEANUP_FREE char *path = file_path(), *pipe = string_format("%s.pipe", path);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	CLEANUP_FD int held = open(pipe, O_RDWR | O_CLOEXEC), file = open(path, O_RDONLY | O_CLOEXEC);
	const int64_t rows[] = {0, -1, held, file, 12345, INT64_MAX};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct clearances_follower follower = {.runner = getpid(), .answering = rows[i]};
		size_t page;
		assert_int_equal(clearances_take(clearances, &follower, true, &page, NULL), 0);
		assert_true(clearances_are_in_use(clearances, page));
	}
	unlink(pipe);
	clearances_free(clearances);
}

/* Its runner has it mapped still: what it reads there is not said to another one. */
static void attack_r_01_a_page_that_was_left_is_no_other_runners_before_its_own_has_ended(void **state) {
	(void)state;
	struct clearances *clearances = make();
	const pid_t runner = runner_new(), other = runner_new();
	assert_int_equal(take_for(clearances, runner, false), 0);
	clearances_leave(clearances, 0, held(runner));
	assert_int_equal(take_for(clearances, other, true), 1);
	assert_int_equal(flags_of(0), CLEARANCE_WITHHELD);
	assert_int_equal(take_for(clearances, runner, false), 0);
	assert_int_equal(take_for(clearances, runner, false), 2); /* another connection of it */
	clearances_leave(clearances, 0, held(runner));
	kill(runner, SIGKILL);
	waitpid(runner, NULL, 0);
	assert_int_equal(take_for(clearances, other, true), 0);
	assert_int_equal(flags_of(0), CLEARANCE_GIVEN);
	assert_int_equal(take_for(clearances, other, true), 3);
	clearances_free(clearances);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

/* Of a broker that was killed, whose runners have it mapped still. */
static void a_new_broker_makes_its_own_file_and_removes_no_others(void **state) {
	(void)state;
	CLEANUP_FREE char *path = file_path();
	struct clearances *killed = make();
	take(killed, false);
	struct clearances *next = make();
	take(next, true);
	assert_int_equal(clearances_write(killed, 0, false, NULL), 0);
	assert_int_equal(flags_of(0), CLEARANCE_GIVEN);
	clearances_free(killed);
	assert_int_equal(access(path, F_OK), 0);
	clearances_free(next);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_a_page_of_its_own),
		cmocka_unit_test(a_page_is_in_use_while_its_runner_says_so),
		cmocka_unit_test(what_is_no_memory_file_says_nothing),
		cmocka_unit_test(attack_r_01_a_page_that_was_left_is_no_other_runners_before_its_own_has_ended),
		cmocka_unit_test(a_new_broker_makes_its_own_file_and_removes_no_others),
	};
	home_make(NULL);
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
