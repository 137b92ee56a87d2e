/* Which answers count where a question may be painted over. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "support/cmocka.h"
#include "terminal/twice.h"

/* Says what it was told to say, and notes how it was asked about which prompts. */
struct script {
	const char *answers[2]; /* letters: a(llow), d(eny); fewer than prompts: then it ends with `errors` */
	int errors[2];
	size_t calls;
	enum run_asking asked[2];
	int64_t first[2];
	size_t counts[2];
};

static int answer(void *context, enum run_asking asking, int fd, int gone_fd, const struct prompt *prompts,
		  size_t count, json_t **ret_answers, struct error *error) {
	struct script *script = context;
	const size_t call = script->calls++;
	(void)fd, (void)gone_fd, (void)error;
	assert_true(call < 2);
	script->asked[call] = asking;
	script->first[call] = prompts[0].id;
	script->counts[call] = count;
	*ret_answers = json_array();
	for (const char *letter = script->answers[call]; *letter; letter++)
		json_array_append_new(*ret_answers, json_pack("{s:s, s:i}", "effect", *letter == 'a' ? "allow" : "deny",
							      "call", (int)call));
	return script->errors[call];
}

/* As letters, the second answers' in capitals. */
static void expect(struct script *script, bool doubtful, size_t count, int result, const char *letters) {
	const struct prompt prompts[] = {{.id = 1}, {.id = 2}, {.id = 3}};
	const struct run_terminal user = {.context = script, .ask = answer};
	const struct twice twice = {.user = &user, .doubtful = doubtful};
	struct error error = ERROR_NONE;
	json_t *answers = NULL, *item;
	char got[8] = "";
	size_t index;
	assert_int_equal(twice_ask(&twice, -1, -1, prompts, count, &answers, &error), result);
	json_array_foreach (answers, index, item) {
		const bool allows = strcmp(json_string_value(json_object_get(item, "effect")), "allow") == 0;
		const bool second = json_integer_value(json_object_get(item, "call")) == 1;
		got[index] = allows ? (second ? 'A' : 'a') : (second ? 'D' : 'd');
	}
	json_decref(answers);
	assert_string_equal(got, letters);
}

static void who_sits_alone_is_asked_once(void **state) {
	struct script script = {.answers = {"ad"}};
	(void)state;
	expect(&script, false, 2, 0, "ad");
	assert_int_equal(script.calls, 1);
	assert_int_equal(script.asked[0], RUN_ASK_ONCE);
}

static void a_denial_is_asked_once(void **state) {
	struct script script = {.answers = {"dd"}};
	(void)state;
	expect(&script, true, 2, 0, "dd");
	assert_int_equal(script.calls, 1);
	assert_int_equal(script.asked[0], RUN_ASK_FIRST);
}

static void attack_r_19_only_the_second_answer_allows(void **state) {
	struct script script = {.answers = {"daa", "da"}};
	(void)state;
	expect(&script, true, 3, 0, "dDA");
	assert_int_equal(script.asked[1], RUN_ASK_AGAIN);
	assert_int_equal(script.first[1], 2);
	assert_int_equal(script.counts[1], 2);
}

static void attack_r_19_what_was_not_answered_twice_is_not_allowed(void **state) {
	struct script first = {.answers = {"dad"}, .errors = {-ECANCELED}};
	struct script second = {.answers = {"aaa", "a"}, .errors = {0, -EINTR}};
	struct script none = {.answers = {"a", ""}, .errors = {0, -EIO}};
	(void)state;
	expect(&first, true, 3, -ECANCELED, "d");
	assert_int_equal(first.calls, 1);
	expect(&second, true, 3, -EINTR, "A");
	expect(&none, true, 1, -EIO, "");
}

static bool is_busy(void *context, int fd) {
	size_t *looks = context;
	(void)fd;
	if (*looks > 0) (*looks)--;
	return *looks > 0;
}

static void attack_r_19_it_is_asked_when_the_programs_of_a_pipeline_have_read_all(void **state) {
	struct script script = {.answers = {"d"}};
	const struct prompt prompt = {.id = 1};
	const struct run_terminal user = {.context = &script, .ask = answer};
	size_t looks = 8;
	const struct twice twice = {.user = &user, .doubtful = true, .is_busy = is_busy, .context = &looks};
	struct error error = ERROR_NONE;
	json_t *answers = NULL;
	(void)state;
	assert_int_equal(twice_ask(&twice, -1, -1, &prompt, 1, &answers, &error), 0);
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
	struct slow slow = {.script = {.answers = {"a", "a"}}, .looks = 160};
	const struct prompt prompt = {.id = 1};
	const struct run_terminal user = {.context = &slow.script, .ask = answer};
	const struct twice twice = {.user = &user, .doubtful = true, .is_busy = is_slow, .context = &slow};
	struct error error = ERROR_NONE;
	json_t *answers = NULL;
	(void)state;
	assert_int_equal(twice_ask(&twice, -1, -1, &prompt, 1, &answers, &error), 0);
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
