#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "support/cmocka.h"

static void context_goes_in_front(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	assert_int_equal(error_set(&error, ENOENT, "no file %d", 7), -ENOENT);
	assert_int_equal(error_prefix(&error, "loading %s", "x"), -ENOENT);
	assert_string_equal(error.message, "loading x: no file 7");
	errno = EACCES;
	assert_int_equal(error_errno(&error, "opening"), -EACCES);
	assert_string_equal(error.message, "opening: Permission denied");
}

static void never_success(void **state) {
	(void)state;
	struct error error = ERROR_NONE;
	assert_true(error_set(&error, 0, "x") < 0);
	errno = 0;
	assert_true(error_errno(&error, "x") < 0);
	error = ERROR_NONE;
	assert_true(error_prefix(&error, "x") < 0);
	assert_true(error_prefix(NULL, "x") < 0);
	assert_int_equal(error_set(NULL, ENOENT, "x"), -ENOENT);
}

static void long_texts_are_cut(void **state) {
	(void)state;
	char text[ERROR_MESSAGE_MAX * 2];
	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	struct error error = ERROR_NONE;
	error_set(&error, EIO, "%s", text);
	error_prefix(&error, "%s", text);
	assert_int_equal(strlen(error.message), ERROR_MESSAGE_MAX - 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(context_goes_in_front),
		cmocka_unit_test(never_success),
		cmocka_unit_test(long_texts_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
