#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/start.h"
#include "support/cmocka.h"

static void an_orphan_runs_and_is_nobodys_to_wait_for(void **state) {
	(void)state;
	int ends[2];
	char byte = 0;
	assert_int_equal(pipe(ends), 0);
	const pid_t orphan = start_orphan();
	if (orphan == 0) _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
	assert_true(orphan > 0);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(read(ends[0], &byte, 1), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	close(ends[0]);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(an_orphan_runs_and_is_nobodys_to_wait_for)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
