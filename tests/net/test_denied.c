#include <string.h>

#include "net/gate/denied.h"
#include "support/cmocka.h"

static void deny(struct denied *denied, int64_t prompt, const char *why) {
	const struct verdict verdict = {.module = "ask", .why = (char *)why, .prompt = prompt, .asked_user = true};
	denied_add(denied, "/home/ada/x", &verdict);
}

static void what_follows_from_the_first_answer_is_said_once(void **state) {
	(void)state;
	struct denied denied = {0};
	deny(&denied, 44, "you denied it (prompt 44)");
	for (int i = 0; i < 3; i++) deny(&denied, 0, "you denied it a moment ago (prompt 44)");
	assert_int_equal(denied.count, 1);
	assert_int_equal(denied.items[0].count, 4);
	assert_null(denied.items[0].last);
	denied_finish(&denied);
}

static void another_answer_is_said_as_the_last_one(void **state) {
	(void)state;
	struct denied denied = {0};
	deny(&denied, 44, "you denied it (prompt 44)");
	deny(&denied, 45, "you denied it (prompt 45)");
	assert_string_equal(denied.items[0].last, "you denied it (prompt 45)");
	deny(&denied, 0, "you denied it a moment ago (prompt 45)");
	assert_string_equal(denied.items[0].last, "you denied it a moment ago (prompt 45)");
	denied_finish(&denied);
}

static void what_nobody_was_asked_about_has_no_number_to_follow_from(void **state) {
	(void)state;
	struct denied denied = {0};
	deny(&denied, 0, "no rule allows it");
	deny(&denied, 0, "you denied it a moment ago (prompt 0)");
	assert_string_equal(denied.items[0].last, "you denied it a moment ago (prompt 0)");
	denied_finish(&denied);
}

static void a_folder_is_said_to_have_brought_it_if_the_last_one_did(void **state) {
	(void)state;
	struct denied denied = {0};
	deny(&denied, 0, "no rule allows it");
	assert_false(denied.items[0].brought);
	denied_mark_brought(&denied, denied.items[0].target);
	assert_true(denied.items[0].brought);
	deny(&denied, 0, "no rule allows it");
	assert_false(denied.items[0].brought);
	denied_finish(&denied);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_follows_from_the_first_answer_is_said_once),
		cmocka_unit_test(another_answer_is_said_as_the_last_one),
		cmocka_unit_test(what_nobody_was_asked_about_has_no_number_to_follow_from),
		cmocka_unit_test(a_folder_is_said_to_have_brought_it_if_the_last_one_did),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
