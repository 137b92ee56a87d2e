/* By what /proc/loadavg says, answered threads are woken synchronously or not. */
#include "hold/wakeups.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "support/cmocka.h"

static void look_at(struct wakeups *wakeups, const char *text) {
	const ssize_t size = (ssize_t)strlen(text);
	assert_int_equal(ftruncate(wakeups->load, 0), 0);
	assert_int_equal(pwrite(wakeups->load, text, (size_t)size, 0), size);
	wakeups_look(wakeups);
}

static void synchronously_while_nobody_else_can_run(void **state) {
	(void)state;
	const struct {
		const char *load;
		bool synchronous;
	} rows[] = {
		{"0.00 0.01 0.05 3/215 4711\n", false},  {"0.00 0.01 0.05 2/215 4711\n", true},
		{"9.12 0.01 0.05 12/215 4711\n", false}, {"0.00 0.01 0.05 1/215 4711\n", true},
		{"0.00 0.01 0.05 3/99 4711\n", false},   {"", true},
		{"0.00 0.01 0.05 3/99 4711\n", false},   {"no numbers/here", true},
	};
	struct wakeups wakeups = wakeups_new(-1);
	assert_true(wakeups.synchronous);
	fd_close(wakeups.load);
	wakeups.load = memfd_create("loadavg", MFD_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		look_at(&wakeups, rows[i].load);
		assert_int_equal(wakeups.synchronous, rows[i].synchronous);
	}
	wakeups_finish(&wakeups);
}

static void the_kernels_file_is_read_again_each_time(void **state) {
	(void)state;
	struct wakeups wakeups = wakeups_new(-1);
	char text[128] = "";
	assert_true(pread(wakeups.load, text, sizeof text - 1, 0) > 0);
	assert_non_null(strchr(text, '/'));
	assert_true(pread(wakeups.load, text, sizeof text - 1, 0) > 0);
	wakeups_finish(&wakeups);
	wakeups_look(&wakeups); /* without one */
	assert_true(wakeups.synchronous);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(synchronously_while_nobody_else_can_run),
					   cmocka_unit_test(the_kernels_file_is_read_again_each_time)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
