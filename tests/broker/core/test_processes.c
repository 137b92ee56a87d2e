/* What /proc says of a process's threads. */
#include "core/processes.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/patience.h"

static void *run_on(void *argument) {
	for (volatile unsigned *count = argument;; ++*count) {
	}
	return NULL;
}

/* Its first thread sleeps, the other one runs. */
static _Noreturn void be_busy(void) {
	unsigned count = 0;
	pthread_t thread;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, run_on, &count) != 0) _exit(1);
	for (;;) pause();
}

static void a_process_has_stopped_when_each_of_its_threads_has(void **state) {
	(void)state;
	const pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) be_busy();
	assert_true(process_has_moving(child));
	assert_false(process_is_stopped(child));
	kill(child, SIGSTOP);
	wait_until(process_is_stopped(child) && !process_has_moving(child));
	kill(child, SIGCONT);
	wait_until(!process_is_stopped(child));
	assert_true(process_has_moving(child));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(process_has_moving(child)); /* that it isn't can't be seen */
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_has_stopped_when_each_of_its_threads_has),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
