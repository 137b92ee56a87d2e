/* What takes its time is given up, what only has no processor isn't. */
#include "calls/promptly.h"

#include <stdatomic.h>

#include "support/cmocka.h"
#include "support/patience.h"

enum { LONGER_MS = 10 * PROMPTLY_MS };

struct work {
	atomic_bool go_on, dropped;
	int done;
};

static void drop(void *argument) {
	struct work *work = argument;
	atomic_store(&work->dropped, true);
}

static void run_soon(void *argument) {
	struct work *work = argument;
	work->done++;
}

static void run_busily(void *argument) {
	struct work *work = argument;
	const int64_t end = now_ms() + LONGER_MS;
	while (now_ms() < end) continue;
	work->done++;
}

static void run_asleep(void *argument) {
	struct work *work = argument;
	while (!atomic_load(&work->go_on)) usleep(2000);
}

static void what_is_done_soon_is_waited_for(void **state) {
	(void)state;
	CLEANUP(promptly_free_p) struct promptly *promptly = promptly_new();
	struct work work = {.done = 0};
	for (int i = 0; i < 100; i++) assert_true(promptly_do(promptly, run_soon, drop, &work));
	assert_int_equal(work.done, 100);
	assert_false(work.dropped);
}

/* As on a machine whose processors are all taken: the thread could go on at any time. */
static void what_is_not_at_rest_is_waited_for(void **state) {
	(void)state;
	CLEANUP(promptly_free_p) struct promptly *promptly = promptly_new();
	struct work work = {.done = 0};
	for (int i = 0; i < 3; i++) assert_true(promptly_do(promptly, run_busily, drop, &work));
	assert_int_equal(work.done, 3);
	assert_false(work.dropped);
}

static void what_waits_is_given_up(void **state) {
	(void)state;
	CLEANUP(promptly_free_p) struct promptly *promptly = promptly_new();
	struct work works[PROMPTLY_MAX + 1] = {{.done = 0}}, other = {.done = 0};
	for (size_t i = 0; i < PROMPTLY_MAX; i++) assert_false(promptly_do(promptly, run_asleep, drop, &works[i]));
	assert_false(promptly_do(promptly, run_soon, drop, &other)); /* all threads are stuck */
	assert_true(other.dropped);
	for (size_t i = 0; i < PROMPTLY_MAX; i++) atomic_store(&works[i].go_on, true);
	for (size_t i = 0; i < PROMPTLY_MAX; i++) wait_until(atomic_load(&works[i].dropped));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_done_soon_is_waited_for),
		cmocka_unit_test(what_is_not_at_rest_is_waited_for),
		cmocka_unit_test(what_waits_is_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
