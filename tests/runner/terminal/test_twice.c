/* Which answers count where a question may be painted over. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "support/cmocka.h"
#include "terminal/twice.h"

/* Says what it was told to say, and notes how it was asked. */
struct script {
	const char *effects[2]; /* NULL: it ends with `errors` */
	int errors[2];
	size_t calls;
	enum run_asking asked[2];
};

static int answer(void *context, const struct run_question *question, int fd, int gone_fd, json_t **ret_answers,
		  struct error *error) {
	struct script *script = context;
	const size_t call = script->calls++;
	(void)fd, (void)gone_fd, (void)error;
	assert_true(call < 2);
	script->asked[call] = question->asking;
	if (!script->effects[call]) return script->errors[call];
	*ret_answers = json_array();
	for (size_t i = 0; i < question->count; i++)
		json_array_append_new(*ret_answers,
				      json_pack("{s:s, s:i}", "effect", script->effects[call], "call", (int)call));
	return 0;
}

/* Of two prompts; `effect` is that of both answers, of the last call; NULL: there are none. */
static void expect(struct script *script, bool others_write, int result, const char *effect) {
	const struct prompt prompts[] = {{.id = 1}, {.id = 2}};
	const struct run_question question = {.prompts = prompts, .count = ARRAY_LENGTH(prompts)};
	const struct run_terminal user = {.context = script, .ask = answer};
	const struct twice twice = {.user = &user, .others_write = others_write};
	struct error error = ERROR_NONE;
	json_t *answers = NULL, *item;
	size_t index;
	assert_int_equal(twice_ask(&twice, &question, -1, -1, &answers, &error), result);
	assert_int_equal(json_array_size(answers), effect ? 2 : 0);
	json_array_foreach (answers, index, item) {
		assert_string_equal(json_string_value(json_object_get(item, "effect")), effect);
		assert_int_equal(json_integer_value(json_object_get(item, "call")), script->calls - 1);
	}
	json_decref(answers);
}

static void who_sits_alone_is_asked_once(void **state) {
	struct script script = {.effects = {"allow"}};
	(void)state;
	expect(&script, false, 0, "allow");
	assert_int_equal(script.calls, 1);
	assert_int_equal(script.asked[0], RUN_ASK_ONCE);
}

static void a_denial_is_asked_once(void **state) {
	struct script script = {.effects = {"deny"}};
	(void)state;
	expect(&script, true, 0, "deny");
	assert_int_equal(script.calls, 1);
	assert_int_equal(script.asked[0], RUN_ASK_FIRST);
}

static void attack_r_19_only_the_second_answer_allows(void **state) {
	static const char *const effects[] = {"allow", "deny"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(effects); i++) {
		struct script script = {.effects = {"allow", effects[i]}};
		expect(&script, true, 0, effects[i]);
		assert_int_equal(script.calls, 2);
		assert_int_equal(script.asked[1], RUN_ASK_AGAIN);
	}
}

static void attack_r_19_what_was_not_answered_twice_is_not_allowed(void **state) {
	static const int errors[] = {-ECANCELED, -EINTR, -EIO, -E2BIG};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
		struct script first = {.errors = {errors[i]}};
		struct script second = {.effects = {"allow"}, .errors = {0, errors[i]}};
		expect(&first, true, errors[i], NULL);
		assert_int_equal(first.calls, 1);
		expect(&second, true, errors[i], NULL);
	}
}

static bool is_busy(void *context, int fd) {
	size_t *looks = context;
	(void)fd;
	if (*looks > 0) (*looks)--;
	return *looks > 0;
}

static void attack_r_19_it_is_asked_when_the_programs_of_a_pipeline_have_read_all(void **state) {
	struct script script = {.effects = {"deny"}};
	const struct prompt prompt = {.id = 1};
	const struct run_question question = {.prompts = &prompt, .count = 1};
	const struct run_terminal user = {.context = &script, .ask = answer};
	size_t looks = 8;
	const struct twice twice = {.user = &user, .others_write = true, .is_busy = is_busy, .context = &looks};
	struct error error = ERROR_NONE;
	json_t *answers = NULL;
	(void)state;
	assert_int_equal(twice_ask(&twice, &question, -1, -1, &answers, &error), 0);
	json_decref(answers);
	assert_int_equal(looks, 0);
	assert_int_equal(script.calls, 1);
}

struct slow {
	struct script script;
	size_t looks; /* at a pipeline that has more to write, from the first answer on */
};

static bool is_slow(void *context, int fd) {
	struct slow *slow = context;
	(void)fd;
	if (slow->script.calls == 0 || slow->looks == 0) return false;
	slow->looks--;
	return true;
}

/* It takes longer than a first question waits. */
static void attack_r_19_an_allow_waits_for_the_slowest_pipeline(void **state) {
	struct slow slow = {.script = {.effects = {"allow", "allow"}}, .looks = 160};
	const struct prompt prompt = {.id = 1};
	const struct run_question question = {.prompts = &prompt, .count = 1};
	const struct run_terminal user = {.context = &slow.script, .ask = answer};
	const struct twice twice = {.user = &user, .others_write = true, .is_busy = is_slow, .context = &slow};
	struct error error = ERROR_NONE;
	json_t *answers = NULL;
	(void)state;
	assert_int_equal(twice_ask(&twice, &question, -1, -1, &answers, &error), 0);
	json_decref(answers);
	assert_int_equal(slow.looks, 0);
	assert_int_equal(slow.script.calls, 2);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_sits_alone_is_asked_once),
		cmocka_unit_test(a_denial_is_asked_once),
		cmocka_unit_test(attack_r_19_only_the_second_answer_allows),
		cmocka_unit_test(attack_r_19_what_was_not_answered_twice_is_not_allowed),
		cmocka_unit_test(attack_r_19_an_allow_waits_for_the_slowest_pipeline),
		cmocka_unit_test(attack_r_19_it_is_asked_when_the_programs_of_a_pipeline_have_read_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
