/* Prompts: who is asked, and every way in which nobody answers. */
#include "base/memory.h"
#include "prompts_fixture.h"
#include "support/cmocka.h"
#include "support/home.h"

static void an_agent_that_comes_later_is_shown_what_waits(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	ask(runner, "svc.test:443");
	CLEANUP_PEER struct peer *agent = agent_new("terminal");
	json_t *prompt = peer_push(agent, "prompt");
	assert_string_equal(text_of(prompt, "target"), "svc.test:443");
	json_decref(prompt);
}

static void an_agent_of_one_session_sees_no_other(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *other = peer_connect(true);
	int64_t session = peer_open_session(other, NULL);
	json_decref(peer_push(other, "view"));
	CLEANUP_PEER struct peer *agent = peer_connect(true);
	json_decref(
		peer_call(agent, "agent", json_pack("{s:s, s:I}", "kind", "terminal", "session", (json_int_t)session)));
	ask(runner, "svc.test:443");
	assert_true(peer_is_quiet(agent, 100));
	ask(other, "svc.test:443");
	json_t *prompt = peer_push(agent, "prompt");
	assert_int_equal(number_of(prompt, "session"), session);
	json_decref(prompt);
}

static void equal_requests_share_a_prompt(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t checks[5];
	for (size_t i = 0; i < ARRAY_LENGTH(checks); i++) checks[i] = ask(runner, "svc.test:443");
	json_decref(peer_call(runner, "status", NULL)); /* all of them have come */
	/* Once is once: the first of them, and the others are asked again. */
	const int64_t first = the_prompt(command);
	answer_well(command, first, NULL, "allow", json_pack("{s:s}", "lifetime", "once"));
	expect_verdict(runner, checks[0], "allow ask");
	assert_int_not_equal(the_prompt(command), first);
	answer_well(command, the_prompt(command), NULL, "allow", json_pack("{s:s}", "lifetime", "session"));
	for (size_t i = 1; i < ARRAY_LENGTH(checks); i++) expect_verdict(runner, checks[i], "allow ask");
}

static void another_session_is_asked_for_itself(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *one = runner_new();
	CLEANUP_PEER struct peer *two = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	ask(one, "svc.test:443");
	the_prompt(command);
	ask(two, "svc.test:443");
	expect_prompts(command, 2);
}

static void a_deadline_denies_once_and_is_not_remembered(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	int64_t check = ask(runner, "svc.test:443");
	json_t *prompt = peer_push(agent, "prompt");
	expect_verdict(runner, check, "deny ask");
	expect_gone(agent, number_of(prompt, "id"), "expired");
	answer_refused(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL, "no prompt");
	json_decref(prompt);
	ask(runner, "svc.test:443");
	json_decref(peer_push(agent, "prompt"));
}

/* What the first bytes of a connection ask for is a tool's text: one spelling, and nothing but a host. */
static void the_other_host_that_first_bytes_ask_for_is_told(void **state) {
	static const struct {
		const char *name, *told;
	} cases[] = {{"Other.TEST.", "other.test"}, {"a b\n", NULL}, {"other.test:443", NULL}, {"", NULL}};

	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		int64_t check = peer_send(runner, "check",
					  json_pack("{s:s, s:s, s:s}", "permission", "net:access", "target",
						    "svc.test:443", "name", cases[i].name));
		if (!cases[i].told) {
			expect_verdict(runner, check, "EINVAL");
			continue;
		}
		json_t *prompt = peer_push(agent, "prompt");
		assert_string_equal(text_of(prompt, "name"), cases[i].told);
		assert_string_equal(text_of(prompt, "target"), "svc.test:443");
		answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
		expect_verdict(runner, check, "deny ask");
		json_decref(prompt);
	}
}

static void attack_broker_13_nobody_there_denies(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	expect_verdict(runner, ask(runner, "svc.test:443"), "deny ask"); /* at once: without-agent: deny */
	struct peer *agent = agent_new("desktop");
	int64_t check = ask(runner, "svc.test:443");
	json_decref(peer_push(agent, "prompt"));
	peer_free(agent); /* crashes; the deadline decides, others are served */
	CLEANUP_PEER struct peer *other = runner_new();
	expect_verdict(other, ask(other, "svc.test:443"), "deny ask");
	expect_verdict(runner, check, "deny ask");
}

static void a_cancelled_check_takes_its_prompt_down(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	int64_t check = ask(runner, "svc.test:443");
	json_t *prompt = peer_push(agent, "prompt");
	int64_t cancel = peer_send(runner, "cancel", json_pack("{s:I}", "check", (json_int_t)check));
	expect_verdict(runner, check, "ECANCELED");
	json_t *reply = peer_reply(runner, cancel);
	assert_true(json_is_true(json_object_get(reply, "cancelled")));
	json_decref(reply);
	expect_gone(agent, number_of(prompt, "id"), "cancelled");
	json_decref(prompt);
	reply = peer_call(runner, "cancel", json_pack("{s:I}", "check", (json_int_t)check));
	assert_true(json_is_false(json_object_get(reply, "cancelled")));
	json_decref(reply);
}

static int64_t ask_by(struct peer *runner, const char *process) {
	return peer_send(
		runner, "check",
		json_pack("{s:s, s:s, s:s}", "permission", "net:access", "target", "svc.test:443", "process", process));
}

static void expect_process(struct peer *agent, const char *process, int64_t *ret_prompt) {
	json_t *prompt = peer_push(agent, "prompt");
	assert_string_equal(text_of(prompt, "process"), process);
	*ret_prompt = number_of(prompt, "id");
	json_decref(prompt);
}

/* What a prompt shows is what is let through: the others are asked about by their own process. */
static void a_prompt_goes_with_the_check_that_it_shows(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t shown, anew;
	const int64_t notes = ask_by(runner, "notes"), evil = ask_by(runner, "evil");
	expect_process(agent, "notes", &shown);
	json_decref(peer_call(runner, "status", NULL)); /* both have come */
	peer_send(runner, "cancel", json_pack("{s:I}", "check", (json_int_t)notes));
	expect_verdict(runner, notes, "ECANCELED");
	expect_gone(agent, shown, "cancelled");
	expect_process(agent, "evil", &anew);
	answer_refused(command, shown, NULL, "allow", json_pack("{s:s}", "lifetime", "once"), "no prompt");
	answer_well(command, anew, NULL, "allow", json_pack("{s:s}", "lifetime", "once"));
	expect_verdict(runner, evil, "allow ask");
}

static void attack_broker_2_a_dead_requester_cancels(void **state) {
	(void)state;
	struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	ask(runner, "svc.test:443");
	json_t *prompt = peer_push(agent, "prompt");
	peer_free(runner);
	expect_gone(agent, number_of(prompt, "id"), "cancelled");
	answer_refused(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL, "no prompt");
	json_decref(prompt);
}

static void a_session_that_closes_cancels(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t check = ask(runner, "svc.test:443");
	int64_t close = peer_send(runner, "session-close", json_pack("{s:i}", "exit", 0));
	expect_verdict(runner, check, "ECANCELED");
	json_decref(peer_reply(runner, close));
	assert_int_equal(count_prompts(command), 0);
}

static void a_new_grant_resolves_what_it_covers(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	CLEANUP_FREE char *app = home_path("app");
	int64_t covered = ask(runner, "a.svc.test:443"), other = ask(runner, "a.other.test:443");
	json_t *first = peer_push(agent, "prompt"), *second = peer_push(agent, "prompt");
	json_decref(peer_call(agent, "grant",
			      json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "permission", "net:access", "target",
					"*.svc.test", "effect", "allow", "lifetime", "always", "profile", "tooled",
					"project", app)));
	expect_verdict(runner, covered, "allow grants");
	expect_gone(agent, number_of(first, "id"), "covered");
	answer_well(agent, number_of(second, "id"), text_of(second, "token"), "deny", NULL);
	expect_verdict(runner, other, "deny ask");
	json_decref(first);
	json_decref(second);
}

static void record_answers_with_a_denial(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	peer_open_session(runner, json_pack("{s:b}", "record", 1));
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	expect_verdict(runner, ask(runner, "svc.test:443"), "deny ask");
	assert_true(peer_is_quiet(agent, 50));
}

static void asking_not_to_be_asked_is_answered_at_once(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	int64_t check =
		peer_send(runner, "check",
			  json_pack("{s:s, s:s, s:b}", "permission", "net:access", "target", "svc.test:443", "ask", 0));
	expect_verdict(runner, check, "deny ask");
}

static void attack_broker_16_a_restart_cancels_prompts(void **state) {
	(void)state;
	struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	ask(runner, "svc.test:443");
	json_t *prompt = peer_push(agent, "prompt");
	broker_kill();
	assert_null(peer_receive(agent));
	peer_free(runner);
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_PEER struct peer *again = runner_new();
	ask(again, "svc.test:443");
	CLEANUP_PEER struct peer *agent_again = agent_new("tui");
	json_t *next = peer_push(agent_again, "prompt");
	assert_int_not_equal(number_of(next, "id"), number_of(prompt, "id")); /* ids are never given twice */
	answer_refused(agent_again, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL, "no prompt");
	json_decref(prompt);
	json_decref(next);
}

/*
 * A run shows its own questions, on the connection that its checks take. The tool may end as soon as it has its reply:
 * what became of the question has come before, or the terminal would say that it was taken back.
 */
static void expect_told_first(struct peer *run, int64_t check) {
	json_t *message = peer_receive(run);
	while (message && strcmp(text_of(message, "type"), "prompt-gone") != 0) {
		if (number_of(message, "id") == check) assert_string_equal(text_of(message, "type"), "prompt");
		json_decref(message);
		message = peer_receive(run);
	}
	assert_non_null(message);
	json_decref(message);
	json_decref(peer_reply(run, check));
}

static int64_t asked_in_its_terminal(struct peer *run, const char *target) {
	json_decref(peer_call(run, "agent", json_pack("{s:s}", "kind", "terminal")));
	int64_t check = ask(run, target);
	json_decref(peer_push(run, "prompt"));
	return check;
}

static void who_is_shown_a_prompt_hears_of_its_end_before_who_waits(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *run = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t check = asked_in_its_terminal(run, "svc.test:443");
	answer_well(command, the_prompt(command), NULL, "deny", NULL);
	expect_told_first(run, check);
	check = asked_in_its_terminal(run, "other.test:443");
	CLEANUP_FREE char *app = home_path("app");
	json_decref(
		peer_call(command, "grant",
			  json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "permission", "net:access", "target", "*.test",
				    "effect", "allow", "lifetime", "always", "profile", "tooled", "project", app)));
	expect_told_first(run, check);
}

static void who_is_shown_a_prompt_hears_of_its_deadline_before_who_waits(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *run = runner_new();
	expect_told_first(run, asked_in_its_terminal(run, "svc.test:443"));
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		PROMPTS_TEST(an_agent_that_comes_later_is_shown_what_waits, prompts_setup_waits),
		PROMPTS_TEST(an_agent_of_one_session_sees_no_other, prompts_setup_waits),
		PROMPTS_TEST(equal_requests_share_a_prompt, prompts_setup_waits),
		PROMPTS_TEST(another_session_is_asked_for_itself, prompts_setup_waits),
		PROMPTS_TEST(a_deadline_denies_once_and_is_not_remembered, prompts_setup_hasty),
		PROMPTS_TEST(the_other_host_that_first_bytes_ask_for_is_told, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_13_nobody_there_denies, prompts_setup_lonely),
		PROMPTS_TEST(a_cancelled_check_takes_its_prompt_down, prompts_setup_waits),
		PROMPTS_TEST(a_prompt_goes_with_the_check_that_it_shows, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_2_a_dead_requester_cancels, prompts_setup_waits),
		PROMPTS_TEST(a_session_that_closes_cancels, prompts_setup_waits),
		PROMPTS_TEST(a_new_grant_resolves_what_it_covers, prompts_setup_waits),
		PROMPTS_TEST(record_answers_with_a_denial, prompts_setup_waits),
		PROMPTS_TEST(asking_not_to_be_asked_is_answered_at_once, prompts_setup_waits),
		PROMPTS_TEST(who_is_shown_a_prompt_hears_of_its_end_before_who_waits, prompts_setup_waits),
		PROMPTS_TEST(who_is_shown_a_prompt_hears_of_its_deadline_before_who_waits, prompts_setup_hasty),
		PROMPTS_TEST(attack_broker_16_a_restart_cancels_prompts, prompts_setup_waits),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
