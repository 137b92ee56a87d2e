/* How a question ended, in one line. */
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/cmocka.h"
#include "ui/prompt_ending.h"

static const struct {
	const char *push, *words;
} cases[] = {
	{"{'how':'answered','verdict':'allow','answer':{'agent':'desktop','lifetime':'until','ttl_ms':3600000}}",
	 "allowed for 1h, on the desktop"},
	{"{'how':'answered','verdict':'allow','answer':{'agent':'command','lifetime':'once','ttl_ms':null}}",
	 "allowed, this once, with sbx allow"},
	{"{'how':'answered','verdict':'deny','answer':{'agent':'command','lifetime':'once','ttl_ms':null}}",
	 "denied, this once, with sbx deny"},
	{"{'how':'answered','verdict':'deny','answer':{'agent':'tui','lifetime':'session','ttl_ms':null}}",
	 "denied until the sandbox ends, in sbx monitor"},
	{"{'how':'answered','verdict':'allow','answer':{'agent':'terminal','lifetime':'always','ttl_ms':null}}",
	 "allowed until you revoke it, in another terminal"},
	{"{'how':'expired','verdict':'deny','answer':null}", "nobody answered: denied"},
	{"{'how':'cancelled','verdict':null,'answer':null}", "the program that asked has ended"},
	{"{'how':'covered','verdict':'allow','answer':null}", "allowed by a grant or rule made meanwhile"},
	{"{'how':'covered','verdict':'deny','answer':null}", "denied by a grant or rule made meanwhile"},
	{"{'how':'covered','verdict':null,'answer':null}", "another question has taken its place"},
	{"{'how':'answered','verdict':'allow'}", "allowed"}, /* what isn't said isn't made up */
	{"{'how':'answered','verdict':'deny','answer':{'agent':'\\u001b[2J','lifetime':7,'ttl_ms':'x'}}", "denied"},
	{"{'how':'put-off'}", "put off: it is asked again"},
	{"{'how':'something','verdict':7}", "it is settled"},
	{"{'how':'runner-gone'}", "sbx has ended, and the question with it"},
	{"{'how':'broker-gone'}", "the broker is gone and the question with it: denied"},
	{"[]", "it is settled"},
};

static void each_ending_has_its_words(void **state) {
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP_FREE char *text = string_copy(cases[i].push);
		for (char *at = text; (at = strchr(at, '\''));) *at = '"';
		json_t *push = json_loads(text, 0, NULL);
		assert_non_null(push);
		CLEANUP_FREE char *words = prompt_ending(push);
		assert_string_equal(words, cases[i].words);
		assert_true(strlen("sbx: one of them is settled: ") + strlen(words) <= 80);
		json_decref(push);
	}
}

static void a_broker_that_is_gone_asks_nothing(void **state) {
	(void)state;
	CLEANUP_FREE char *words = prompt_ending(NULL);
	assert_string_equal(words, "the broker is gone and the question with it: denied");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_ending_has_its_words),
		cmocka_unit_test(a_broker_that_is_gone_asks_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
