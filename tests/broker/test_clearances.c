/* The file by which runners are cleared, as a runner reads it. */
#include "clearances.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/clearance.h"
#include "support/cmocka.h"
#include "support/home.h"

static char *file_path(void) {
	return home_path("broker.clearance");
}

static struct clearances *make(void) {
	CLEANUP_FREE char *folder = home_path("");
	struct clearances *clearances;
	struct error error = ERROR_NONE;
	if (clearances_new(folder, &clearances, &error) < 0) fail_msg("%s", error.message);
	return clearances;
}

static uint32_t flags_of(size_t page) {
	CLEANUP_FREE char *path = file_path();
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct clearance_word word;
	assert_int_equal(pread(fd, &word, sizeof word, (off_t)page * getpagesize()), sizeof word);
	assert_int_equal(word.error, 0);
	return word.flags;
}

static size_t take(struct clearances *clearances, bool given) {
	size_t page;
	assert_int_equal(clearances_take(clearances, given, &page, NULL), 0);
	return page;
}

static void each_has_a_page_of_its_own_until_it_leaves_it(void **state) {
	(void)state;
	struct clearances *clearances = make();
	assert_int_equal(take(clearances, true), 0);
	assert_int_equal(take(clearances, false), 1);
	assert_int_equal(take(clearances, true), 2);
	assert_int_equal(flags_of(0), CLEARANCE_GIVEN);
	assert_int_equal(flags_of(1), CLEARANCE_WITHHELD);
	assert_int_equal(clearances_write(clearances, 1, true, NULL), 0);
	assert_int_equal(clearances_write(clearances, 2, false, NULL), 0);
	assert_int_equal(flags_of(0), CLEARANCE_GIVEN);
	assert_int_equal(flags_of(1), CLEARANCE_GIVEN);
	assert_int_equal(flags_of(2), CLEARANCE_WITHHELD);
	clearances_leave(clearances, 1);
	assert_int_equal(take(clearances, false), 1);
	assert_int_equal(flags_of(1), CLEARANCE_WITHHELD);
	assert_int_equal(take(clearances, true), 3);
	clearances_free(clearances);
}

/* Of a broker that was killed, whose runners have it mapped still. */
static void a_new_broker_makes_its_own_file_and_removes_no_others(void **state) {
	(void)state;
	CLEANUP_FREE char *path = file_path();
	struct clearances *killed = make();
	take(killed, false);
	struct clearances *next = make();
	take(next, true);
	assert_int_equal(clearances_write(killed, 0, false, NULL), 0);
	assert_int_equal(flags_of(0), CLEARANCE_GIVEN);
	clearances_free(killed);
	assert_int_equal(access(path, F_OK), 0);
	clearances_free(next);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_a_page_of_its_own_until_it_leaves_it),
		cmocka_unit_test(a_new_broker_makes_its_own_file_and_removes_no_others),
	};
	home_make(NULL);
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
