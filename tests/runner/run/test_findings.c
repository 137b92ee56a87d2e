/* What is said of findings, a line each kind. */
#include "run/findings.h"

#include <string.h>

#include "support/cmocka.h"

static void a_kind_of_finding_is_one_line(void **state) {
	(void)state;
	struct findings findings = {.session = 7};
	findings_add(&findings, FINDING_PROTECTED, "/p/.envrc", NULL, json_object());
	CLEANUP_FREE char *one = findings_line(&findings, FINDING_PROTECTED),
			  *none = findings_line(&findings, FINDING_LINK);
	assert_string_equal(one, "/p/.envrc is new and would have been protected: look at it before a program on the "
				 "host uses it");
	assert_null(none);
	findings_add(&findings, FINDING_PROTECTED, "/p/a\nb", NULL, json_object());
	findings_add(&findings, FINDING_PROTECTED, "/p/c", NULL, json_object());
	CLEANUP_FREE char *many = findings_line(&findings, FINDING_PROTECTED);
	assert_string_equal(many, "/p/.envrc, /p/a\\nb and /p/c are new and would have been protected: look at them "
				  "before a program on the host uses them");
	findings_finish(&findings);
}

static void more_than_a_line_holds_are_counted_and_more_than_the_history_takes_too(void **state) {
	(void)state;
	struct findings findings = {.session = 7};
	for (int i = 0; i < FINDINGS_TOLD + 3; i++) {
		CLEANUP_FREE char *path = string_format("/p/%d/.git", i);
		findings_add(&findings, FINDING_REPOSITORY, path, NULL, json_object());
	}
	CLEANUP_FREE char *line = findings_line(&findings, FINDING_REPOSITORY);
	assert_string_equal(line,
			    "a sandboxed tool created /p/0/.git, /p/1/.git, /p/2/.git, /p/3/.git, /p/4/.git, "
			    "/p/5/.git and 97 more (sbx history --session 7): check them (hooks, config) before you "
			    "run git there");
	assert_int_equal(findings.kinds[FINDING_REPOSITORY].count, FINDINGS_TOLD);
	assert_string_equal(
		json_string_value(json_object_get(findings.kinds[FINDING_REPOSITORY].items[0].detail, "what")),
		"repository");
	findings_finish(&findings);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kind_of_finding_is_one_line),
		cmocka_unit_test(more_than_a_line_holds_are_counted_and_more_than_the_history_takes_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
