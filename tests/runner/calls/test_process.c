/* Who asks: the same whether the kernel tells it (PIDFD_GET_INFO) or /proc does. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/string.h"
#include "calls/process.h"
#include "support/cmocka.h"

/* As on a kernel without pidfds of threads. */
static void forget_pidfds(void) {
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = ARRAY_LENGTH(lines), .filter = lines};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(2);
}

static int in_child(int (*work)(void *argument), void *argument) {
	const pid_t child = fork();
	int status = -1;
	if (child == 0) _exit(work(argument));
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
	return WEXITSTATUS(status);
}

struct family {
	bool forgetful;
	pid_t init, process;
	struct processes *kept;
};

static bool is_described_by(struct processes *kept, const struct family *family, pid_t thread) {
	CLEANUP_FREE char *process = NULL, *expected = string_format("asks (%d)", family->process);
	CLEANUP_STRINGS struct strings parents = {0};
	process_describe(kept, thread, family->init, &process, &parents);
	return string_equal(process, expected) && parents.count == 2 && string_equal(parents.items[0], "two words") &&
	       string_equal(parents.items[1], "above");
}

/* Kept, too, the first time and then. */
static bool is_described(const struct family *family, pid_t thread) {
	return is_described_by(NULL, family, thread) && is_described_by(family->kept, family, thread) &&
	       is_described_by(family->kept, family, thread);
}

static void *in_thread(void *argument) {
	prctl(PR_SET_NAME, "a thread");
	return is_described(argument, gettid()) ? argument : NULL;
}

static int ask(void *argument) {
	struct family *family = argument;
	pthread_t thread;
	void *described = NULL;
	family->process = getpid();
	prctl(PR_SET_NAME, "asks");
	if (family->forgetful) forget_pidfds();
	family->kept = processes_new();
	if (!is_described(family, getpid())) return 3;
	if (pthread_create(&thread, NULL, in_thread, family) != 0 || pthread_join(thread, &described) != 0) return 4;
	processes_free(family->kept);
	return described ? 0 : 5;
}

static int be_parent(void *argument) {
	prctl(PR_SET_NAME, "two words");
	return in_child(ask, argument);
}

static int be_above(void *argument) {
	prctl(PR_SET_NAME, "above");
	return in_child(be_parent, argument);
}

static void a_thread_is_described_by_its_process_and_those_above(void **state) {
	struct family family = {.init = getpid()};
	(void)state;
	assert_int_equal(in_child(be_above, &family), 0);
}

static void a_family_is_described_by_proc_where_there_are_no_pidfds(void **state) {
	struct family family = {.forgetful = true, .init = getpid()};
	(void)state;
	assert_int_equal(in_child(be_above, &family), 0);
}

static void of_who_is_gone_nothing_is_said(void **state) {
	const pid_t child = fork();
	char *process = NULL;
	struct strings parents = {0};
	(void)state;
	if (child == 0) _exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	process_describe(NULL, child, getpid(), &process, &parents);
	assert_null(process);
	assert_int_equal(parents.count, 0);
}

/* Waits to be told, changes its name, says so, and waits to be told to end. */
static pid_t child_begin(int *ret_pipe) {
	int pipes[2];
	char byte;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pipes), 0);
	const pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_NAME, "before");
		if (write(pipes[1], "b", 1) != 1 || read(pipes[1], &byte, 1) != 1) _exit(1);
		prctl(PR_SET_NAME, "after");
		if (write(pipes[1], "a", 1) != 1 || read(pipes[1], &byte, 1) != 1) _exit(1);
		_exit(0);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	*ret_pipe = pipes[0];
	return child;
}

static void assert_called(struct processes *kept, pid_t pid, const char *name) {
	CLEANUP_FREE char *process = NULL, *expected = name ? string_format("%s (%d)", name, pid) : NULL;
	CLEANUP_STRINGS struct strings parents = {0};
	process_describe(kept, pid, getpid(), &process, &parents);
	assert_true(string_equal(process, expected));
	assert_int_equal(parents.count, 0);
}

static void who_is_kept_is_looked_at_anew(void **state) {
	struct processes *kept = processes_new();
	char byte;
	int pipe;
	(void)state;
	const pid_t child = child_begin(&pipe);
	assert_called(kept, child, "before");
	assert_int_equal(write(pipe, "", 1), 1);
	assert_int_equal(read(pipe, &byte, 1), 1);
	assert_called(kept, child, "after");
	assert_int_equal(write(pipe, "", 1), 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_called(kept, child, NULL);
	close(pipe);
	processes_free(kept);
}

/* More than there is room for: each is told by its own name, in each round. */
static void the_many_are_told_apart(void **state) {
	enum { MANY = 20 };
	struct processes *kept = processes_new();
	pid_t children[MANY];
	int pipes[MANY];
	(void)state;
	for (size_t i = 0; i < MANY; i++) children[i] = child_begin(&pipes[i]);
	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < MANY; i++) assert_called(kept, children[i], "before");
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(write(pipes[i], "to end", 2), 2);
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
		close(pipes[i]);
	}
	processes_free(kept);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_is_described_by_its_process_and_those_above),
		cmocka_unit_test(a_family_is_described_by_proc_where_there_are_no_pidfds),
		cmocka_unit_test(of_who_is_gone_nothing_is_said),
		cmocka_unit_test(who_is_kept_is_looked_at_anew),
		cmocka_unit_test(the_many_are_told_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
