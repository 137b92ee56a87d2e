#include "base/loop.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "support/cmocka.h"

/* libevent's clock is the kernel's coarse one, which ticks at least each 10 ms (time(7), CONFIG_HZ). */
enum { LATE_MS = 100, TIMER_MS = 60, TICK_MS = 10 };

struct timers {
	struct event *late, *other, *timer;
	int64_t added_ms, came_ms;
};

static void on_timer(evutil_socket_t fd, short what, void *argument) {
	struct timers *timers = argument;
	(void)fd, (void)what;
	timers->came_ms = clock_ms(CLOCK_MONOTONIC);
}

/* The loop looks at its timers, whoever has woken it. */
static void on_other(evutil_socket_t fd, short what, void *argument) {
	(void)fd, (void)what, (void)argument;
}

static void on_late(evutil_socket_t fd, short what, void *argument) {
	struct timers *timers = argument;
	const struct timeval delay = clock_timeval(TIMER_MS), soon = clock_timeval(1);
	(void)fd, (void)what;
	usleep(LATE_MS * 1000);
	timers->added_ms = clock_ms(CLOCK_MONOTONIC);
	event_add(timers->timer, &delay);
	event_add(timers->other, &soon);
}

static void a_timer_that_is_added_late_does_not_come_sooner(void **state) {
	(void)state;
	struct timers timers = {0};
	struct event_base *base = loop_new();
	timers.timer = mem_expect(evtimer_new(base, on_timer, &timers));
	timers.other = mem_expect(evtimer_new(base, on_other, &timers));
	timers.late = mem_expect(evtimer_new(base, on_late, &timers));
	const struct timeval now = {0};
	event_add(timers.late, &now);
	event_base_dispatch(base);
	if (timers.came_ms - timers.added_ms < TIMER_MS - TICK_MS)
		fail_msg("it came after %lld ms of %d", (long long)(timers.came_ms - timers.added_ms), TIMER_MS);
	event_free(timers.timer);
	event_free(timers.other);
	event_free(timers.late);
	event_base_free(base);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_timer_that_is_added_late_does_not_come_sooner)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
