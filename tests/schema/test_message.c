#include <string.h>

#include "base/string.h"
#include "schema/limits.h"
#include "schema/message.h"
#include "support/cmocka.h"

static void any_bytes_travel(void **state) {
	(void)state;
	static const char *const texts[] = {"",
					    "plain",
					    "é日本",
					    "\xff",
					    "a\xffz",
					    "\xef\x9e\x80",
					    "\xef\x9f\xbf",
					    "x\xef\x9e\x80\xff",
					    "\xf0\x9f\x98\x80",
					    "\xe2\x82",
					    "\x01\n\x7f",
					    "\xef\xa0\x80",
					    "\xef\x9f"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		json_t *json = message_bytes(texts[i]);
		assert_non_null(json);
		CLEANUP_FREE char *line = json_dumps(json, JSON_ENCODE_ANY);
		json_t *read = json_loads(line, JSON_DECODE_ANY, NULL);
		CLEANUP_FREE char *back = NULL;
		assert_int_equal(message_bytes_take(read, &back, NULL), 0);
		assert_string_equal(back, texts[i]);
		json_decref(json);
		json_decref(read);
	}
	char two[3] = {0};
	for (unsigned a = 1; a < 256; a++) {
		for (unsigned b = 1; b < 256; b++) {
			two[0] = (char)a;
			two[1] = (char)b;
			json_t *json = message_bytes(two);
			CLEANUP_FREE char *back = NULL;
			assert_int_equal(message_bytes_take(json, &back, NULL), 0);
			assert_string_equal(back, two);
			json_decref(json);
		}
	}
}

static void attack_b05_bad_messages(void **state) {
	(void)state;
	static const char *const texts[] = {"",
					    "x",
					    "[]",
					    "7",
					    "null",
					    "{",
					    "{\"a\":1,\"a\":2}",
					    "{\"a\":\"\\u0000\"}",
					    "{\"a\":\"\xff\"}",
					    "{}{}",
					    "{\"a\":\"\\ud800\"}"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		json_t *json = NULL;
		struct error error = ERROR_NONE;
		if (message_decode(texts[i], strlen(texts[i]), &json, &error) == 0) fail_msg("%s", texts[i]);
		assert_null(json);
		assert_true(error.code > 0);
	}
	CLEANUP_STRING struct string deep = {0};
	string_append(&deep, "{\"a\":");
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++) string_append_char(&deep, '[');
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++) string_append_char(&deep, ']');
	string_append_char(&deep, '}');
	json_t *json = NULL;
	assert_true(message_decode(deep.data, deep.size, &json, NULL) < 0);

	CLEANUP_STRING struct string large = {0};
	string_append(&large, "{\"a\":\"");
	while (large.size < LIMIT_MESSAGE) string_append(&large, "[[[[[[[[");
	string_append(&large, "\"}");
	assert_true(message_decode(large.data, large.size, &json, NULL) < 0);
	json = json_pack("{s:s}", "a", large.data);
	CLEANUP_FREE char *text = NULL;
	size_t size;
	assert_true(message_encode(json, &text, &size, NULL) < 0);
	json_decref(json);

	static const char brackets[] = "{\"a\":\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"}";
	assert_int_equal(message_decode(brackets, sizeof brackets - 1, &json, NULL), 0);
	json_decref(json);
}

static void names(void **state) {
	(void)state;
	for (int i = 0; i < MESSAGE_TYPE_COUNT; i++) {
		enum message_type type;
		assert_int_equal(message_type_parse(message_info((enum message_type)i)->name, &type, NULL), 0);
		assert_int_equal(type, i);
	}
	enum message_type type;
	assert_true(message_type_parse("nope", &type, NULL) < 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(any_bytes_travel),
					   cmocka_unit_test(attack_b05_bad_messages), cmocka_unit_test(names)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
