/*
 * The pool of sockets by itself: who gets one and when, and what is fetched. What a fetch brings is up to each test.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/memory.h"
#include "net/streams/spares.h"
#include "schema/limits.h"
#include "support/cmocka.h"
#include "support/patience.h"

enum { CALLERS = 40 };

struct fixture {
	struct event_base *base;
	struct spares *spares;
	size_t asked, under_way[SPARE_COUNT]; /* fetches */
	unsigned batch[SPARE_COUNT];
	struct caller {
		struct fixture *fixture;
		struct spares_wait *wait;
		enum spare kind;
		bool leaves; /* it doesn't take what it gets */
		size_t served;
	} callers[CALLERS];
	size_t order[CALLERS], served;
};

static void fetch(void *context, enum spare kind, unsigned count) {
	struct fixture *fixture = context;
	fixture->asked++;
	fixture->under_way[kind]++;
	fixture->batch[kind] = count;
}

/* The oldest fetch of a kind is answered. */
static void answer(struct fixture *fixture, enum spare kind, bool works) {
	int fds[SPARES_FETCH_MAX];
	const struct spare_shape *shape = &spare_shapes[kind];
	const unsigned count = works ? fixture->batch[kind] : 0;
	assert_true(fixture->under_way[kind] > 0);
	assert_in_range(fixture->batch[kind], 1, SPARES_FETCH_MAX);
	for (unsigned i = 0; i < count; i++)
		fds[i] = socket(shape->domain, shape->type | SOCK_CLOEXEC | SOCK_NONBLOCK, shape->protocol);
	fixture->under_way[kind]--;
	spares_add(fixture->spares, kind, fds, count);
}

static void answer_all(struct fixture *fixture, enum spare kind) {
	while (fixture->under_way[kind] > 0) answer(fixture, kind, true);
}

static void turn(struct fixture *fixture) {
	assert_true(event_base_loop(fixture->base, EVLOOP_NONBLOCK) >= 0);
}

static void on_ready(void *argument) {
	struct caller *caller = argument;
	struct fixture *fixture = caller->fixture;
	caller->wait = NULL;
	caller->served++;
	fixture->order[fixture->served++] = (size_t)(caller - fixture->callers);
	if (caller->leaves) return;
	CLEANUP_FD int fd = spares_take(fixture->spares, caller->kind);
	assert_true(fd >= 0);
}

static void wait_for(struct fixture *fixture, size_t caller, enum spare kind) {
	fixture->callers[caller].kind = kind;
	fixture->callers[caller].wait = spares_when(fixture->spares, kind, on_ready, &fixture->callers[caller]);
}

static int begin(void **state) {
	struct fixture *fixture = mem_new(struct fixture);
	fixture->base = loop_new();
	const struct spares_options options = {.base = fixture->base, .fetch = fetch, .context = fixture};
	fixture->spares = spares_new(&options);
	for (size_t i = 0; i < CALLERS; i++) fixture->callers[i].fixture = fixture;
	*state = fixture;
	return 0;
}

static int end(void **state) {
	struct fixture *fixture = *state;
	spares_free(fixture->spares);
	event_base_free(fixture->base);
	free(fixture);
	return 0;
}

static void nothing_is_fetched_that_nobody_wanted(void **state) {
	struct fixture *fixture = *state;
	turn(fixture);
	assert_int_equal(fixture->asked, 0);
	assert_int_equal(spares_take(fixture->spares, SPARE_TCP4), -EAGAIN);
	assert_true(fixture->under_way[SPARE_TCP4] > 0);
	for (size_t kind = SPARE_TCP6; kind < SPARE_COUNT; kind++) assert_int_equal(fixture->under_way[kind], 0);
}

static void a_reserve_is_kept_without_being_waited_for(void **state) {
	struct fixture *fixture = *state;
	assert_int_equal(spares_take(fixture->spares, SPARE_TCP4), -EAGAIN);
	answer_all(fixture, SPARE_TCP4);
	const size_t asked = fixture->asked;
	for (size_t taken = 0; taken < 200; taken++) { /* one after the other: there is always one */
		CLEANUP_FD int fd = spares_take(fixture->spares, SPARE_TCP4);
		assert_true(fd >= 0);
		answer_all(fixture, SPARE_TCP4);
	}
	assert_in_range(fixture->asked - asked, 200 / SPARES_FETCH_MAX, 200 / SPARES_FETCH_MAX + 2);
}

static void who_waits_is_served_in_order_from_the_loop(void **state) {
	struct fixture *fixture = *state;
	for (size_t i = 0; i < CALLERS; i++) wait_for(fixture, i, SPARE_UDP4);
	spares_cancel(fixture->callers[3].wait);
	fixture->callers[5].leaves = true;
	spares_cancel(fixture->callers[CALLERS - 1].wait); /* the last: the next comes behind the one before */
	wait_for(fixture, CALLERS - 1, SPARE_UDP4);
	assert_int_equal(fixture->served, 0);
	answer(fixture, SPARE_UDP4, true);
	assert_int_equal(fixture->served, 0);                                /* not from within */
	assert_int_equal(spares_take(fixture->spares, SPARE_UDP4), -EAGAIN); /* they are those of who waits */
	turn(fixture);
	assert_int_equal(fixture->served, fixture->batch[SPARE_UDP4]);
	while (fixture->served < CALLERS - 1) {
		answer_all(fixture, SPARE_UDP4);
		turn(fixture);
	}
	size_t expected = 0;
	for (size_t i = 0; i < fixture->served; i++, expected++) {
		if (expected == 3) expected++;
		assert_int_equal(fixture->order[i], expected);
	}
	for (size_t i = 0; i < CALLERS; i++) assert_int_equal(fixture->callers[i].served, i != 3);
	turn(fixture);
	assert_int_equal(fixture->served, CALLERS - 1);
}

static void a_burst_is_fetched_at_once(void **state) {
	struct fixture *fixture = *state;
	for (size_t i = 0; i < CALLERS; i++) wait_for(fixture, i, SPARE_TCP6);
	const size_t wanted = (CALLERS + SPARES_FETCH_MAX - 1) / SPARES_FETCH_MAX;
	assert_in_range(fixture->under_way[SPARE_TCP6], wanted, wanted + 1);
	answer_all(fixture, SPARE_TCP6);
	turn(fixture);
	assert_int_equal(fixture->served, CALLERS);
}

static void the_reserve_grows_under_load_up_to_its_limit(void **state) {
	struct fixture *fixture = *state;
	size_t most = 0;
	for (size_t i = 0; i < 100; i++) {
		int fd;
		while ((fd = spares_take(fixture->spares, SPARE_TCP4)) >= 0) fd_close(fd);
		answer_all(fixture, SPARE_TCP4);
	}
	for (int fd; (fd = spares_take(fixture->spares, SPARE_TCP4)) >= 0; fd_close(fd)) most++;
	assert_in_range(most, LIMIT_SPARES - SPARES_FETCH_MAX, LIMIT_SPARES + SPARES_FETCH_MAX);
}

static void one_of_its_kind_is_fetched_on_demand_alone(void **state) {
	struct fixture *fixture = *state;
	wait_for(fixture, 0, SPARE_DIAG);
	assert_int_equal(fixture->under_way[SPARE_DIAG], 1);
	assert_int_equal(fixture->batch[SPARE_DIAG], 1);
	answer(fixture, SPARE_DIAG, true);
	turn(fixture);
	assert_int_equal(fixture->served, 1);
	assert_int_equal(fixture->under_way[SPARE_DIAG], 0);
}

static void what_failed_is_fetched_again_for_who_waits(void **state) {
	struct fixture *fixture = *state;
	wait_for(fixture, 0, SPARE_DIAG);
	for (size_t i = 0; i < 3; i++) {
		answer(fixture, SPARE_DIAG, false);
		assert_int_equal(fixture->under_way[SPARE_DIAG], 0); /* after a moment */
		while (fixture->under_way[SPARE_DIAG] == 0) event_base_loop(fixture->base, EVLOOP_ONCE);
	}
	answer(fixture, SPARE_DIAG, true);
	turn(fixture);
	assert_int_equal(fixture->served, 1);
	/* and not for nobody */
	wait_for(fixture, 1, SPARE_DIAG);
	spares_cancel(fixture->callers[1].wait);
	answer(fixture, SPARE_DIAG, false);
	assert_int_equal(event_base_loop(fixture->base, EVLOOP_ONCE), 0);
	assert_int_equal(fixture->under_way[SPARE_DIAG], 0);
}

static void who_waits_at_the_end_is_told_nothing(void **state) {
	struct fixture *fixture = *state;
	wait_for(fixture, 0, SPARE_TCP4);
	wait_for(fixture, 1, SPARE_TCP6);
	answer(fixture, SPARE_TCP4, true); /* and what came is closed: the sanitizer and the next descriptor say so */
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_fetched_that_nobody_wanted, begin, end),
		cmocka_unit_test_setup_teardown(a_reserve_is_kept_without_being_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(who_waits_is_served_in_order_from_the_loop, begin, end),
		cmocka_unit_test_setup_teardown(a_burst_is_fetched_at_once, begin, end),
		cmocka_unit_test_setup_teardown(the_reserve_grows_under_load_up_to_its_limit, begin, end),
		cmocka_unit_test_setup_teardown(one_of_its_kind_is_fetched_on_demand_alone, begin, end),
		cmocka_unit_test_setup_teardown(what_failed_is_fetched_again_for_who_waits, begin, end),
		cmocka_unit_test_setup_teardown(who_waits_at_the_end_is_told_nothing, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
