#include <fcntl.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "support/cmocka.h"

static int status_of_child(void (*body)(void)) {
	pid_t child = fork();
	if (child == 0) {
		fclose(stderr);
		body();
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void overflow(void) {
	volatile size_t many = SIZE_MAX / 2 + 1;
	free(mem_resize(NULL, many, 4));
}

static void too_much(void) {
	volatile size_t many = SIZE_MAX / 4;
	free(mem_alloc(many, 1));
}

static void exhaustion_ends_the_process(void **state) {
	(void)state;
	assert_int_equal(status_of_child(overflow), 125);
	assert_int_equal(status_of_child(too_much), 125);
}

static void put_back(void *argument) {
	if (write(*(int *)argument, "p", 1) < 0) _exit(1);
}

static int told[2]; /* a pipe */

static void too_much_with_a_terminal(void) {
	mem_before_end(put_back, &told[1]);
	too_much();
}

static void too_much_with_none_any_more(void) {
	mem_before_end(put_back, &told[1]);
	mem_before_end(NULL, NULL);
	too_much();
}

static void too_much_in_a_child(void) {
	mem_before_end(put_back, &told[1]);
	_exit(status_of_child(too_much));
}

/* By the process that said so, and not by what it forked. */
static void what_outlives_the_process_is_put_back(void **state) {
	(void)state;
	char bytes[4];
	assert_int_equal(pipe2(told, O_NONBLOCK), 0);
	assert_int_equal(status_of_child(too_much_with_a_terminal), 125);
	assert_int_equal(read(told[0], bytes, sizeof bytes), 1);
	assert_int_equal(status_of_child(too_much_with_none_any_more), 125);
	assert_int_equal(status_of_child(too_much_in_a_child), 125);
	assert_int_equal(read(told[0], bytes, sizeof bytes), -1);
	close(told[0]);
	close(told[1]);
}

static void stolen_pointers_are_not_freed(void **state) {
	(void)state;
	char *kept;
	{
		CLEANUP_FREE char *owned = mem_copy("x", 2);
		kept = STEAL(owned);
		assert_null(owned);
	}
	assert_string_equal(kept, "x");
	free(kept);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exhaustion_ends_the_process),
		cmocka_unit_test(what_outlives_the_process_is_put_back),
		cmocka_unit_test(stolen_pointers_are_not_freed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
