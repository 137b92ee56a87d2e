/* What a session asks for at its start, together; prompts that are put together; agents that show them. */
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "prompts_fixture.h"
#include "schema/limits.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

#define POLICY(timeout, without)                                                                                       \
	"version: 1\nprompt: {timeout: " timeout ", lifetime: 1h, without-agent: " without "}\n"                       \
	"permissions: {\"db:access\": \"use the database\"}\n"                                                         \
	"profiles:\n"                                                                                                  \
	"  lower:\n    extends: [base]\n    ask: {fs:read: [~/of-another]}\n"                                          \
	"  tooled:\n    commands: [tool]\n    extends: [lower]\n"                                                      \
	"    allow:\n      fs:read: [~/allowed]\n"                                                                     \
	"    ask:\n"                                                                                                   \
	"      fs:read: [~/.toolrc, \"~/*.txt\", \"~\", /, \"**/.env\", ~/.ssh/config, ~/allowed/asked]\n"             \
	"      fs:write: [~/out, {target: ~/sworn, confirm: terminal}, \"${project}\"]\n"                              \
	"      net:access: [\"*\", \"*:443\", \"*.example.org\", \"db.test:5432\", \"10.0.0.0/8\", \"0.0.0.0/0\"]\n"   \
	"      env:read: [TOOL_TOKEN, \"*_KEY\"]\n"                                                                    \
	"      ipc:connect: [/tmp/tool.sock]\n"                                                                        \
	"      proc:spawn: [/usr/bin/git]\n"                                                                           \
	"      net:listen: [\"8080\"]\n"                                                                               \
	"      db:access: [prod]\n"                                                                                    \
	"    deny:\n      net:access: [\"db.test:5432\"]\n"

static int setup_with(const char *policy) {
	static const char *const files[] = {"sbx.db", "sbx.db-wal", "sbx.db-tail"};
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		CLEANUP_FREE char *name = string_format(".local/state/sbx/%s", files[i]);
		CLEANUP_FREE char *path = home_path(name);
		unlink(path);
	}
	home_write(".config/sbx/policy.yaml", policy);
	return broker_start(NULL);
}

static int setup(void **state) {
	(void)state;
	return setup_with(POLICY("60s", "deny"));
}

static int setup_hasty(void **state) {
	(void)state;
	return setup_with(POLICY("300ms", "deny"));
}

/* What it may want, as "PERMISSION=PATTERN" with ~ for the home. */
static void open_with(struct peer *runner, json_t *keys, struct strings *ret_wants) {
	CLEANUP_FREE char *home = home_path("");
	size_t index, size = strlen(home);
	json_t *want, *reply = peer_call(runner, "session-open", session_wish(keys));
	while (size > 1 && home[size - 1] == '/') home[--size] = '\0';
	json_array_foreach (json_object_get(reply, "wants"), index, want) {
		const char *pattern = text_of(want, "pattern");
		assert_int_equal(json_object_size(want), 2);
		if (string_starts(pattern, home))
			strings_addf(ret_wants, "%s=~%s", text_of(want, "permission"), pattern + size);
		else
			strings_addf(ret_wants, "%s=%s", text_of(want, "permission"), pattern);
	}
	json_decref(reply);
	json_decref(peer_push(runner, "view"));
}

static struct peer *opened(struct strings *ret_wants) {
	struct peer *runner = peer_connect(true);
	open_with(runner, json_pack("{s:[s]}", "environment", "TOOL_TOKEN"), ret_wants);
	return runner;
}

static int index_of(const struct strings *wants, const char *text) {
	for (size_t i = 0; i < wants->count; i++)
		if (strcmp(wants->items[i], text) == 0) return (int)i;
	return -1;
}

static int64_t want_all(struct peer *runner, const struct strings *wants) {
	json_t *items = json_array();
	for (size_t i = 0; i < wants->count; i++) json_array_append_new(items, json_integer((json_int_t)i));
	return peer_send(runner, "want", json_pack("{s:o}", "items", items));
}

static void expect_settled(struct peer *runner, int64_t id, int allowed, int denied) {
	json_t *reply = peer_reply(runner, id);
	assert_string_equal(text_of(reply, "type"), "want");
	assert_int_equal(number_of(reply, "allowed"), allowed);
	assert_int_equal(number_of(reply, "denied"), denied);
	json_decref(reply);
}

static size_t count_rows(struct peer *peer, const char *kind) {
	json_t *reply = peer_call(peer, "list", json_pack("{s:s, s:{s:s}}", "what", "history", "filter", "kind", kind));
	size_t count = json_array_size(json_object_get(reply, "items"));
	json_decref(reply);
	return count;
}

static const char *const all_wants[] = {"fs:read=~/.toolrc", "fs:write=~/out", "net:access=*.example.org",
					"env:read=TOOL_TOKEN", "ipc:connect=/tmp/tool.sock"};

static void what_is_particular_and_undecided_is_to_be_had(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings wants = {0};
	peer_free(opened(&wants));
	for (size_t i = 0; i < ARRAY_LENGTH(all_wants); i++)
		if (index_of(&wants, all_wants[i]) < 0) fail_msg("%s", all_wants[i]);
	for (size_t i = ARRAY_LENGTH(all_wants); i < wants.count; i++) {
		const char *extra = wants.items[i];
		bool known = false;
		for (size_t k = 0; k < ARRAY_LENGTH(all_wants); k++) known |= strcmp(extra, all_wants[k]) == 0;
		if (!known && strcmp(extra, "fs:read=~/allowed/asked") != 0) fail_msg("%s", extra);
	}
	assert_int_equal(wants.count, ARRAY_LENGTH(all_wants) + 1); /* ~/allowed/asked, a question in what is allowed */
}

static void a_bundle_is_answered_one_by_one(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings wants = {0};
	CLEANUP_PEER struct peer *agent = agent_new("desktop"), *runner = opened(&wants);
	int64_t id = want_all(runner, &wants), bundle = 0;
	int allowed = 0, denied = 0;
	for (size_t i = 0; i < wants.count; i++) {
		json_t *prompt = peer_push(agent, "prompt");
		const char *what = text_of(prompt, "permission");
		if (i == 0) bundle = number_of(prompt, "id");
		assert_int_equal(number_of(prompt, "bundle"), bundle);
		assert_int_equal(json_array_size(json_object_get(prompt, "scopes")), 1);
		assert_true(json_is_false(json_object_get(prompt, "confirm")));
		bool deny = strcmp(what, "fs:write") == 0;
		if (strcmp(what, "net:access") == 0) assert_string_equal(text_of(prompt, "target"), "*.example.org");
		answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), deny ? "deny" : "allow",
			    json_pack("{s:b}", "terminal", 0));
		allowed += !deny;
		denied += deny;
		json_decref(prompt);
	}
	expect_settled(runner, id, allowed, denied);
	/* The views came before: the tool starts with them. */
	bool has_token = false, has_file = false;
	while (!has_token || !has_file) {
		json_t *push = peer_push(runner, "view"), *name;
		const json_t *view = json_object_get(push, "view");
		size_t index;
		json_array_foreach (json_object_get(view, "environment"), index, name)
			has_token |= strcmp(json_string_value(name), "TOOL_TOKEN") == 0;
		const json_t *read = json_object_get(json_object_get(view, "paths"), "read");
		json_array_foreach ((json_t *)read, index, name)
			has_file |= strstr(json_string_value(name), "/.toolrc") != NULL;
		json_decref(push);
	}
	/* The grants are of the rules' patterns; nothing was reached for. */
	CLEANUP_PEER struct peer *user = peer_connect(true);
	assert_int_equal(count_rows(user, "decision"), 1); /* the variable is given by it */
	assert_int_equal(count_rows(user, "use"), 0);
	assert_int_equal(count_rows(user, "grant"), wants.count);
	assert_int_equal(count_rows(user, "answer"), wants.count);
	expect_verdict(runner, ask(runner, "deep.example.org:80"), "allow grants");
	/* What was denied at the start is for this run. */
	CLEANUP_FREE char *out = home_path("out");
	expect_verdict(runner,
		       peer_send(runner, "check", json_pack("{s:s, s:s}", "permission", "fs:write", "target", out)),
		       "deny grants");
	/* And the next run has less to ask. */
	CLEANUP_STRINGS struct strings next = {0};
	peer_free(opened(&next));
	assert_int_equal(next.count, 1);
	assert_string_equal(next.items[0], "fs:write=~/out");
}

static void one_alone_is_no_bundle(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings wants = {0};
	CLEANUP_PEER struct peer *agent = agent_new("tui"), *runner = opened(&wants);
	const int out = index_of(&wants, "fs:write=~/out");
	int64_t id = peer_send(runner, "want", json_pack("{s:[i], s:[i]}", "items", out, "folders", out));
	json_t *prompt = peer_push(agent, "prompt");
	assert_true(json_is_null(json_object_get(prompt, "bundle")));
	assert_string_equal(text_of(prompt, "description"), "read and write everything in");
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL);
	json_decref(prompt);
	expect_settled(runner, id, 1, 0);
}

static void with_nobody_to_ask_it_goes_on_at_once(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings wants = {0};
	CLEANUP_PEER struct peer *runner = opened(&wants), *user = peer_connect(true);
	expect_settled(runner, want_all(runner, &wants), 0, (int)wants.count);
	assert_int_equal(count_rows(user, "decision"), 1); /* the variable is not given */
	assert_int_equal(count_rows(user, "prompt"), 0);
	/* A run that records is not asked either. */
	CLEANUP_PEER struct peer *agent = agent_new("tui"), *recording = peer_connect(true);
	CLEANUP_STRINGS struct strings again = {0};
	open_with(recording, json_pack("{s:b}", "record", 1), &again);
	expect_settled(recording, want_all(recording, &again), 0, (int)again.count);
	assert_true(peer_is_quiet(agent, 20));
}

static void what_nobody_answers_is_asked_again_when_it_is_touched(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings wants = {0};
	CLEANUP_PEER struct peer *agent = agent_new("tui"), *runner = opened(&wants), *user = peer_connect(true);
	expect_settled(runner, want_all(runner, &wants), 0, (int)wants.count);
	for (size_t i = 0; i < wants.count; i++) json_decref(peer_push(agent, "prompt"));
	assert_int_equal(count_rows(user, "decision"), 1); /* the variable is not given */
	int64_t check = ask(runner, "a.example.org:443");
	json_t *prompt = peer_push(agent, "prompt");
	assert_string_equal(text_of(prompt, "target"), "a.example.org:443");
	json_decref(prompt);
	expect_verdict(runner, check, "deny ask");
}

static void what_is_decided_meanwhile_is_settled(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings wants = {0};
	CLEANUP_PEER struct peer *agent = agent_new("tui"), *runner = opened(&wants), *user = peer_connect(true);
	int64_t id = want_all(runner, &wants);
	for (size_t i = 0; i < wants.count; i++) json_decref(peer_push(agent, "prompt"));
	/* A grant covers one. */
	json_decref(peer_call(user, "grant",
			      json_pack("{s:s, s:s, s:s, s:s, s:s}", "permission", "net:access", "target",
					"*.example.org:443", "effect", "allow", "profile", "tooled", "lifetime",
					"always")));
	json_t *gone = peer_push(agent, "prompt-gone");
	assert_string_equal(text_of(gone, "how"), "covered");
	assert_string_equal(text_of(gone, "verdict"), "allow");
	json_decref(gone);
	/* The policy asks about another no more. */
	CLEANUP_FREE char *policy = string_copy(POLICY("60s", "deny"));
	strstr(policy, "~/out, ")[2] = '0';
	home_write(".config/sbx/policy.yaml", policy);
	json_decref(peer_call(user, "status", NULL));
	gone = peer_push(agent, "prompt-gone");
	assert_string_equal(text_of(gone, "verdict"), "deny");
	json_decref(gone);
	/* And the session ends. */
	json_decref(peer_call(runner, "session-close", json_pack("{s:i}", "exit", 0)));
	expect_settled(runner, id, 1, (int)wants.count - 1);
	expect_prompts(user, 0);
}

static void what_is_allowed_once_at_the_start_is_one_call(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings wants = {0};
	CLEANUP_PEER struct peer *agent = agent_new("desktop"), *runner = opened(&wants);
	const int file = index_of(&wants, "fs:read=~/.toolrc"), variable = index_of(&wants, "env:read=TOOL_TOKEN");
	const int64_t id = peer_send(runner, "want", json_pack("{s:[i, i]}", "items", file, variable));
	for (int i = 0; i < 2; i++) {
		json_t *prompt = peer_push(agent, "prompt");
		answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow",
			    json_pack("{s:s, s:b}", "lifetime", "once", "terminal", 0));
		json_decref(prompt);
	}
	expect_settled(runner, id, 2, 0);
	/* A variable is given once, at the start; the file is in no view. */
	json_t *push = peer_push(runner, "view");
	const json_t *view = json_object_get(push, "view");
	assert_int_equal(json_array_size(json_object_get(view, "environment")), 1);
	size_t index;
	json_t *name;
	json_array_foreach (json_object_get(json_object_get(view, "paths"), "read"), index, name)
		assert_null(strstr(json_string_value(name), "/.toolrc"));
	json_decref(push);
	CLEANUP_FREE char *path = home_path(".toolrc");
	const int64_t first =
		peer_send(runner, "check", json_pack("{s:s, s:s}", "permission", "fs:read", "target", path));
	json_t *reply = peer_reply(runner, first);
	const json_t *verdict = json_object_get(reply, "verdict");
	assert_string_equal(text_of(verdict, "effect"), "allow");
	assert_true(json_is_true(json_object_get(verdict, "once")));
	assert_true(json_is_null(json_object_get(verdict, "grant")));
	json_decref(reply);
	peer_send(runner, "check", json_pack("{s:s, s:s}", "permission", "fs:read", "target", path));
	json_decref(peer_push(agent, "prompt"));
}

static void a_session_asks_once_and_for_what_it_may(void **state) {
	(void)state;
	static const char *const bad[] = {"{\"items\": []}", "{\"items\": [0, 0]}", "{\"items\": [31]}",
					  "{\"items\": [0], \"folders\": [31]}"};
	CLEANUP_STRINGS struct strings wants = {0};
	CLEANUP_PEER struct peer *runner = opened(&wants);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		json_t *reply = peer_call(runner, "want", json_loads(bad[i], 0, NULL));
		assert_string_equal(text_of(reply, "code"), "EINVAL");
		json_decref(reply);
	}
	expect_settled(runner, want_all(runner, &wants), 0, (int)wants.count);
	json_t *again = peer_call(runner, "want", json_pack("{s:[i]}", "items", 0));
	assert_string_equal(text_of(again, "code"), "EALREADY");
	json_decref(again);
}

static void a_session_that_goes_takes_its_bundle_with_it(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings wants = {0};
	CLEANUP_PEER struct peer *agent = agent_new("tui"), *user = peer_connect(true);
	struct peer *runner = opened(&wants);
	want_all(runner, &wants);
	for (size_t i = 0; i < wants.count; i++) json_decref(peer_push(agent, "prompt"));
	peer_free(runner);
	for (size_t i = 0; i < wants.count; i++) {
		json_t *gone = peer_push(agent, "prompt-gone");
		assert_string_equal(text_of(gone, "how"), "cancelled");
		json_decref(gone);
	}
	expect_prompts(user, 0);
}

static void attack_broker_12_a_bundle_takes_nothing_from_the_flood(void **state) {
	(void)state;
	CLEANUP_STRINGS struct strings wants = {0};
	CLEANUP_PEER struct peer *agent = agent_new("tui"), *runner = opened(&wants);
	want_all(runner, &wants);
	for (size_t i = 0; i < wants.count; i++) json_decref(peer_push(agent, "prompt"));
	/* As many questions as ever, then the one about all of them, and the bundle goes with them. */
	for (int i = 0; i <= LIMIT_QUESTIONS; i++) {
		CLEANUP_FREE char *host = string_format("h%d.test:443", i);
		ask(runner, host);
	}
	int questions = 0;
	for (;;) {
		json_t *prompt = peer_push(agent, "prompt");
		bool summary = strcmp(text_of(prompt, "permission"), "sbx:ask") == 0;
		json_decref(prompt);
		if (summary) break;
		questions++;
	}
	assert_int_equal(questions, LIMIT_QUESTIONS);
	assert_int_equal(count_prompts(agent), 1);
}

/* Put together */

static int64_t ask_file(struct peer *runner, const char *name, int process) {
	CLEANUP_FREE char *path = home_path(name), *asker = string_format("cat (%d)", process);
	return peer_send(runner, "check",
			 json_pack("{s:s, s:s, s:s}", "permission", "fs:read", "target", path, "process", asker));
}

static void files_of_one_folder_that_wait_together_are_a_bundle(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *agent = agent_new("tui"), *runner = runner_new();
	int64_t checks[10], bundle = 0;
	json_t *first = NULL;
	for (int i = 0; i < 10; i++) {
		CLEANUP_FREE char *name = string_format("shared/notes/%d", i);
		checks[i] = ask_file(runner, name, 100 + i);
		json_t *prompt = peer_push(agent, "prompt");
		if (i == 0) {
			first = prompt;
			bundle = number_of(first, "id");
			continue;
		}
		assert_int_equal(number_of(prompt, "bundle"), bundle);
		json_decref(prompt);
	}
	/* Another folder's file is none of it. */
	int64_t other = ask_file(runner, "shared/x", 7);
	json_t *alone = peer_push(agent, "prompt");
	assert_true(json_is_null(json_object_get(alone, "bundle")));
	/* The folder answers them all. */
	answer_well(agent, bundle, text_of(first, "token"), "allow", json_pack("{s:s}", "scope", "folder"));
	for (int i = 0; i < 10; i++) expect_verdict(runner, checks[i], i == 0 ? "allow ask" : "allow grants");
	answer_well(agent, number_of(alone, "id"), text_of(alone, "token"), "deny", NULL);
	expect_verdict(runner, other, "deny ask");
	json_decref(alone);
	json_decref(first);
}

/* Denied again and again */

static void the_third_denial_is_the_last_question(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *agent = agent_new("tui"), *runner = runner_new(), *user = peer_connect(true);
	for (int i = 0; i < 3; i++) {
		int64_t check = peer_send(runner, "check",
					  json_pack("{s:s, s:s}", "permission", "net:access", "target", "no.test:443"));
		json_t *prompt = peer_push(agent, "prompt");
		json_t *reply = answer(agent, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
		const json_t *grant = json_object_get(reply, "grant");
		assert_int_equal(json_is_object(grant), i == 2);
		if (i == 2) {
			assert_string_equal(text_of(grant, "lifetime"), "session");
			assert_string_equal(text_of(grant, "origin"), "prompt");
			assert_string_equal(text_of(grant, "effect"), "deny");
			assert_string_equal(text_of(grant, "reason"), "denied three times in this session");
		}
		json_decref(reply);
		json_decref(prompt);
		reply = peer_reply(runner, check);
		const json_t *verdict = json_object_get(reply, "verdict");
		assert_string_equal(text_of(verdict, "effect"), "deny");
		assert_int_equal(strstr(text_of(verdict, "why"), "three times in this session") != NULL, i == 2);
		json_decref(reply);
	}
	expect_verdict(runner, ask(runner, "no.test:443"), "deny grants");
	assert_int_equal(count_prompts(user), 0);
	/* Of this session alone, and of this thing alone. */
	CLEANUP_PEER struct peer *other = runner_new();
	int64_t check = ask(other, "no.test:443"), second = ask(runner, "no.test:80");
	for (int i = 0; i < 2; i++) {
		json_t *prompt = peer_push(agent, "prompt");
		answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "deny", NULL);
		json_decref(prompt);
	}
	expect_verdict(other, check, "deny ask");
	expect_verdict(runner, second, "deny ask");
}

/* Where it is shown */

static void shows(struct peer *agent, bool shows) {
	json_t *reply = peer_call(agent, "agent", json_pack("{s:s, s:b}", "kind", "desktop", "shows", shows));
	assert_string_equal(text_of(reply, "type"), "agent");
	json_decref(reply);
}

static void expect_news(struct peer *agent, int64_t prompt, const char *token, bool desktop) {
	json_t *news = peer_push(agent, "prompt");
	assert_int_equal(number_of(news, "id"), prompt);
	if (token) assert_string_equal(text_of(news, "token"), token);
	assert_int_equal(json_is_true(json_object_get(news, "desktop")), desktop);
	json_decref(news);
}

static void terminals_are_told_whether_a_desktop_shows_it(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *terminal = agent_new("terminal"), *runner = runner_new();
	struct peer *desktop = agent_new("desktop");
	int64_t check = ask(runner, "a.test:443");
	json_t *prompt = peer_push(terminal, "prompt");
	int64_t id = number_of(prompt, "id");
	const char *token = text_of(prompt, "token");
	assert_true(json_is_true(json_object_get(prompt, "desktop")));
	json_decref(peer_push(desktop, "prompt"));
	shows(desktop, false);
	expect_news(terminal, id, token, false);
	shows(desktop, false); /* no news */
	assert_true(peer_is_quiet(terminal, 20));
	shows(desktop, true);
	expect_news(terminal, id, token, true);
	/* One that dies shows nothing any more; another that comes does. */
	peer_free(desktop);
	expect_news(terminal, id, token, false);
	desktop = agent_new("desktop");
	json_decref(peer_push(desktop, "prompt"));
	expect_news(terminal, id, token, true);
	/* It is the same question still. */
	answer_well(terminal, id, token, "allow", json_pack("{s:s}", "lifetime", "once"));
	expect_verdict(runner, check, "allow ask");
	json_decref(prompt);
	/* An agent of one session is no sign for another's. */
	json_t *reply = peer_call(desktop, "agent", json_pack("{s:s, s:i}", "kind", "desktop", "session", 1));
	assert_string_equal(text_of(reply, "code"), "EALREADY");
	json_decref(reply);
	peer_free(desktop);
}

static void attack_broker_13_a_notification_confirms_nothing(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *desktop = agent_new("desktop"), *runner = runner_new(), *user = peer_connect(true);
	CLEANUP_FREE char *path = home_path(".ssh/config");
	int64_t check = peer_send(runner, "check", json_pack("{s:s, s:s}", "permission", "fs:read", "target", path));
	json_t *prompt = peer_push(desktop, "prompt");
	/* Nobody wrote `confirm: terminal`: base keeps the place. */
	assert_true(json_is_true(json_object_get(prompt, "confirm")));
	assert_non_null(strstr(text_of(prompt, "why"), "in a terminal since base keeps"));
	assert_true(json_is_null(json_object_get(prompt, "bundle")));
	answer_refused(desktop, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL, "in a terminal");
	answer_refused(desktop, number_of(prompt, "id"), text_of(prompt, "token"), "allow",
		       json_pack("{s:b}", "terminal", 0), "in a terminal");
	answer_well(user, number_of(prompt, "id"), NULL, "allow", json_pack("{s:s}", "lifetime", "session"));
	expect_verdict(runner, check, "allow ask");
	json_decref(prompt);
}

#define TEST(test, setup) cmocka_unit_test_setup_teardown(test, setup, broker_teardown)

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		TEST(what_is_particular_and_undecided_is_to_be_had, setup),
		TEST(a_bundle_is_answered_one_by_one, setup),
		TEST(one_alone_is_no_bundle, setup),
		TEST(with_nobody_to_ask_it_goes_on_at_once, setup),
		TEST(what_nobody_answers_is_asked_again_when_it_is_touched, setup_hasty),
		TEST(what_is_decided_meanwhile_is_settled, setup),
		TEST(what_is_allowed_once_at_the_start_is_one_call, setup),
		TEST(a_session_asks_once_and_for_what_it_may, setup),
		TEST(a_session_that_goes_takes_its_bundle_with_it, setup),
		TEST(attack_broker_12_a_bundle_takes_nothing_from_the_flood, setup),
		TEST(files_of_one_folder_that_wait_together_are_a_bundle, prompts_setup_waits),
		TEST(the_third_denial_is_the_last_question, setup),
		TEST(terminals_are_told_whether_a_desktop_shows_it, setup),
		TEST(attack_broker_13_a_notification_confirms_nothing, setup),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
