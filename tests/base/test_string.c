#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"
#include "base/string.h"
#include "support/cmocka.h"

static void lists_are_argvs(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings list = {0};
	for (int i = 0; i < 1000; i++) {
		strings_addf(&list, "%d", 999 - i);
		assert_null(list.items[list.count]);
	}
	assert_int_equal(list.count, 1000);
	assert_string_equal(list.items[1], "998");
	strings_sort(&list);
	assert_string_equal(list.items[1], "1");
	assert_true(strings_contain(&list, "512"));
	assert_false(strings_contain(&list, "1000"));
}

static void texts_grow(void **state) {
	(void)state;
	CLEANUP_STRING struct string text = {0};
	CLEANUP_FREE char *empty = string_steal(&text);
	assert_string_equal(empty, "");
	for (int i = 0; i < 5000; i++) string_appendf(&text, "%d,", i);
	string_append_bytes(&text, "a\0b", 3);
	assert_int_equal(text.size, strlen(text.data) + 2);
	assert_true(string_starts(text.data, "0,1,2,") && string_ends(text.data, "4999,a"));
}

static void arrays_grow_without_a_capacity(void **state) {
	(void)state;
	int *items = NULL;
	for (size_t i = 0; i < 4097; i++) {
		items = array_grow(items, i, sizeof *items);
		items[i] = (int)i;
	}
	for (size_t i = 0; i < 4097; i++) assert_int_equal(items[i], i);
	free(items);
}

static void numbers(void **state) {
	(void)state;
	unsigned long long value = 7;
	assert_int_equal(string_to_u64("18446744073709551615", &value), 0);
	assert_true(value == ULLONG_MAX);
	assert_int_equal(string_to_u64("18446744073709551616", &value), -ERANGE);
	assert_int_equal(string_to_u64("", &value), -EINVAL);
	assert_int_equal(string_to_u64("-1", &value), -EINVAL);
	assert_int_equal(string_to_u64("1 ", &value), -EINVAL);
	assert_int_equal(string_to_u64("0x1", &value), -EINVAL);
}

static void hashes_are_sha_256(void **state) {
	(void)state;
	/* FIPS 180-4's example of one block. */
	static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	char whole[HASH_HEX_SIZE], halves[HASH_HEX_SIZE];
	hash_hex(whole, "abc", 3);
	hash_hex_two(halves, "a", 1, "bc", 2);
	assert_string_equal(whole, abc);
	assert_string_equal(halves, abc);
}

static void tokens_differ(void **state) {
	(void)state;
	char a[RANDOM_TOKEN_SIZE], b[RANDOM_TOKEN_SIZE];
	random_token(a);
	random_token(b);
	assert_int_equal(strlen(a), 32);
	assert_string_not_equal(a, b);
}

static void integers_are_written(void **state) {
	(void)state;
	static const int64_t values[] = {0, 1, -1, 9, 10, 1234567890123456789, INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
		CLEANUP_STRING struct string text = {0};
		CLEANUP_FREE char *expected = string_format("%lld", (long long)values[i]);
		string_append_integer(&text, values[i]);
		assert_string_equal(text.data, expected);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_argvs),
		cmocka_unit_test(texts_grow),
		cmocka_unit_test(arrays_grow_without_a_capacity),
		cmocka_unit_test(numbers),
		cmocka_unit_test(integers_are_written),
		cmocka_unit_test(hashes_are_sha_256),
		cmocka_unit_test(tokens_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
