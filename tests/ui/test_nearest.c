#include <string.h>

#include "base/memory.h"
#include "support/cmocka.h"
#include "ui/nearest.h"

static const char *nearest_of(const char *word) {
	static const char *const known[] = {"run", "grant", "revoke", "grants", "sessions", "history", "deny"};
	struct nearest nearest = nearest_start(word);
	for (size_t i = 0; i < ARRAY_LENGTH(known); i++) nearest_offer(&nearest, known[i]);
	return nearest_found(&nearest);
}

static void a_slip_finds_the_word_that_was_meant(void **state) {
	(void)state;
	static const struct {
		const char *word, *meant;
	} cases[] = {{"grnt", "grant"},     {"gratn", "grant"},      {"histroy", "history"}, {"rn", "run"},
		     {"grantss", "grants"}, {"sesions", "sessions"}, {"revok", "revoke"}};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_non_null(nearest_of(cases[i].word));
		assert_string_equal(nearest_of(cases[i].word), cases[i].meant);
	}
}

static void what_is_far_from_everything_finds_nothing(void **state) {
	(void)state;
	static const char *const words[] = {"",
					    "x",
					    "zz",
					    "frobnicate",
					    "no-such-command",
					    "a-word-that-is-longer-than-any-word-of-ours-could-ever-be"};
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) assert_null(nearest_of(words[i]));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slip_finds_the_word_that_was_meant),
		cmocka_unit_test(what_is_far_from_everything_finds_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
