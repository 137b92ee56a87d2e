/* Answers to prompts: who may give one, what it does, and that it is on record before anybody profits. */
#include <string.h>
#include <sys/resource.h>

#include "base/memory.h"
#include "base/string.h"
#include "prompts_fixture.h"
#include "support/cmocka.h"
#include "support/home.h"

static void an_agent_is_shown_everything_and_answers(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	int64_t check = ask(runner, "a.svc.test:443");
	json_t *prompt = peer_push(agent, "prompt");
	CLEANUP_FREE char *app = home_path("app");
	assert_string_equal(text_of(prompt, "permission"), "net:access");
	assert_string_equal(text_of(prompt, "target"), "a.svc.test:443");
	assert_string_equal(text_of(prompt, "process"), "tool (7)");
	assert_string_equal(json_string_value(json_array_get(json_object_get(prompt, "parents"), 0)), "sh (3)");
	assert_string_equal(text_of(prompt, "reason"), "to get there");
	assert_string_equal(text_of(prompt, "profile"), "tooled");
	assert_string_equal(text_of(prompt, "project"), app);
	assert_string_equal(text_of(prompt, "command"), "tool");
	assert_non_null(strstr(text_of(prompt, "why"), "policy.yaml:"));
	assert_int_equal(json_array_size(json_object_get(prompt, "scopes")), 3);
	assert_int_equal(strlen(text_of(prompt, "token")), 32);
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL);
	expect_verdict(runner, check, "allow ask");
	expect_gone(agent, number_of(prompt, "id"), "answered");
	json_decref(prompt);
	/* For an hour. */
	expect_verdict(runner, ask(runner, "a.svc.test:443"), "allow grants");
}

static void any_terminal_answers_what_waits(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t check = ask(runner, "svc.test:443");
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	int64_t prompt = the_prompt(command);
	json_decref(peer_push(agent, "prompt"));
	answer_well(command, prompt, NULL, "allow", json_pack("{s:s, s:i}", "lifetime", "until", "ttl_ms", 60000));
	expect_verdict(runner, check, "allow ask");
	expect_gone_by(agent, prompt, "{\"agent\":\"command\",\"lifetime\":\"until\",\"ttl_ms\":60000}");
	answer_refused(command, prompt, NULL, "allow", NULL, "no prompt"); /* it has been */
}

static void the_first_answer_wins(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *first = agent_new("tui");
	CLEANUP_PEER struct peer *second = agent_new("desktop");
	int64_t check = ask(runner, "svc.test:443");
	json_t *to_first = peer_push(first, "prompt"), *to_second = peer_push(second, "prompt");
	int64_t prompt = number_of(to_first, "id");
	assert_int_equal(number_of(to_second, "id"), prompt);
	answer_well(second, prompt, text_of(to_second, "token"), "deny", NULL);
	answer_refused(first, prompt, text_of(to_first, "token"), "allow", NULL, "no prompt");
	expect_gone_by(first, prompt, "{\"agent\":\"desktop\",\"lifetime\":\"once\",\"ttl_ms\":null}");
	expect_verdict(runner, check, "deny ask");
	json_decref(to_first);
	json_decref(to_second);
}

static void attack_broker_7_a_token_is_one_agents_and_single_use(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	CLEANUP_PEER struct peer *thief = agent_new("tui");
	CLEANUP_PEER struct peer *nobody = peer_connect(true);
	int64_t check = ask(runner, "one.test:443");
	json_t *prompt = peer_push(agent, "prompt"), *stolen = peer_push(thief, "prompt");
	int64_t id = number_of(prompt, "id");
	const char *token = text_of(prompt, "token");
	assert_string_not_equal(token, text_of(stolen, "token"));
	answer_refused(thief, id, token, "allow", NULL, "token");
	answer_refused(nobody, id, token, "allow", NULL, "token");
	answer_refused(agent, id, "00000000000000000000000000000000", "allow", NULL, "token");
	answer_refused(agent, id, "", "allow", NULL, "token");
	answer_refused(agent, id, NULL, "allow", NULL, "token"); /* an agent must say its token */
	answer_well(agent, id, token, "allow", json_pack("{s:s}", "lifetime", "once"));
	expect_verdict(runner, check, "allow ask");
	/* Not for the next one, not again. */
	check = ask(runner, "two.test:443");
	json_t *next = peer_push(agent, "prompt");
	answer_refused(agent, number_of(next, "id"), token, "allow", NULL, "token");
	answer_refused(agent, id, token, "allow", NULL, "no prompt");
	answer_well(agent, number_of(next, "id"), text_of(next, "token"), "deny", NULL);
	expect_verdict(runner, check, "deny ask");
	json_decref(prompt);
	json_decref(stolen);
	json_decref(next);
}

static void attack_broker_6_an_answer_is_for_what_was_shown(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t first = ask(runner, "a.test:443");
	int64_t prompt = the_prompt(command);
	int64_t second = ask(runner, "b.test:443"); /* another thing, so another prompt */
	expect_prompts(command, 2);
	answer_well(command, prompt, NULL, "allow", NULL);
	expect_verdict(runner, first, "allow ask");
	assert_int_equal(count_prompts(command), 1);
	answer_well(command, the_prompt(command), NULL, "deny", NULL);
	expect_verdict(runner, second, "deny ask");
}

static void an_answer_with_a_wider_scope_resolves_others(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new("tui");
	int64_t one = ask(runner, "a.svc.test:443"), two = ask(runner, "b.svc.test:8080");
	json_t *first = peer_push(agent, "prompt"), *second = peer_push(agent, "prompt");
	json_t *reply = answer(agent, number_of(first, "id"), text_of(first, "token"), "allow",
			       json_pack("{s:s, s:s}", "scope", "domain", "lifetime", "session"));
	const json_t *grant = json_object_get(reply, "grant");
	assert_string_equal(text_of(grant, "pattern"), "*.svc.test");
	assert_string_equal(text_of(grant, "lifetime"), "session");
	json_decref(reply);
	expect_verdict(runner, one, "allow ask");
	expect_verdict(runner, two, "allow grants");
	json_decref(first);
	json_decref(second);
}

static void scopes_and_lifetimes_that_are_not_offered_are_refused(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t check = ask(runner, "svc.test:443");
	int64_t prompt = the_prompt(command);
	answer_refused(command, prompt, NULL, "allow", json_pack("{s:s}", "scope", "*"), "it offers exact, host");
	answer_refused(command, prompt, NULL, "allow", json_pack("{s:s}", "scope", "domain"), "it offers exact, host");
	answer_refused(command, prompt, NULL, "allow", json_pack("{s:s}", "scope", "/"), "it offers exact, host");
	answer_refused(command, prompt, NULL, "allow",
		       json_pack("{s:s, s:I}", "lifetime", "until", "ttl_ms", (json_int_t)1 << 50), "ten years");
	answer_well(command, prompt, NULL, "allow", json_pack("{s:s}", "scope", "host"));
	expect_verdict(runner, check, "allow ask");
	expect_verdict(runner, ask(runner, "svc.test:80"), "allow grants");
}

static void an_answer_for_seconds_ends(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t check = ask(runner, "svc.test:443");
	answer_well(command, the_prompt(command), NULL, "allow",
		    json_pack("{s:s, s:i}", "lifetime", "until", "ttl_ms", 300));
	expect_verdict(runner, check, "allow ask");
	json_decref(peer_push(runner, "ended"));
	ask(runner, "svc.test:443");
	the_prompt(command);
}

static void a_denial_can_be_remembered(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t check = ask(runner, "svc.test:443");
	answer_well(command, the_prompt(command), NULL, "deny", json_pack("{s:s}", "lifetime", "always"));
	expect_verdict(runner, check, "deny ask");
	expect_verdict(runner, ask(runner, "svc.test:443"), "deny grants");
	/* Taken back: asked again. */
	json_decref(
		peer_call(command, "revoke",
			  json_pack("{s:{s:s, s:s}}", "match", "permission", "net:access", "target", "svc.test:443")));
	ask(runner, "svc.test:443");
	the_prompt(command);
}

static void what_must_be_confirmed_in_a_terminal_is(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *desktop = agent_new("desktop");
	CLEANUP_PEER struct peer *terminal = agent_new("terminal");
	int64_t check = ask(runner, "vault.test:443");
	json_t *seen = peer_push(desktop, "prompt"), *prompt = peer_push(terminal, "prompt");
	int64_t id = number_of(prompt, "id");
	assert_true(json_is_true(json_object_get(seen, "confirm")));
	answer_refused(desktop, id, text_of(seen, "token"), "allow", NULL, "terminal");
	answer_refused(terminal, id, text_of(prompt, "token"), "allow", json_pack("{s:b}", "terminal", 0), "terminal");
	answer_well(terminal, id, text_of(prompt, "token"), "allow", NULL);
	expect_verdict(runner, check, "allow ask");
	/* Denying is always safe. */
	check = ask(runner, "vault.test:443");
	expect_verdict(runner, check, "allow grants");
	json_decref(seen);
	json_decref(prompt);
}

static void a_desktop_may_deny_what_it_may_not_allow(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *desktop = agent_new("desktop");
	int64_t check = ask(runner, "vault.test:443");
	json_t *prompt = peer_push(desktop, "prompt");
	answer_well(desktop, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
	expect_verdict(runner, check, "deny ask");
	json_decref(prompt);
}

static void attack_broker_16_a_revoked_grant_answers_nothing(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t check = ask(runner, "svc.test:443");
	int64_t prompt = the_prompt(command);
	/* Both are on their way before either is answered: the order of arrival decides, and the grant is over. */
	int64_t allow =
		peer_send(command, "answer",
			  json_pack("{s:I, s:s, s:b}", "prompt", (json_int_t)prompt, "effect", "allow", "terminal", 1));
	int64_t revoke = peer_send(command, "revoke", json_pack("{s:b}", "all", 1));
	json_decref(peer_reply(command, allow));
	json_decref(peer_reply(command, revoke));
	expect_verdict(runner, check, "allow ask");
	json_decref(peer_push(runner, "ended")); /* and the runner cuts what came of it */
	ask(runner, "svc.test:443");
	the_prompt(command);
}

/* The rules by then are what counts, not those by which it was asked. */
static void attack_broker_16_a_rule_that_comes_before_the_answer_counts(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	CLEANUP_FREE char *denying = string_format("%s    deny:\n      net:access: [\"svc.test\"]\n", prompts_waiting);
	int64_t check = ask(runner, "svc.test:443");
	int64_t prompt = the_prompt(command);
	home_write(".config/sbx/policy.yaml", denying);
	answer_refused(command, prompt, NULL, "allow", NULL, "no prompt");
	expect_verdict(runner, check, "deny rules");
}

static void write_asking(const char *flag) {
	CLEANUP_FREE char *text =
		string_format("version: 1\nprompt: {timeout: 60s, without-agent: wait}\n"
			      "profiles: {tooled: {commands: [tool], ask: {net:access: [{target: svc.test%s}]}}}\n",
			      flag);
	home_write(".config/sbx/policy.yaml", text);
}

/* Who may answer, and what an allow opens, are the rules' by then. What is shown never changes, so it is shown anew. */
static void attack_broker_16_what_rules_ask_otherwise_by_now_is_asked_anew(void **state) {
	(void)state;
	static const char *const flags[] = {"", ", private: true", ", confirm: terminal"};
	write_asking(", private: true");
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *desktop = agent_new("desktop");
	CLEANUP_PEER struct peer *terminal = peer_connect(true);
	int64_t check = ask(runner, "svc.test:443");
	json_t *prompt = peer_push(desktop, "prompt");
	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
		int64_t id = number_of(prompt, "id");
		write_asking(flags[i]);
		answer_refused(desktop, id, text_of(prompt, "token"), "allow", NULL, "no prompt");
		expect_gone(desktop, id, "covered");
		json_decref(prompt);
		prompt = peer_push(desktop, "prompt");
		assert_true(number_of(prompt, "id") > id);
	}
	assert_true(json_is_true(json_object_get(prompt, "confirm")));
	answer_refused(desktop, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL, "terminal");
	/* An edit that asks the same leaves it alone. */
	write_asking(", confirm: terminal}, {target: other.test");
	answer_well(terminal, number_of(prompt, "id"), NULL, "allow", NULL);
	json_decref(prompt);
	json_t *reply = peer_reply(runner, check), *verdict = json_object_get(reply, "verdict");
	assert_string_equal(text_of(verdict, "effect"), "allow");
	assert_false(json_is_true(json_object_get(verdict, "private")));
	json_decref(reply);
}

/* The disk is full, as far as the broker can see: it may make no file longer. */
static void fill_disk(bool full) {
	const struct rlimit limit = {.rlim_cur = full ? 0 : RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
	assert_int_equal(prlimit(broker_pid(), RLIMIT_FSIZE, &limit, NULL), 0);
}

static void attack_broker_19_without_a_record_there_is_no_allow(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_FREE char *inside = home_path("app/x");
	fill_disk(true);
	int64_t check = peer_send(runner, "check", json_pack("{s:s, s:s}", "permission", "fs:write", "target", inside));
	expect_verdict(runner, check, "deny broker");
	fill_disk(false);
	check = peer_send(runner, "check", json_pack("{s:s, s:s}", "permission", "fs:write", "target", inside));
	expect_verdict(runner, check, "allow rules");
}

static void attack_broker_19_an_answer_that_can_not_be_written_changes_nothing(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t check = ask(runner, "svc.test:443");
	int64_t prompt = the_prompt(command);
	fill_disk(true);
	answer_refused(command, prompt, NULL, "allow", NULL, "the database");
	fill_disk(false);
	assert_int_equal(the_prompt(command), prompt); /* still there */
	json_t *grants = peer_call(command, "list", json_pack("{s:s, s:b}", "what", "grants", "all", 1));
	assert_int_equal(json_array_size(json_object_get(grants, "items")), 0);
	json_decref(grants);
	answer_well(command, prompt, NULL, "allow", NULL);
	expect_verdict(runner, check, "allow ask");
	json_t *chain = peer_call(command, "verify", NULL);
	assert_true(json_is_null(json_object_get(chain, "bad")));
	json_decref(chain);
}

static void the_history_has_prompts_and_answers(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t check = ask(runner, "told.test:443");
	int64_t prompt = the_prompt(command);
	answer_well(command, prompt, NULL, "allow", NULL);
	expect_verdict(runner, check, "allow ask");
	json_t *reply = peer_call(command, "list", json_pack("{s:s, s:b}", "what", "history", "newest", 1)), *row;
	CLEANUP_STRING struct string kinds = {0};
	size_t index;
	json_array_foreach (json_object_get(reply, "items"), index, row)
		if (number_of(row, "prompt") == prompt) string_appendf(&kinds, "%s ", text_of(row, "kind"));
	json_decref(reply);
	assert_string_equal(kinds.data, "decision answer grant prompt ");
	reply = peer_call(command, "verify", NULL);
	assert_true(json_is_null(json_object_get(reply, "bad")));
	json_decref(reply);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		PROMPTS_TEST(an_agent_is_shown_everything_and_answers, prompts_setup_waits),
		PROMPTS_TEST(any_terminal_answers_what_waits, prompts_setup_waits),
		PROMPTS_TEST(the_first_answer_wins, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_7_a_token_is_one_agents_and_single_use, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_6_an_answer_is_for_what_was_shown, prompts_setup_waits),
		PROMPTS_TEST(an_answer_with_a_wider_scope_resolves_others, prompts_setup_waits),
		PROMPTS_TEST(scopes_and_lifetimes_that_are_not_offered_are_refused, prompts_setup_waits),
		PROMPTS_TEST(an_answer_for_seconds_ends, prompts_setup_waits),
		PROMPTS_TEST(a_denial_can_be_remembered, prompts_setup_waits),
		PROMPTS_TEST(what_must_be_confirmed_in_a_terminal_is, prompts_setup_waits),
		PROMPTS_TEST(a_desktop_may_deny_what_it_may_not_allow, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_16_a_revoked_grant_answers_nothing, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_16_a_rule_that_comes_before_the_answer_counts, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_16_what_rules_ask_otherwise_by_now_is_asked_anew, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_19_without_a_record_there_is_no_allow, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_19_an_answer_that_can_not_be_written_changes_nothing, prompts_setup_waits),
		PROMPTS_TEST(the_history_has_prompts_and_answers, prompts_setup_waits),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
