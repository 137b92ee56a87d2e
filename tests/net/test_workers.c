/* Threads for what blocks: as many at once as there may be. */
#include "net/streams/workers.h"

#include <stdatomic.h>
#include <time.h>

#include "base/loop.h"
#include "base/memory.h"
#include "support/cmocka.h"
#include "support/patience.h"

enum { ROUNDS = 20 };

static const struct timespec moment = {.tv_nsec = 1000 * 1000};

struct meeting {
	atomic_int there, met;
	int done, dropped;
};

/* Until the other one is there, too. */
static void meet(void *work) {
	struct meeting *meeting = work;
	atomic_fetch_add(&meeting->there, 1);
	for (int ms = 0; ms < PATIENCE_MS && atomic_load(&meeting->there) < 2; ms++) nanosleep(&moment, NULL);
	if (atomic_load(&meeting->there) == 2) atomic_fetch_add(&meeting->met, 1);
}

static void come_alone(void *work) {
	struct meeting *meeting = work;
	atomic_fetch_add(&meeting->there, 1);
}

static void count_done(void *work, void *argument) {
	struct meeting *meeting = work;
	(void)argument;
	meeting->done++;
}

static void no_thread(void *work) {
	(void)work;
	fail_msg("there was no thread to be had");
}

/* Of a job that was delivered: on the loop. */
static void count_dropped(void *work) {
	struct meeting *meeting = work;
	meeting->dropped++;
}

static const struct worker_task meeting_task = {meet, count_done, no_thread, count_dropped};
static const struct worker_task lonely_task = {come_alone, count_done, no_thread, count_dropped};

/* One thread is idle, and has been called for the first, but hasn't come yet when the second is started. */
static void expect_two_at_once(struct event_base *base) {
	struct workers *workers = workers_new(base, 2);
	struct meeting alone = {0}, two = {0};
	workers_start(workers, &lonely_task, &alone, NULL);
	while (alone.done < 1) event_base_loop(base, EVLOOP_ONCE);
	nanosleep(&moment, NULL); /* it is idle, nearly always */
	workers_start(workers, &meeting_task, &two, NULL);
	workers_start(workers, &meeting_task, &two, NULL);
	while (two.done < 2) event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(two.met, 2);
	assert_int_equal(two.dropped, 2);
	workers_free(workers);
}

static void two_jobs_run_at_once(void **state) {
	(void)state;
	struct event_base *base = loop_new();
	for (int round = 0; round < ROUNDS; round++) expect_two_at_once(base);
	event_base_free(base);
}

/* Cancelled while it waits for the only thread: it is not run. */
static void what_is_cancelled_is_dropped(void **state) {
	(void)state;
	struct event_base *base = loop_new();
	struct workers *workers = workers_new(base, 1);
	struct meeting busy = {0}, cancelled = {0}, last = {0};
	workers_start(workers, &meeting_task, &busy, NULL);
	struct worker_job *job = workers_start(workers, &lonely_task, &cancelled, NULL);
	workers_start(workers, &lonely_task, &last, NULL);
	worker_cancel(job);
	assert_int_equal(cancelled.dropped, 1);
	atomic_fetch_add(&busy.there, 1); /* lets it go on */
	while (last.done < 1) event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(cancelled.there, 0);
	assert_int_equal(cancelled.done, 0);
	assert_int_equal(busy.met, 1);
	workers_free(workers);
	event_base_free(base);
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_jobs_run_at_once),
		cmocka_unit_test(what_is_cancelled_is_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
