#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "support/cmocka.h"

static void attack_b09_hostile_text_is_visible(void **state) {
	(void)state;
	static const struct {
		const char *bytes, *shown;
	} cases[] = {
		{"plain", "plain"},
		{"naïve 日本", "naïve 日本"},
		{"a\nb\tc\rd", "a\\nb\\tc\\rd"},
		{"\x1b[31mred", "\\x1b[31mred"},
		{"\x7f\x01", "\\x7f\\x01"},
		{"a\\b\\*\\", "a\\b\\*\\"},
		{"a\\\\b", "a\\\\b"},
		{"a\\n\\\\x1b", "a\\\\n\\\\\\\\x1b"}, /* as it stands, no escape */
		{"a\\\n", "a\\\\\\n"},                /* a backslash and a line's end */
		{"\\u{202e}", "\\\\u{202e}"},
		{"\xe2\x80\xaegnp.exe", "\\u{202e}gnp.exe"},          /* right-to-left override */
		{"\xe2\x81\xa6x\xe2\x81\xa9", "\\u{2066}x\\u{2069}"}, /* isolates */
		{"a\xe2\x80\x8b"
		 "b",
		 "a\\u{200b}b"},               /* zero-width space */
		{"\xef\xbb\xbf", "\\u{feff}"}, /* byte order mark */
		{"\xc2\x9b"
		 "31m",
		 "\\u{9b}31m"},                     /* the C1 form of ESC [ */
		{"\xc2\xa0", "\\u{a0}"},            /* a space that isn't one */
		{"\xe3\x85\xa4", "\\u{3164}"},      /* Hangul filler */
		{"\xf3\xa0\x81\xa1", "\\u{e0061}"}, /* tag letters */
		{"\xff\xfe", "\\xff\\xfe"},
		{"\xc0\xaf", "\\xc0\\xaf"},                   /* over-long '/' */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* a surrogate */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* past U+10FFFF */
		{"\xe2\x82", "\\xe2\\x82"},                   /* cut short */
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *shown = text_visible(cases[i].bytes);
		assert_string_equal(shown, cases[i].shown);
		assert_true(text_is_utf8(shown, strlen(shown)));
	}
}

static void texts_that_differ_look_different(void **state) {
	(void)state;
	static const char letters[] = "\\n\nx1b\x1b*";
	char bytes[5] = {0}, *shown[4096];
	size_t count = 0;
	for (unsigned i = 0; i < 8 * 8 * 8 * 8; i++) {
		for (unsigned k = 0; k < 4; k++) bytes[k] = letters[i >> (3 * k) & 7];
		shown[count++] = text_visible(bytes);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count; k++) assert_string_not_equal(shown[i], shown[k]);
	for (size_t i = 0; i < count; i++) free(shown[i]);
}

static void every_byte_string_comes_out_printable(void **state) {
	(void)state;
	for (unsigned a = 1; a < 256; a++) {
		for (unsigned b = 1; b < 256; b++) {
			char bytes[3] = {(char)a, (char)b, '\0'};
			CLEANUP_FREE char *shown = text_visible(bytes);
			assert_true(text_is_utf8(shown, strlen(shown)));
			for (const char *p = shown; *p; p++) assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
			CLEANUP_FREE char *word = text_shell_word(bytes), *seen = text_visible(word);
			for (const char *p = word; *p; p++) assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
			assert_true(strchr(bytes, '\\') || strchr(word, '\\') || strcmp(word, seen) == 0);
		}
	}
}

static void columns_are_what_a_terminal_needs(void **state) {
	(void)state;
	static const struct {
		const char *text;
		size_t columns;
	} cases[] = {{"plain", 5},
		     {"n\xc3\xa4h", 3},
		     {"na\xcc\x88h", 3},                          /* a and a diaeresis that is drawn over it */
		     {"\xe6\xbc\xa2\xe5\xad\x97", 4},             /* two ideographs */
		     {"\xed\x95\x9c\xe1\x84\x92\xe1\x85\xa1", 4}, /* a syllable, and one of two letters */
		     {"\xf0\x9f\x98\x80", 2},                     /* a face */
		     {"\xe2\x9c\x85\xe2\x9c\x93", 3},             /* a wide mark and a narrow one */
		     {"\xe0\xb8\x81\xe0\xb9\x88", 1}};            /* Thai with a tone */
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(text_columns(cases[i].text), cases[i].columns);
	CLEANUP_FREE char *marks = text_visible_cut("o\xcc\x88o\xcc\x88o\xcc\x88o\xcc\x88o\xcc\x88o\xcc\x88", 5);
	assert_int_equal(text_columns(marks), 5);
	assert_string_equal(marks, "o\xcc\x88o\xcc\x88…o\xcc\x88o\xcc\x88");
}

static void words_for_a_text_that_is_escaped_later_need_it_no_more(void **state) {
	(void)state;
	static const char odd[] = "a\x07z\xff\xe2\x81\xa6 b\\c\nd\xc3\xa4";
	CLEANUP_FREE char *plain = text_plain(odd), *visible = text_visible(plain), *empty = text_plain("");
	assert_string_equal(plain, "a�z�� b\\c d\xc3\xa4");
	assert_string_equal(visible, "a�z�� b\\c d\xc3\xa4");
	assert_string_equal(empty, "");
}

static void long_text_keeps_both_ends(void **state) {
	(void)state;
	CLEANUP_FREE char *cut = text_visible_cut("/home/user/project/node_modules/left-pad/index.js", 20);
	assert_true(text_columns(cut) <= 20);
	assert_true(strncmp(cut, "/home/use", 9) == 0);
	assert_non_null(strstr(cut, "…"));
	assert_string_equal(cut + strlen(cut) - 8, "index.js");
	CLEANUP_FREE char *whole = text_visible_cut("short", 20);
	assert_string_equal(whole, "short");
	CLEANUP_FREE char *broad = text_visible_cut("日本語日本語日本語日本語", 9);
	assert_true(text_columns(broad) <= 9);
}

static void a_suggested_word_is_quoted_for_the_shell(void **state) {
	(void)state;
	static const struct {
		const char *bytes, *word;
	} cases[] = {
		{"svc.test:8443", "svc.test:8443"},
		{"/a b", "'/a b'"},
		{"", "''"},
		{"x';reboot;'", "'x'\\'';reboot;'\\'''"},
		{"$(id)`id`", "'$(id)`id`'"},
		{"a\\b", "'a\\b'"},
		{"a\\';reboot;#", "'a'\\\\''\\'';reboot;#'"},
		{"a \\", "'a '\\\\''"},
		{"=reboot", "'=reboot'"},
		{"a\nb", "$'a\\012b'"},
		{"it's\x1b[31m\\", "$'it\\047s\\033[31m\\134'"},
		{"\xe2\x80\xae", "$'\\342\\200\\256'"}, /* right-to-left override */
		{"\xff-", "$'\\377-'"},
		{"gr\xc3\xbc\xc3\x9f", "'gr\xc3\xbc\xc3\x9f'"},
		{"~/x", "'~/x'"},
		{"*.test", "'*.test'"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *word = text_shell_word(cases[i].bytes);
		assert_string_equal(word, cases[i].word);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_b09_hostile_text_is_visible),
		cmocka_unit_test(texts_that_differ_look_different),
		cmocka_unit_test(every_byte_string_comes_out_printable),
		cmocka_unit_test(a_suggested_word_is_quoted_for_the_shell),
		cmocka_unit_test(words_for_a_text_that_is_escaped_later_need_it_no_more),
		cmocka_unit_test(columns_are_what_a_terminal_needs),
		cmocka_unit_test(long_text_keeps_both_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
