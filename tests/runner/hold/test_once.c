/* What is allowed for one call goes when that has returned, and not while its thread waits for the processor. */
#include <event2/event.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "calls/process.h"
#include "hold/once.h"
#include "schema/limits.h"
#include "support/cmocka.h"

enum { NEEDS_MS = 10 /* more than a call needs for a path; a tick of what /proc counts in */ };

/* As long as its parent runs, on that processor, it waits for nothing. */
static pid_t begin_busy(int processor, int policy) {
	const pid_t child = fork();
	cpu_set_t set;
	if (child != 0) return child;
	CPU_ZERO(&set);
	CPU_SET((size_t)processor, &set);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setaffinity(0, sizeof set, &set) < 0) _exit(1);
	if (sched_setscheduler(0, policy, &(struct sched_param){0}) < 0) _exit(2);
	for (;;) clock_ms(CLOCK_MONOTONIC);
}

static void end(pid_t child) {
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* To the nanosecond, and of the whole process, which has one thread. */
static int64_t ran_ms(pid_t child) {
	clockid_t clock;
	assert_int_equal(clock_getcpuclockid(child, &clock), 0);
	return clock_ms(clock);
}

static void on_over(void *context) {
	event_base_loopbreak(context);
}

/* Until it is taken away what `thread` was allowed for a call. */
static void await_over(pid_t thread) {
	const struct need need = {.permission = PERMISSION_FS_READ, .path = "/no/such/file"};
	struct event_base *base = loop_new();
	struct onces *onces = onces_new(base, on_over, base);
	onces_add(onces, thread, &need, need.path, false);
	onces_in_force(onces);
	event_base_dispatch(base);
	assert_false(onces_any(onces));
	onces_free(onces);
	event_base_free(base);
}

static void who_waits_for_the_processor_has_not_returned(void **state) {
	const int processor = sched_getcpu();
	const pid_t busy = begin_busy(processor, SCHED_OTHER), late = begin_busy(processor, SCHED_IDLE);
	(void)state;
	while (ran_ms(late) == 0) usleep(1000); /* now it comes by the processor rarely */
	const int64_t ran = ran_ms(late), begin = clock_ms(CLOCK_MONOTONIC);
	await_over(late);
	assert_true(ran_ms(late) - ran >= NEEDS_MS || clock_ms(CLOCK_MONOTONIC) - begin >= LIMIT_ONCE_MS);
	end(late);
	end(busy);
}

static void who_runs_has_returned(void **state) {
	const pid_t busy = begin_busy(sched_getcpu(), SCHED_OTHER);
	(void)state;
	await_over(busy);
	end(busy);
}

static void what_is_granted_for_longer_is_not_written_for_a_call_alone(void **state) {
	(void)state;
	const struct need needs[] = {{.permission = PERMISSION_FS_WRITE, .path = "/granted/f"},
				     {.permission = PERMISSION_FS_WRITE, .path = "/once"},
				     {.permission = PERMISSION_FS_READ, .path = "/read"}};
	struct event_base *base = loop_new();
	struct onces *onces = onces_new(base, on_over, base);
	CLEANUP_VIEW struct view *view = view_new();
	CLEANUP_STRINGS struct strings paths = {0};
	for (size_t i = 0; i < ARRAY_LENGTH(needs); i++) onces_add(onces, getpid(), &needs[i], needs[i].path, false);
	view_add_path(view, "/granted", false, VIEW_WRITE, false);
	onces_written(onces, view, &paths);
	assert_int_equal(paths.count, 1);
	assert_string_equal(paths.items[0], "/once");
	onces_free(onces);
	event_base_free(base);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_for_the_processor_has_not_returned),
		cmocka_unit_test(who_runs_has_returned),
		cmocka_unit_test(what_is_granted_for_longer_is_not_written_for_a_call_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
