#include "sample.h"

/* The next request in the outbox, as JSON; "" when there is none. Freed by the caller. */
static char *sent(struct monitor_model *model) {
	struct monitor_request request;
	if (!model_take_request(model, &request)) return string_copy("");
	CLEANUP_FREE char *body = json_dumps(request.body, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(request.body);
	return string_format("%s %s", request.type, body);
}

static void assert_sent(struct monitor_model *model, const char *expected) {
	CLEANUP_FREE char *text = sent(model);
	assert_string_equal(text, expected);
}

static void assert_says(const struct monitor_model *model, const char *words) {
	assert_non_null(model->message);
	if (!strstr(model->message, words)) fail_msg("'%s' isn't in '%s'", words, model->message);
}

static void an_answer_has_the_lifetime_and_scope_that_were_chosen(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	assert_true(model.bell);
	look(&model);
	press(&model, "a");
	assert_int_equal(model.mode, MODE_FORM);
	look(&model);
	press(&model, "y");
	assert_sent(&model, "answer {\"effect\":\"allow\",\"lifetime\":\"until\",\"prompt\":3,\"scope\":\"exact\","
			    "\"terminal\":true,\"token\":\"0123456789abcdef0123456789abcdef\",\"ttl_ms\":3600000}");
	assert_int_equal(model.mode, MODE_LIST);
	press(&model, "a");
	look(&model);
	keys_press(&model, KEY_LEFT);
	keys_press(&model, KEY_LEFT);
	keys_press(&model, KEY_LEFT); /* at the end it stays */
	keys_press(&model, KEY_DOWN);
	keys_press(&model, KEY_RIGHT);
	press(&model, "y");
	assert_sent(&model, "answer {\"effect\":\"allow\",\"lifetime\":\"once\",\"prompt\":3,\"scope\":\"host\","
			    "\"terminal\":true,\"token\":\"0123456789abcdef0123456789abcdef\"}");
	assert_sent(&model, "");
	model_finish(&model);
}

static void a_denial_is_for_this_once_unless_another_is_chosen(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	look(&model);
	press(&model, "d");
	look(&model);
	press(&model, "y");
	assert_sent(&model, "answer {\"effect\":\"deny\",\"lifetime\":\"once\",\"prompt\":3,\"scope\":\"exact\","
			    "\"terminal\":true,\"token\":\"0123456789abcdef0123456789abcdef\"}");
	press(&model, "d");
	look(&model);
	for (int i = 0; i < 9; i++) keys_press(&model, KEY_RIGHT);
	press(&model, "y");
	CLEANUP_FREE char *always = sent(&model);
	assert_non_null(strstr(always, "\"lifetime\":\"always\""));
	model_finish(&model);
}

static void attack_r_19_more_than_the_window_shows_is_denied_but_not_allowed(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	look(&model);
	press(&model, "a");
	look(&model);
	model.form.unseen = true;
	press(&model, "y");
	assert_sent(&model, "");
	assert_int_equal(model.mode, MODE_FORM);
	assert_says(&model, "Too little room");
	keys_press(&model, 'n');
	press(&model, "d");
	look(&model);
	model.form.unseen = true;
	press(&model, "y");
	CLEANUP_FREE char *denied = sent(&model);
	assert_non_null(strstr(denied, "\"effect\":\"deny\""));
	model_finish(&model);
}

static void attack_r_19_nothing_is_allowed_until_others_hold_and_all_is_drawn_anew(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	look(&model);
	assert_false(model_may_allow(&model));
	press(&model, "a");
	assert_true(model_may_allow(&model));
	model.boot_ms += PROMPT_DELAY_MS;
	press(&model, "y");
	assert_says(&model, "held back");
	model.flush = false;
	model_turn(&model, true);
	assert_true(model.flush);
	model.boot_ms += PROMPT_DELAY_MS;
	press(&model, "y"); /* it isn't drawn yet */
	assert_says(&model, "held back");
	model.redraw = false;
	press(&model, "y");
	CLEANUP_FREE char *allowed = sent(&model);
	assert_non_null(strstr(allowed, "\"effect\":\"allow\""));
	assert_false(model_may_allow(&model));
	assert_sent(&model, "");
	model_finish(&model);
}

/* What is drawn where the reply finds it has come into view just now. */
static void attack_r_19_a_key_from_before_the_others_held_allows_nothing(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	struct prompt prompt = sample_prompt(3, "svc.test:443");
	prompt.confirm_terminal = true;
	tell_prompt(&model, prompt);
	look(&model);
	press(&model, "a");
	model.boot_ms += PROMPT_DELAY_MS;
	press(&model, "allow\r");
	model_turn(&model, true);
	model.redraw = false;
	press(&model, "allow\r");
	assert_string_equal(model.form.typed, "");
	assert_sent(&model, "");
	look(&model);
	press(&model, "allow\r");
	CLEANUP_FREE char *allowed = sent(&model);
	assert_non_null(strstr(allowed, "\"effect\":\"allow\""));
	model_finish(&model);
}

static void a_denial_waits_for_nobody_and_a_broker_that_goes_takes_the_form_along(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	look(&model);
	press(&model, "d");
	assert_false(model_may_allow(&model));
	model.boot_ms += PROMPT_DELAY_MS;
	press(&model, "y");
	CLEANUP_FREE char *denied = sent(&model);
	assert_non_null(strstr(denied, "\"effect\":\"deny\""));
	press(&model, "a");
	look(&model);
	model_lost(&model, "the broker is gone");
	assert_false(model_may_allow(&model));
	assert_false(model.others_hold);
	model_finish(&model);
}

/* B10: whatever is typed before or while a question comes into view, and Enter at any time. */
static void attack_broker_10_keys_of_before_and_enter_alone_answer_nothing_in_the_monitor(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	assert_true(model.flush); /* the loop throws away what was typed */
	press(&model, "ay\r\ry"); /* Enter shows the details, and takes them away */
	assert_int_equal(model.mode, MODE_LIST);
	model.flush = false;
	look(&model);
	press(&model, "a");
	assert_true(model.flush);
	press(&model, "yy\r\n"); /* too soon, and Enter */
	assert_int_equal(model.mode, MODE_FORM);
	look(&model);
	press(&model, "\r\n\r");
	keys_press(&model, KEY_ENTER);
	assert_says(&model, "Enter alone decides nothing");
	assert_sent(&model, "");
	/* The next one that takes its place is as new as the first. */
	tell_prompt(&model, sample_prompt(4, "other.test:443"));
	tell_gone(&model, 3);
	assert_int_equal(model.mode, MODE_LIST);
	press(&model, "ay");
	assert_int_equal(model.mode, MODE_LIST);
	assert_sent(&model, "");
	model_finish(&model);
}

/* "absolutely" has both keys in it, and takes longer to type than the form's first moment lasts. */
static void attack_broker_10_text_for_another_window_answers_nothing(void **state) {
	(void)state;
	static const char *const texts[] = {"absolutely", "take it easy, they say", "an array of days"};
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct monitor_model model;
		sample_start(&model);
		tell_prompt(&model, sample_prompt(3, "svc.test:443"));
		look(&model);
		for (const char *key = texts[i]; *key; key++) {
			keys_press(&model, *key);
			model.boot_ms += PROMPT_DELAY_MS / 3;
		}
		assert_sent(&model, "");
		model_finish(&model);
	}
}

static void a_new_prompt_does_not_take_the_choice_from_another(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(5, "svc.test:443"));
	look(&model);
	model.flush = false;
	tell_prompt(&model, sample_prompt(4, "earlier.test:443")); /* stands before it */
	assert_false(model.flush);
	press(&model, "a");
	look(&model);
	tell_prompt(&model, sample_prompt(6, "later.test:443"));
	press(&model, "y");
	CLEANUP_FREE char *text = sent(&model);
	assert_non_null(strstr(text, "\"prompt\":5"));
	assert_sent(&model, "");
	model_finish(&model);
}

static void what_is_confirmed_in_a_terminal_needs_the_whole_word(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	struct prompt prompt = sample_prompt(3, "svc.test:443");
	prompt.confirm_terminal = true;
	tell_prompt(&model, prompt);
	look(&model);
	press(&model, "a");
	press(&model, "allow\r"); /* typed before it can have been read */
	assert_sent(&model, "");
	look(&model);
	press(&model, "y\r");
	assert_sent(&model, "");
	keys_press(&model, KEY_BACKSPACE);
	press(&model, "allo\r");
	assert_says(&model, "type the word");
	press(&model, "w\r");
	CLEANUP_FREE char *text = sent(&model);
	assert_non_null(strstr(text, "\"effect\":\"allow\""));
	press(&model, "d"); /* to deny needs none */
	look(&model);
	press(&model, "y");
	CLEANUP_FREE char *denied = sent(&model);
	assert_non_null(strstr(denied, "\"effect\":\"deny\""));
	model_finish(&model);
}

static void tell_bundle(struct monitor_model *model) {
	for (int64_t id = 7; id <= 9; id++) {
		CLEANUP_FREE char *target = string_format("host%lld.test:443", (long long)id);
		struct prompt prompt = sample_prompt(id, target);
		prompt.bundle = id == 7 ? 0 : 7; /* the first needs no other to name it */
		tell_prompt(model, prompt);
	}
}

static void a_bundle_is_answered_as_one_or_each_by_itself(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_bundle(&model);
	assert_int_equal(model.prompts.line_count, 4);
	assert_int_equal(model.prompts.chosen, 0); /* the line for all */
	look(&model);
	press(&model, "a");
	look(&model);
	press(&model, "y");
	for (int64_t id = 7; id <= 9; id++) {
		CLEANUP_FREE char *text = sent(&model);
		CLEANUP_FREE char *expected = string_format("\"prompt\":%lld,\"scope\":\"exact\"", (long long)id);
		assert_non_null(strstr(text, expected));
	}
	assert_sent(&model, "");
	keys_press(&model, KEY_DOWN);
	keys_press(&model, KEY_DOWN);
	press(&model, "d");
	look(&model);
	press(&model, "y");
	CLEANUP_FREE char *one = sent(&model);
	assert_non_null(strstr(one, "\"prompt\":8"));
	assert_sent(&model, "");
	model_finish(&model);
}

static void a_form_for_a_bundle_is_for_what_was_there_when_it_opened(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_bundle(&model);
	look(&model);
	press(&model, "a");
	look(&model);
	struct prompt late = sample_prompt(10, "late.test:443");
	late.bundle = 7;
	tell_prompt(&model, late);
	tell_gone(&model, 8);
	press(&model, "y");
	CLEANUP_FREE char *first = sent(&model);
	CLEANUP_FREE char *second = sent(&model);
	assert_non_null(strstr(first, "\"prompt\":7"));
	assert_non_null(strstr(second, "\"prompt\":9"));
	assert_sent(&model, "");
	model_finish(&model);
}

static void a_prompt_that_is_settled_takes_its_form_down(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	look(&model);
	press(&model, "a");
	tell_gone(&model, 3);
	assert_int_equal(model.mode, MODE_LIST);
	assert_says(&model, "Prompt 3 is settled: nobody answered");
	look(&model);
	press(&model, "y");
	assert_sent(&model, "");
	model_finish(&model);
}

static void news_of_a_prompt_replaces_it(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	model.bell = false;
	struct prompt news = sample_prompt(3, "svc.test:443");
	memcpy(news.token, "fedcba9876543210fedcba9876543210", sizeof "fedcba9876543210fedcba9876543210");
	tell_prompt(&model, news);
	assert_false(model.bell);
	assert_int_equal(model.prompts.count, 1);
	look(&model);
	press(&model, "a");
	look(&model);
	press(&model, "y");
	CLEANUP_FREE char *text = sent(&model);
	assert_non_null(strstr(text, "fedcba9876543210fedcba9876543210"));
	model_finish(&model);
}

static void a_grant_is_revoked_after_one_more_key(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	json_t *items = json_array();
	json_array_append_new(items, sample_grant(12, "b.test"));
	json_array_append_new(items, sample_grant(11, "a.test"));
	answer_page(&model, PANE_GRANTS, items);
	press(&model, "3jr");
	assert_int_equal(model.mode, MODE_FORM);
	look(&model);
	press(&model, "n");
	assert_sent(&model, "");
	press(&model, "r");
	look(&model);
	press(&model, "\r");
	assert_sent(&model, "");
	press(&model, "y");
	assert_sent(&model, "revoke {\"ids\":[11]}");
	model_finish(&model);
}

static void a_broker_that_goes_takes_its_prompts_along(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	look(&model);
	press(&model, "a");
	model_lost(&model, "the broker has closed the connection");
	assert_int_equal(model.prompts.count, 0);
	assert_int_equal(model.mode, MODE_LIST);
	look(&model);
	press(&model, "y");
	assert_sent(&model, "");
	model_finish(&model);
}

static void no_more_prompts_are_kept_than_the_broker_has(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	for (int64_t id = 1; id <= LIMIT_PROMPTS + 10; id++) tell_prompt(&model, sample_prompt(id, "svc.test:443"));
	assert_int_equal(model.prompts.count, LIMIT_PROMPTS);
	keys_press(&model, KEY_END);
	assert_int_equal(model.prompts.chosen, LIMIT_PROMPTS - 1);
	for (int64_t id = 1; id <= LIMIT_PROMPTS; id++) tell_gone(&model, id);
	assert_int_equal(model.prompts.line_count, 0);
	model_finish(&model);
}

/* Nothing that is shown changes by itself: the loop sleeps. */
static void it_wakes_only_where_a_time_left_is_shown(void **state) {
	(void)state;
	struct monitor_model model;
	sample_start(&model);
	assert_int_equal(model_timeout(&model), -1);
	tell_prompt(&model, sample_prompt(3, "svc.test:443"));
	assert_int_equal(model_timeout(&model), 1000);
	model.wall_ms += 300;
	assert_int_equal(model_timeout(&model), 700);
	press(&model, "4");
	assert_int_equal(model_timeout(&model), -1);
	model_finish(&model);
}

static void every_key_of_the_help_does_something_somewhere(void **state) {
	(void)state;
	struct monitor_model model;
	CLEANUP_STRING struct string help = {0};
	keys_help(&help);
	assert_non_null(strstr(help.data, "a\tAllow"));
	sample_start(&model);
	for (int code = 0; code <= KEY_MAX; code++) keys_press(&model, code); /* none falls */
	assert_sent(&model, "");
	model_finish(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_has_the_lifetime_and_scope_that_were_chosen),
		cmocka_unit_test(a_denial_is_for_this_once_unless_another_is_chosen),
		cmocka_unit_test(attack_r_19_more_than_the_window_shows_is_denied_but_not_allowed),
		cmocka_unit_test(attack_r_19_nothing_is_allowed_until_others_hold_and_all_is_drawn_anew),
		cmocka_unit_test(attack_r_19_a_key_from_before_the_others_held_allows_nothing),
		cmocka_unit_test(a_denial_waits_for_nobody_and_a_broker_that_goes_takes_the_form_along),
		cmocka_unit_test(attack_broker_10_keys_of_before_and_enter_alone_answer_nothing_in_the_monitor),
		cmocka_unit_test(attack_broker_10_text_for_another_window_answers_nothing),
		cmocka_unit_test(a_new_prompt_does_not_take_the_choice_from_another),
		cmocka_unit_test(what_is_confirmed_in_a_terminal_needs_the_whole_word),
		cmocka_unit_test(a_bundle_is_answered_as_one_or_each_by_itself),
		cmocka_unit_test(a_form_for_a_bundle_is_for_what_was_there_when_it_opened),
		cmocka_unit_test(a_prompt_that_is_settled_takes_its_form_down),
		cmocka_unit_test(news_of_a_prompt_replaces_it),
		cmocka_unit_test(a_grant_is_revoked_after_one_more_key),
		cmocka_unit_test(a_broker_that_goes_takes_its_prompts_along),
		cmocka_unit_test(no_more_prompts_are_kept_than_the_broker_has),
		cmocka_unit_test(it_wakes_only_where_a_time_left_is_shown),
		cmocka_unit_test(every_key_of_the_help_does_something_somewhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
