/* A thread that nobody waits for: what it inherits and what it leaves. */
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "support/cmocka.h"

enum { STACK = 256 * 1024 };

static const size_t TOO_LARGE = (size_t)1 << 46; /* for an address space */

struct seen {
	int done; /* eventfd */
	sigset_t blocked;
	size_t stack;
	int detached;
};

static void *look(void *argument) {
	static const uint64_t one = 1;
	struct seen *seen = argument;
	pthread_attr_t attributes;
	pthread_sigmask(SIG_BLOCK, NULL, &seen->blocked);
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstacksize(&attributes, &seen->stack);
	pthread_attr_getdetachstate(&attributes, &seen->detached);
	pthread_attr_destroy(&attributes);
	(void)!write(seen->done, &one, sizeof one);
	return NULL;
}

static void it_runs_detached_without_signals_on_a_stack_of_that_size(void **state) {
	CLEANUP_FD int done = eventfd(0, EFD_CLOEXEC);
	struct seen seen = {.done = done};
	sigset_t before, after;
	uint64_t times;
	(void)state;
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	assert_int_equal(thread_start(STACK, look, &seen), 0);
	assert_int_equal(read(done, &times, sizeof times), sizeof times);
	for (int number = 1; number <= SIGSYS; number++) {
		if (number != SIGKILL && number != SIGSTOP) assert_int_equal(sigismember(&seen.blocked, number), 1);
	}
	assert_int_equal(seen.stack, STACK);
	assert_int_equal(seen.detached, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (int number = 1; number <= SIGSYS; number++)
		assert_int_equal(sigismember(&after, number), sigismember(&before, number));
}

static void none_is_an_error_and_the_signals_are_as_before(void **state) {
	(void)state;
	sigset_t after;
	assert_int_equal(thread_start(TOO_LARGE, look, NULL), -EAGAIN); /* pthread_create(3) */
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	assert_int_equal(sigismember(&after, SIGTERM), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_detached_without_signals_on_a_stack_of_that_size),
		cmocka_unit_test(none_is_an_error_and_the_signals_are_as_before),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
