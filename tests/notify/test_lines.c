/* How many lines a text takes, never fewer than servers make of it; the end of a target, the beginning of a command. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "lines.h"
#include "support/cmocka.h"

static void lines_are_counted_as_they_wrap(void **state) {
	(void)state;
	static const struct {
		const char *text;
		size_t lines;
	} rows[] = {
		{"", 1},
		{"~/notes/plan.md", 1},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1},  /* 40 */
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 2}, /* 41 */
		{"one\ntwo", 2},
		{"one\n", 2},
		{"\nnpm install", 2},
		{"aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb", 2}, /* 20 + 1 + 20 */
		{"/aaaaaaaaaaaaaaaaaaaaa/bbbbbbbbbbbbbbbbbbbbb/cccccccccccccccccccc",
		 3}, /* a line each, though 65 columns */
		{"aaaaaaaaaaaaaaaaaaaaaa!bbbbbbbbbbbbbbbbbbbbbb!cccccccccccccccccccc", 3},
		{"WWWWWWWWWWWWWWWWWWWW", 1}, /* 20, as wide as 40 */
		{"WWWWWWWWWWWWWWWWWWWWW", 2},
		{"漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢", 2}, /* 21 */
		{"+++++++++++++++++++++", 2},
		{"OOOOOOOOOOOOOOOOOOOOO", 2},
		{"ЖЖЖЖЖЖЖЖЖЖЖЖЖЖЖЖЖЖЖЖЖ", 2},
		{"௵௵௵௵௵௵௵௵௵௵௵", 2}, /* a letter as wide as four */
		{"﷽﷽﷽", 2},         /* a sentence in one letter */
		{"a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81"
		 "\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81"
		 "\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81"
		 "\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
		 2}, /* a pile of 40 accents */
		{"a • b · c", 1},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) assert_int_equal(lines_of(rows[i].text), rows[i].lines);
}

static void a_tail_begins_where_a_part_does(void **state) {
	(void)state;
	static const char path[] = "/home/ada/shop/packages/frontend/components/button/index.ts";
	CLEANUP_FREE char *tail = lines_tail("", path, strrchr(path, '/') + 1, "/", 1);
	assert_string_equal(tail, "…/frontend/components/button/index.ts");
	CLEANUP_FREE char *behind = lines_tail("• read everything in ", path, strrchr(path, '/') + 1, "/", 1);
	assert_string_equal(behind, "…/button/index.ts");
	static const char host[] = "accounts.bank.test.a-very-long-label-in-between.example.org:443";
	CLEANUP_FREE char *domain = lines_tail("", host, strstr(host, "example"), ".", 1);
	assert_string_equal(domain, "…example.org:443");
	CLEANUP_FREE char *whole = lines_tail("", "/srv/x", "", "/", 1);
	assert_string_equal(whole, "/srv/x");
	static const char name[] = "/srv/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	assert_null(lines_tail("", name, name + 5, "/", 1));
	CLEANUP_FREE char *anywhere = lines_tail("", name, name + strlen(name), NULL, 1);
	assert_int_equal(lines_of(anywhere), 1);
	assert_true(string_starts(anywhere, "…aaa"));
}

static void a_head_is_cut_between_letters(void **state) {
	(void)state;
	static const struct {
		const char *text, *head;
	} rows[] = {{"npm", "npm"},
		    {"npm install", "npm insta…"},
		    {"npm instal", "npm instal"},
		    {"漢漢漢漢漢漢", "漢漢漢漢…"},
		    {"", ""}};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		CLEANUP_FREE char *head = lines_head(rows[i].text, 10);
		assert_string_equal(head, rows[i].head);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_counted_as_they_wrap),
		cmocka_unit_test(a_tail_begins_where_a_part_does),
		cmocka_unit_test(a_head_is_cut_between_letters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
