/* Prompts: who is asked, who may answer, what an answer does, and every way in which nobody does. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"

/* `waits`: what nobody is there for waits; `hasty`: with a short deadline. */
#define PROFILE_RULES                                                                                                  \
	"    extends: [base]\n"                                                                                        \
	"    allow:\n"                                                                                                 \
	"      fs:write: [\"${project}\"]\n"                                                                           \
	"    ask:\n"                                                                                                   \
	"      net:access: [\"*\", {target: \"vault.test:443\", confirm: terminal}]\n"                                 \
	"      fs:read: [\"~/shared\"]\n"

static const char waits[] = "version: 1\nprompt: {timeout: 60s, lifetime: 1h, without-agent: wait}\n"
			    "profiles:\n  tooled:\n    commands: [tool]\n" PROFILE_RULES;
static const char hasty[] = "version: 1\nprompt: {timeout: 500ms, lifetime: 1h, without-agent: wait}\n"
			    "profiles:\n  tooled:\n    commands: [tool]\n" PROFILE_RULES;
static const char lonely[] = "version: 1\nprompt: {timeout: 500ms, lifetime: 1h, without-agent: deny}\n"
			     "profiles:\n  tooled:\n    commands: [tool]\n" PROFILE_RULES;

static const char *text_of(const json_t *message, const char *key) {
	const char *text = json_string_value(json_object_get(message, key));
	return text ? text : "";
}

static int64_t number_of(const json_t *message, const char *key) {
	return json_integer_value(json_object_get(message, key));
}

/* Every test begins without grants. */
static int setup_with(const char *policy) {
	static const char *const files[] = {"sbx.db", "sbx.db-wal", "sbx.db-shm"};
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		CLEANUP_FREE char *name = string_format(".local/state/sbx/%s", files[i]);
		CLEANUP_FREE char *path = home_path(name);
		if (unlink(path) < 0) assert_int_equal(errno, ENOENT);
	}
	home_write(".config/sbx/policy.yaml", policy);
	return broker_start(NULL);
}

static int setup_waits(void **state) {
	(void)state;
	return setup_with(waits);
}

static int setup_hasty(void **state) {
	(void)state;
	return setup_with(hasty);
}

static int setup_lonely(void **state) {
	(void)state;
	return setup_with(lonely);
}

static int teardown(void **state) {
	(void)state;
	broker_stop();
	return 0;
}

static struct peer *runner_new(void) {
	struct peer *runner = peer_connect(true);
	peer_open_session(runner, NULL);
	json_decref(peer_push(runner, "view"));
	return runner;
}

static struct peer *agent_new(const char *kind) {
	struct peer *agent = peer_connect(true);
	json_t *reply = peer_call(agent, "agent", json_pack("{s:s}", "kind", kind));
	assert_string_equal(text_of(reply, "type"), "agent");
	json_decref(reply);
	return agent;
}

static int64_t ask(struct peer *runner, const char *target) {
	return peer_send(runner, "check",
			 json_pack("{s:s, s:s, s:s, s:[s], s:s}", "permission", "net:access", "target", target,
				   "process", "tool (7)", "parents", "sh (3)", "reason", "to get there"));
}

/* "allow ask", "deny ask" …, when the reply has come. */
static char *verdict(struct peer *runner, int64_t id) {
	json_t *reply = peer_reply(runner, id);
	const json_t *verdict = json_object_get(reply, "verdict");
	char *text = strcmp(text_of(reply, "type"), "error") == 0
			     ? string_copy(text_of(reply, "code"))
			     : string_format("%s %s", text_of(verdict, "effect"), text_of(verdict, "module"));
	json_decref(reply);
	return text;
}

static void expect_verdict(struct peer *runner, int64_t id, const char *expected) {
	CLEANUP_FREE char *text = verdict(runner, id);
	assert_string_equal(text, expected);
}

static json_t *answer(struct peer *peer, int64_t prompt, const char *token, const char *effect, json_t *keys) {
	json_t *body = json_pack("{s:I, s:s?, s:s, s:b}", "prompt", (json_int_t)prompt, "token", token, "effect",
				 effect, "terminal", 1);
	if (keys) json_object_update(body, keys);
	json_decref(keys);
	return peer_call(peer, "answer", body);
}

static void answer_well(struct peer *peer, int64_t prompt, const char *token, const char *effect, json_t *keys) {
	json_t *reply = answer(peer, prompt, token, effect, keys);
	if (strcmp(text_of(reply, "type"), "answer") != 0) fail_msg("answer: %s", text_of(reply, "message"));
	json_decref(reply);
}

static void answer_refused(struct peer *peer, int64_t prompt, const char *token, const char *effect, json_t *keys,
			   const char *says) {
	json_t *reply = answer(peer, prompt, token, effect, keys);
	assert_string_equal(text_of(reply, "type"), "error");
	if (!strstr(text_of(reply, "message"), says)) fail_msg("%s", text_of(reply, "message"));
	json_decref(reply);
}

static size_t count_prompts(struct peer *peer) {
	json_t *reply = peer_call(peer, "list", json_pack("{s:s}", "what", "prompts"));
	size_t count = json_array_size(json_object_get(reply, "items"));
	json_decref(reply);
	return count;
}

/* Requests on one connection may overtake those on another. */
static void expect_prompts(struct peer *peer, size_t count) {
	for (int i = 0; i < 1000 && count_prompts(peer) != count; i++) usleep(1000);
	assert_int_equal(count_prompts(peer), count);
}

/* The one prompt that is pending. */
static int64_t the_prompt(struct peer *peer) {
	expect_prompts(peer, 1);
	json_t *reply = peer_call(peer, "list", json_pack("{s:s}", "what", "prompts"));
	const json_t *item = json_array_get(json_object_get(reply, "items"), 0);
	int64_t id = number_of(item, "id");
	assert_null(json_object_get(item, "token"));
	json_decref(reply);
	return id;
}

static void expect_gone(struct peer *agent, int64_t prompt, const char *how) {
	json_t *gone = peer_push(agent, "prompt-gone");
	assert_int_equal(number_of(gone, "id"), prompt);
	assert_string_equal(text_of(gone, "how"), how);
	json_decref(gone);
}

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
	int64_t prompt = the_prompt(command);
	answer_well(command, prompt, NULL, "allow", NULL);
	expect_verdict(runner, check, "allow ask");
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
	expect_gone(first, prompt, "answered");
	expect_verdict(runner, check, "deny ask");
	json_decref(to_first);
	json_decref(to_second);
}

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

static void equal_requests_share_a_prompt(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	int64_t checks[5];
	for (size_t i = 0; i < ARRAY_LENGTH(checks); i++) checks[i] = ask(runner, "svc.test:443");
	answer_well(command, the_prompt(command), NULL, "allow", json_pack("{s:s}", "lifetime", "once"));
	for (size_t i = 0; i < ARRAY_LENGTH(checks); i++) expect_verdict(runner, checks[i], "allow ask");
	/* Once is once: the next one is asked again. */
	ask(runner, "svc.test:443");
	the_prompt(command);
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
	CLEANUP_FREE char *denying = string_format("%s    deny:\n      net:access: [\"svc.test\"]\n", waits);
	int64_t check = ask(runner, "svc.test:443");
	int64_t prompt = the_prompt(command);
	home_write(".config/sbx/policy.yaml", denying);
	answer_refused(command, prompt, NULL, "allow", NULL, "no prompt");
	expect_verdict(runner, check, "deny rules");
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

#define WAITING(test) cmocka_unit_test_setup_teardown(test, setup_waits, teardown)

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		WAITING(an_agent_is_shown_everything_and_answers),
		WAITING(any_terminal_answers_what_waits),
		WAITING(the_first_answer_wins),
		WAITING(an_agent_that_comes_later_is_shown_what_waits),
		WAITING(an_agent_of_one_session_sees_no_other),
		WAITING(attack_broker_7_a_token_is_one_agents_and_single_use),
		WAITING(attack_broker_6_an_answer_is_for_what_was_shown),
		WAITING(equal_requests_share_a_prompt),
		WAITING(another_session_is_asked_for_itself),
		cmocka_unit_test_setup_teardown(a_deadline_denies_once_and_is_not_remembered, setup_hasty, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_13_nobody_there_denies, setup_lonely, teardown),
		WAITING(a_cancelled_check_takes_its_prompt_down),
		WAITING(attack_broker_2_a_dead_requester_cancels),
		WAITING(a_session_that_closes_cancels),
		WAITING(a_new_grant_resolves_what_it_covers),
		WAITING(an_answer_with_a_wider_scope_resolves_others),
		WAITING(scopes_and_lifetimes_that_are_not_offered_are_refused),
		WAITING(an_answer_for_seconds_ends),
		WAITING(a_denial_can_be_remembered),
		WAITING(what_must_be_confirmed_in_a_terminal_is),
		WAITING(a_desktop_may_deny_what_it_may_not_allow),
		WAITING(record_answers_with_a_denial),
		WAITING(asking_not_to_be_asked_is_answered_at_once),
		WAITING(attack_broker_16_a_revoked_grant_answers_nothing),
		WAITING(attack_broker_16_a_rule_that_comes_before_the_answer_counts),
		WAITING(attack_broker_16_a_restart_cancels_prompts),
		WAITING(attack_broker_19_without_a_record_there_is_no_allow),
		WAITING(attack_broker_19_an_answer_that_can_not_be_written_changes_nothing),
		WAITING(the_history_has_prompts_and_answers),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
