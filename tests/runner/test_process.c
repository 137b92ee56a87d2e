/* Who asks: the same whether the kernel tells it (PIDFD_GET_INFO) or /proc does. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/string.h"
#include "process.h"
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
};

static bool is_described(const struct family *family, pid_t thread) {
	CLEANUP_FREE char *process = NULL, *expected = string_format("asks (%d)", family->process);
	CLEANUP_STRINGS struct strings parents = {0};
	process_describe(thread, family->init, &process, &parents);
	return string_equal(process, expected) && parents.count == 2 && string_equal(parents.items[0], "two words") &&
	       string_equal(parents.items[1], "above");
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
	if (!is_described(family, getpid())) return 3;
	if (pthread_create(&thread, NULL, in_thread, family) != 0 || pthread_join(thread, &described) != 0) return 4;
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
	process_describe(child, getpid(), &process, &parents);
	assert_null(process);
	assert_int_equal(parents.count, 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_is_described_by_its_process_and_those_above),
		cmocka_unit_test(a_family_is_described_by_proc_where_there_are_no_pidfds),
		cmocka_unit_test(of_who_is_gone_nothing_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
