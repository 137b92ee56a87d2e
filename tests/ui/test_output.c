#include <string.h>

#include "base/memory.h"
#include "support/cmocka.h"
#include "ui/csv.h"
#include "ui/output.h"

static void attack_b09_json_is_ascii(void **state) {
	(void)state;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	json_t *json = json_pack("{s:s}", "target", "a\xe2\x80\xae\x1b\n\"é");
	json_line(out, json);
	json_decref(json);
	fclose(out);
	assert_string_equal(text, "{\"target\":\"a\\u202E\\u001B\\n\\\"\\u00E9\"}\n");
	free(text);
}

static void a_list_is_one_array(void **state) {
	(void)state;
	for (int count = 0; count < 3; count++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);
		struct json_list list = {.out = out};
		for (int i = 0; i < count; i++) {
			json_t *item = json_integer(i);
			json_list_item(&list, item);
			json_decref(item);
		}
		json_list_end(&list);
		fclose(out);
		json_t *array = json_loads(text, 0, NULL);
		assert_true(json_is_array(array));
		assert_int_equal(json_array_size(array), count);
		json_decref(array);
		free(text);
	}
}

static void csv_values_are_quoted_visible_and_no_formulas(void **state) {
	(void)state;
	CLEANUP_STRING struct string line = {0};
	static const char *const values[] = {"",       "plain", "a,b", "say \"x\"",     NULL,
					     "=cmd()", "-1+2",  "@x",  "two\nlines\x1b"};
	for (size_t i = 0; i < ARRAY_LENGTH(values); i++) csv_append(&line, values[i]);
	assert_string_equal(line.data, ",plain,\"a,b\",\"say \"\"x\"\"\",,'=cmd(),'-1+2,'@x,two\\nlines\\x1b");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_b09_json_is_ascii),
		cmocka_unit_test(a_list_is_one_array),
		cmocka_unit_test(csv_values_are_quoted_visible_and_no_formulas),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
