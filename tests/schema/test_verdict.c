/* The text that is written directly says what the tree says, whatever is in it. */
#include <string.h>

#include "base/string.h"
#include "schema/message.h"
#include "schema/verdict.h"
#include "support/cmocka.h"

static void same(const struct verdict *verdict) {
	CLEANUP_STRING struct string text = {0};
	json_t *tree = verdict_to_json(verdict);
	verdict_write(verdict, &text);
	json_t *read = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(read);
	assert_true(json_equal(tree, read));
	json_decref(tree);
	json_decref(read);
}

static void every_field_is_written(void **state) {
	(void)state;
	same(&(struct verdict){0});
	same(&(struct verdict){.effect = EFFECT_ALLOW,
			       .module = "grants",
			       .why = (char *)"grant 3 allows net:access \"x\\y\"",
			       .rule = (char *)"policy.yaml:12",
			       .grant = INT64_MAX,
			       .prompt = 7,
			       .confirm_terminal = true,
			       .private_allowed = true,
			       .direct = true,
			       .this_run = true,
			       .asked_user = true});
	same(&(struct verdict){.effect = EFFECT_ASK, .why = (char *)""});
}

static void any_bytes_are_written(void **state) {
	(void)state;
	char two[3] = "";
	for (unsigned a = 1; a < 256; a++) {
		for (unsigned b = 1; b < 256; b++) {
			two[0] = (char)a;
			two[1] = (char)b;
			same(&(struct verdict){.why = two, .rule = (char *)"\xef\x9e\x80\xff"});
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_written),
		cmocka_unit_test(any_bytes_are_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
