/* What is said on standard error while a question stands: a pipe stands for the terminal. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "support/cmocka.h"
#include "terminal/own_lines.h"

struct seen {
	int end, before; /* the pipe's; descriptor 2 as it was */
	struct own_lines *lines;
	char bytes[2 * OWN_LINES_MAX];
};

static void begin(struct seen *seen) {
	int ends[2];
	struct error error = ERROR_NONE;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, 2 * OWN_LINES_MAX) > 0);
	*seen = (struct seen){.end = ends[0], .before = dup(STDERR_FILENO)};
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	fd_close(ends[1]);
	assert_int_equal(own_lines_new(&seen->lines, &error), 0);
}

static const char *said(struct seen *seen) {
	const ssize_t got = read(seen->end, seen->bytes, sizeof seen->bytes - 1);
	seen->bytes[got > 0 ? got : 0] = '\0';
	return seen->bytes;
}

static void end(struct seen *seen) {
	assert_int_equal(dup2(seen->before, STDERR_FILENO), STDERR_FILENO);
	fd_close(seen->before);
	fd_close(seen->end);
}

static void attack_r_19_what_sbx_says_waits_for_the_question(void **state) {
	struct seen seen;
	(void)state;
	begin(&seen);
	own_lines_hold(seen.lines, OUTPUT_OWN_QUESTION, true);
	own_lines_hold(seen.lines, OUTPUT_OTHERS_QUESTION, true);
	assert_false(own_lines_have_more(seen.lines));
	log_notice("one");
	assert_true(own_lines_have_more(seen.lines));
	log_notice("two");
	own_lines_hold(seen.lines, OUTPUT_OWN_QUESTION, false);
	assert_string_equal(said(&seen), "");
	own_lines_hold(seen.lines, OUTPUT_OTHERS_QUESTION, false);
	assert_false(own_lines_have_more(seen.lines));
	const char *lines = said(&seen);
	assert_non_null(strstr(lines, ": one\n"));
	assert_non_null(strstr(lines, ": two\n"));
	log_notice("three");
	assert_non_null(strstr(said(&seen), ": three\n"));
	own_lines_hold(seen.lines, OUTPUT_OWN_QUESTION, true);
	log_notice("four");
	own_lines_free(seen.lines);
	lines = said(&seen);
	assert_non_null(strstr(lines, ": four\n"));
	assert_null(strstr(lines, "one"));
	end(&seen);
}

static void what_is_dropped_is_never_said(void **state) {
	struct seen seen;
	(void)state;
	begin(&seen);
	own_lines_hold(seen.lines, OUTPUT_OTHERS_QUESTION, true);
	log_notice("before");
	own_lines_drop(seen.lines);
	log_notice("after");
	assert_false(own_lines_have_more(seen.lines));
	own_lines_hold(seen.lines, OUTPUT_OTHERS_QUESTION, false);
	own_lines_free(seen.lines);
	assert_string_equal(said(&seen), "");
	end(&seen);
}

static void more_than_is_kept_is_left_out(void **state) {
	struct seen seen;
	(void)state;
	begin(&seen);
	own_lines_hold(seen.lines, OUTPUT_OWN_QUESTION, true);
	for (int i = 0; i < 3000; i++) log_notice("%04d, a line that a tool makes sbx say", i);
	own_lines_free(seen.lines);
	const char *lines = said(&seen);
	assert_in_range(strlen(lines), OWN_LINES_MAX / 2, OWN_LINES_MAX);
	assert_non_null(strstr(lines, ": 0000,"));
	assert_null(strstr(lines, ": 2999,"));
	end(&seen);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_r_19_what_sbx_says_waits_for_the_question),
		cmocka_unit_test(what_is_dropped_is_never_said),
		cmocka_unit_test(more_than_is_kept_is_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
