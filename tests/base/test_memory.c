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
		cmocka_unit_test(stolen_pointers_are_not_freed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
