/* Who asks or is denied too much, of a real sbxd. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/long_run.h"
#include "support/patience.h"

static const char rules[] =
	"version: 1\nprompt: {timeout: %s, lifetime: 1h, without-agent: wait}\n"
	"profiles:\n  tooled:\n    commands: [tool]\n    extends: [base]\n"
	"    allow:\n      fs:write: [\"${project}\"]\n      net:access: [\"ok.test:443\", \"*.ok.test:443\"]\n"
	"    ask:\n      net:access: [\"*\"]\n"
	"    deny:\n      net:access: [\"*.bad.test\"]\n"
	"  default:\n    ask:\n      net:access: [\"*\"]\n";

static int setup_with(const char *timeout) {
	static const char *const files[] = {"sbx.db", "sbx.db-wal", "sbx.db-tail"};
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		CLEANUP_FREE char *name = string_format(".local/state/sbx/%s", files[i]);
		CLEANUP_FREE char *path = home_path(name);
		unlink(path);
	}
	CLEANUP_STRING struct string policy = {0};
	const char *gap = strstr(rules, "%s");
	string_append_bytes(&policy, rules, (size_t)(gap - rules));
	string_appendf(&policy, "%s%s", timeout, gap + 2);
	home_write(".config/sbx/policy.yaml", policy.data);
	return broker_start(NULL);
}

static int setup(void **state) {
	(void)state;
	return setup_with("60s");
}

static int setup_hasty(void **state) {
	(void)state;
	return setup_with("300ms");
}

static struct peer *runner_new(void) {
	struct peer *runner = peer_connect(true);
	peer_open_session(runner, NULL);
	json_decref(peer_push(runner, "view"));
	return runner;
}

static struct peer *agent_new(void) {
	struct peer *agent = peer_connect(true);
	json_decref(peer_call(agent, "agent", json_pack("{s:s}", "kind", "tui")));
	return agent;
}

static int64_t ask(struct peer *peer, const char *target) {
	return peer_send(peer, "check", json_pack("{s:s, s:s}", "permission", "net:access", "target", target));
}

static int64_t ask_number(struct peer *peer, int number) {
	CLEANUP_FREE char *target = string_format("h%d.test:443", number);
	return ask(peer, target);
}

static void expect_verdict(struct peer *peer, int64_t id, const char *expected) {
	json_t *reply = peer_reply(peer, id);
	const json_t *verdict = json_object_get(reply, "verdict");
	CLEANUP_FREE char *text = string_format("%s %s", text_of(verdict, "effect"), text_of(verdict, "module"));
	if (strcmp(text, expected) != 0)
		fail_msg("%s (%s%s), expected %s", text, text_of(verdict, "why"), text_of(reply, "message"), expected);
	json_decref(reply);
}

static void answer(struct peer *peer, const json_t *prompt, const char *effect) {
	json_t *reply = peer_call(peer, "answer",
				  json_pack("{s:I, s:s, s:s, s:b}", "prompt", (json_int_t)number_of(prompt, "id"),
					    "token", text_of(prompt, "token"), "effect", effect, "terminal", 1));
	if (strcmp(text_of(reply, "type"), "answer") != 0) fail_msg("answer: %s", text_of(reply, "message"));
	assert_true(json_is_null(json_object_get(reply, "grant")) ||
		    strcmp(text_of(prompt, "permission"), "sbx:ask") != 0);
	json_decref(reply);
}

/* The next push that is a summary, which must come; questions before it are counted. */
static json_t *summary_of(struct peer *agent, int *ret_questions) {
	for (;;) {
		json_t *prompt = peer_push(agent, "prompt");
		if (strcmp(text_of(prompt, "permission"), "sbx:ask") == 0) return prompt;
		++*ret_questions;
		json_decref(prompt);
	}
}

/* The session floods: its summary. */
static json_t *flood(struct peer *runner, struct peer *agent) {
	int64_t ids[LIMIT_QUESTIONS + 1];
	int questions = 0;
	for (int i = 0; i <= LIMIT_QUESTIONS; i++) ids[i] = ask_number(runner, i);
	json_t *summary = summary_of(agent, &questions);
	assert_int_equal(questions, LIMIT_QUESTIONS);
	for (int i = 0; i <= LIMIT_QUESTIONS; i++) expect_verdict(runner, ids[i], "deny flood");
	return summary;
}

static json_t *pending(struct peer *peer) {
	json_t *reply = peer_call(peer, "list", json_pack("{s:s}", "what", "prompts"));
	json_t *items = json_incref(json_object_get(reply, "items"));
	json_decref(reply);
	return items;
}

struct count {
	int64_t rows, denials, denial_rows, shown, allows, connections, connection_rows;
};

static void count_row(struct count *count, const json_t *row) {
	const json_t *detail = json_object_get(row, "detail");
	bool denial = strcmp(text_of(row, "kind"), "decision") == 0 && strcmp(text_of(row, "verdict"), "deny") == 0;
	int64_t together = number_of(detail, "count");
	count->rows++;
	count->allows += strcmp(text_of(row, "verdict"), "allow") == 0;
	bool connection = strcmp(text_of(row, "kind"), "connection") == 0;
	if (connection) count->connection_rows++;
	if (connection) count->connections += together > 0 ? together : 1;
	if (denial) count->denial_rows++;
	if (denial) count->denials += together > 0 ? together : 1;
	if (strcmp(text_of(row, "kind"), "prompt") == 0 && strcmp(text_of(detail, "state"), "shown") == 0)
		count->shown++;
}

static struct count count_history(struct peer *peer) {
	struct count count = {0};
	json_t *cursor = NULL;
	do {
		json_t *body = json_pack("{s:s}", "what", "history"), *row;
		if (cursor) json_object_set_new(body, "cursor", cursor);
		json_t *reply = peer_call(peer, "list", body);
		size_t index;
		json_array_foreach (json_object_get(reply, "items"), index, row) count_row(&count, row);
		cursor = json_incref(json_object_get(reply, "next"));
		json_decref(reply);
	} while (cursor && !json_is_null(cursor));
	json_decref(cursor);
	json_t *chain = peer_call(peer, "verify", NULL);
	assert_true(json_is_null(json_object_get(chain, "bad")));
	json_decref(chain);
	return count;
}

static void attack_broker_12_1001_prompts(void **state) {
	(void)state;
	enum { QUESTIONS = 1001 };
	static int64_t ids[QUESTIONS];
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *other = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new();
	CLEANUP_FREE char *inside = home_path("app/x");
	json_t *granted =
		peer_call(agent, "grant",
			  json_pack("{s:s, s:s, s:s, s:s, s:s}", "permission", "net:access", "target",
				    "granted.test:443", "effect", "allow", "lifetime", "always", "profile", "tooled"));
	assert_string_equal(text_of(granted, "type"), "grant");
	json_decref(granted);
	for (int i = 0; i < QUESTIONS; i++) ids[i] = ask_number(runner, i);
	for (int i = 0; i < QUESTIONS; i++) expect_verdict(runner, ids[i], "deny flood");

	/* One summary stands for all of them. */
	int questions = 0;
	json_t *summary = summary_of(agent, &questions), *items = pending(agent);
	assert_int_equal(questions, LIMIT_QUESTIONS);
	assert_int_equal(json_array_size(items), 1);
	assert_int_equal(number_of(json_array_get(items, 0), "id"), number_of(summary, "id"));
	assert_string_equal(text_of(summary, "description"), "go on asking");
	assert_string_equal(text_of(summary, "target"), "after 64 questions");
	assert_non_null(strstr(text_of(summary, "why"), "tooled in ~/app has asked for 64 different things within "));
	json_decref(items);

	/* What is decided goes on, and so do others. */
	expect_verdict(runner, ask(runner, "ok.test:443"), "allow rules");
	expect_verdict(runner, ask(runner, "granted.test:443"), "allow grants");
	expect_verdict(runner, ask(runner, "x.bad.test:443"), "deny rules");
	expect_verdict(runner,
		       peer_send(runner, "check", json_pack("{s:s, s:s}", "permission", "fs:write", "target", inside)),
		       "allow rules");
	int64_t unaffected = ask(other, "other.test:443");
	json_t *question = peer_push(agent, "prompt");
	assert_string_equal(text_of(question, "target"), "other.test:443");
	answer(agent, question, "allow");
	expect_verdict(other, unaffected, "allow ask");
	json_decref(question);

	/* Yes: it asks again, counted from zero. */
	answer(agent, summary, "allow");
	json_decref(summary);
	int64_t again = ask(runner, "again.test:443");
	question = peer_push(agent, "prompt");
	assert_string_equal(text_of(question, "target"), "again.test:443");
	answer(agent, question, "allow");
	expect_verdict(runner, again, "allow ask");
	json_decref(question);
	summary = flood(runner, agent);
	json_decref(summary);

	/* All of it is told, if not each by itself: what is counted together is written each second. */
	wait_until(count_history(agent).denials >= QUESTIONS + 1 + LIMIT_QUESTIONS + 1);
	struct count count = count_history(agent);
	assert_int_equal(count.denials, QUESTIONS + 1 + LIMIT_QUESTIONS + 1);
	assert_true(count.denial_rows < count.denials);
	assert_int_equal(count.shown, LIMIT_QUESTIONS + 1 + 2 + LIMIT_QUESTIONS + 1);
}

static void a_flood_that_is_denied_is_silent_to_the_end_of_its_session(void **state) {
	(void)state;
	struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new();
	json_t *summary = flood(runner, agent);
	answer(agent, summary, "deny");
	json_decref(summary);
	for (int i = 0; i < 5; i++) expect_verdict(runner, ask_number(runner, 1000 + i), "deny flood");
	expect_verdict(runner, ask(runner, "ok.test:443"), "allow rules");
	json_t *none = pending(agent);
	assert_int_equal(json_array_size(none), 0);
	json_decref(none);
	peer_free(runner);
	CLEANUP_PEER struct peer *next = runner_new();
	ask(next, "next.test:443");
	json_t *question = peer_push(agent, "prompt");
	assert_string_equal(text_of(question, "target"), "next.test:443");
	json_decref(question);
}

static void a_summary_that_nobody_answers_comes_not_again_at_once(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new();
	json_t *summary = flood(runner, agent);
	for (;;) {
		json_t *gone = peer_push(agent, "prompt-gone");
		bool ours = number_of(gone, "id") == number_of(summary, "id");
		if (ours) assert_string_equal(text_of(gone, "how"), "expired");
		json_decref(gone);
		if (ours) break;
	}
	json_decref(summary);
	expect_verdict(runner, ask(runner, "later.test:443"), "deny flood");
	assert_true(peer_is_quiet(agent, 300));
}

static void the_end_of_a_session_takes_its_summary_down(void **state) {
	(void)state;
	struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new();
	json_decref(flood(runner, agent));
	peer_free(runner);
	for (int i = 0; i < 1000; i++) {
		json_t *items = pending(agent);
		size_t count = json_array_size(items);
		json_decref(items);
		if (count == 0) return;
		usleep(5000);
	}
	fail_msg("the summary is still there");
}

static void questions_that_are_allowed_are_no_flood(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new();
	for (int i = 0; i < 2 * LIMIT_QUESTIONS; i++) {
		int64_t id = ask_number(runner, i);
		json_t *question = peer_push(agent, "prompt");
		answer(agent, question, "allow");
		json_decref(question);
		expect_verdict(runner, id, "allow ask");
	}
}

/* Denied one by one they are, so that nobody has to say no all day. */
static void questions_that_are_denied_are_one_in_the_end(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new();
	for (int i = 0; i < LIMIT_QUESTIONS; i++) {
		int64_t id = ask_number(runner, i);
		json_t *question = peer_push(agent, "prompt");
		answer(agent, question, "deny");
		json_decref(question);
		expect_verdict(runner, id, "deny ask");
	}
	expect_verdict(runner, ask(runner, "more.test:443"), "deny flood");
	int questions = 0;
	json_decref(summary_of(agent, &questions));
	assert_int_equal(questions, 0);
}

/* In whatever project they are: more of them than the broker remembers rules for. */
static void those_without_a_session_share_one_measure(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *agent = agent_new();
	struct peer *scripts[2] = {peer_connect(true), peer_connect(true)};
	int64_t last = 0;
	int questions = 0;
	for (int i = 0; i <= LIMIT_QUESTIONS; i++) {
		CLEANUP_FREE char *target = string_format("h%d.test:443", i);
		CLEANUP_FREE char *project = string_format("/srv/project-%d", i);
		last = peer_send(
			scripts[i % 2], "check",
			json_pack("{s:s, s:s, s:s}", "permission", "net:access", "target", target, "project", project));
		/* Requests on one connection may overtake those on another. */
		if (i < LIMIT_QUESTIONS) json_decref(peer_push(agent, "prompt"));
	}
	expect_verdict(scripts[LIMIT_QUESTIONS % 2], last, "deny flood");
	json_t *summary = summary_of(agent, &questions);
	assert_non_null(strstr(text_of(summary, "why"), "outside of a sandbox"));
	assert_true(json_is_null(json_object_get(summary, "session")));
	json_decref(summary);
	ask(runner, "svc.test:443");
	json_t *question = peer_push(agent, "prompt");
	assert_string_equal(text_of(question, "target"), "svc.test:443");
	json_decref(question);
	for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) peer_free(scripts[i]);
}

static void why_shows_the_flood(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	CLEANUP_PEER struct peer *agent = agent_new();
	json_decref(flood(runner, agent));
	json_t *reply = peer_call(agent, "why",
				  json_pack("{s:s, s:s, s:I}", "permission", "net:access", "target", "svc.test:443",
					    "session", (json_int_t)session));
	const json_t *step = json_array_get(json_object_get(reply, "steps"), 1);
	assert_string_equal(text_of(step, "module"), "flood");
	assert_string_equal(text_of(step, "answer"), "deny");
	assert_non_null(strstr(text_of(step, "why"), "64 different things"));
	assert_string_equal(text_of(reply, "profile"), "tooled");
	json_decref(reply);
	reply = peer_call(
		agent, "why",
		json_pack("{s:s, s:s, s:i}", "permission", "net:access", "target", "svc.test:443", "session", 999));
	assert_string_equal(text_of(reply, "code"), "ENOENT");
	json_decref(reply);
}

/* The broker's rows for so many denials, made as fast as they go. */
static void attack_broker_12_denials_leave_few_rows(void **state) {
	(void)state;
	enum { BATCH = 500 };
	const int denials = how_often(20 * 1000, 100 * 1000);
	struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int done = 0; done < denials; done += BATCH) {
		int64_t ids[BATCH];
		for (int i = 0; i < BATCH; i++) {
			CLEANUP_FREE char *target = string_format("h%d.bad.test:443", done + i);
			ids[i] = ask(runner, target);
		}
		for (int i = 0; i < BATCH; i++) expect_verdict(runner, ids[i], "deny rules");
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	expect_verdict(runner, ask(runner, "ok.test:443"), "allow rules");
	peer_free(runner);
	for (int i = 0; i < 1000; i++) {
		json_t *reply = peer_call(command, "list", json_pack("{s:s}", "what", "sessions"));
		size_t running = json_array_size(json_object_get(reply, "items"));
		json_decref(reply);
		if (running == 0) break;
		usleep(5000);
	}
	struct count count = count_history(command);
	assert_int_equal(count.denials, denials);
	/* Two a second past the bound: one of its own, one for the rest. */
	int64_t seconds = end.tv_sec - start.tv_sec + 3;
	assert_true(count.denial_rows >= LIMIT_DENIALS);
	if (count.denial_rows > LIMIT_DENIALS + 2 * seconds)
		fail_msg("%lld rows in %lld s", (long long)count.denial_rows, (long long)seconds);
}

static bool is_allowed(struct peer *peer, int64_t id) {
	json_t *reply = peer_reply(peer, id);
	const json_t *verdict = json_object_get(reply, "verdict");
	bool allowed = strcmp(text_of(verdict, "effect"), "allow") == 0;
	if (!allowed &&
	    (strcmp(text_of(verdict, "module"), "flood") != 0 || !strstr(text_of(verdict, "why"), "recorded")))
		fail_msg("%s%s", text_of(verdict, "why"), text_of(reply, "message"));
	json_decref(reply);
	return allowed;
}

enum { BATCH = 200 };

static void expect_told(struct peer *runner, int64_t id) {
	json_t *told = peer_reply(runner, id);
	assert_string_equal(text_of(told, "type"), "event");
	json_decref(told);
}

/* So many allowed requests, each with the connection that the runner tells of; how many were allowed. */
static int64_t connect_often(struct peer *runner, int count, bool different) {
	int64_t allowed = 0;
	for (int done = 0; done < count; done += BATCH) {
		int64_t ids[BATCH];
		for (int i = 0; i < BATCH; i++) {
			CLEANUP_FREE char *target = string_format("h%d.ok.test:443", different ? done + i : 0);
			ids[i] = ask(runner, target);
		}
		int connected = 0;
		for (int i = 0; i < BATCH; i++) connected += is_allowed(runner, ids[i]);
		allowed += connected;
		for (int i = 0; i < connected; i++)
			ids[i] = peer_send(runner, "event",
					   json_pack("{s:s, s:s, s:s, s:{}}", "kind", "connection", "permission",
						     "net:access", "target", "h0.ok.test:443", "detail"));
		for (int i = 0; i < connected; i++) expect_told(runner, ids[i]);
	}
	return allowed;
}

static void attack_broker_12_equal_allows_fill_no_disk(void **state) {
	(void)state;
	const int allows = how_often(LIMIT_ALLOWS + 1000, 100 * 1000);
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	int64_t allowed = connect_often(runner, allows, false);
	clock_gettime(CLOCK_MONOTONIC, &end);
	int64_t seconds = end.tv_sec - start.tv_sec + 3;
	assert_true(allowed >= LIMIT_ALLOWS && allowed <= LIMIT_ALLOWS + seconds);
	/* what is counted together is written each second */
	wait_until(count_history(command).denials >= allows - allowed);
	wait_until(count_history(command).connections >= allowed);
	struct count count = count_history(command);
	assert_int_equal(count.allows, allowed);
	assert_int_equal(count.connections, allowed);
	assert_int_equal(count.denials, allows - allowed);
	if (count.rows > 2 * LIMIT_ALLOWS + LIMIT_DENIALS + 5 * seconds)
		fail_msg("%lld rows in %lld s", (long long)count.rows, (long long)seconds);
	/* Others are not held up. */
	CLEANUP_PEER struct peer *other = runner_new();
	expect_verdict(other, ask(other, "ok.test:443"), "allow rules");
}

static void an_honest_session_of_2000_targets_is_no_flood(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	assert_int_equal(connect_often(runner, 2000, true), 2000);
	struct count count = count_history(command);
	assert_int_equal(count.allows, 2000);
	assert_int_equal(count.connection_rows, 2000);
	assert_int_equal(count.denials, 0);
}

/* What the runner tells of without asking first: a mask that is put back again and again. */
static void attack_broker_12_what_a_runner_tells_fills_no_disk(void **state) {
	(void)state;
	const int events = LIMIT_ALLOWS + how_often(1000, 10 * 1000);
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *command = peer_connect(true);
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int done = 0; done < events; done += BATCH) {
		int64_t ids[BATCH];
		for (int i = 0; i < BATCH; i++)
			ids[i] = peer_send(runner, "event", json_pack("{s:s, s:{}}", "kind", "connection", "detail"));
		for (int i = 0; i < BATCH; i++) expect_told(runner, ids[i]);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	wait_until(count_history(command).connections >= events);
	struct count count = count_history(command);
	int64_t seconds = end.tv_sec - start.tv_sec + 3;
	assert_int_equal(count.connections, events);
	assert_true(count.connection_rows <= LIMIT_ALLOWS + 2 * seconds);
	/* attack R14: what came of the run has a row all the same */
	json_t *reply =
		peer_reply(runner, peer_send(runner, "event",
					     json_pack("{s:s, s:{s:s}}", "kind", "finding", "detail", "what", "link")));
	assert_true(number_of(reply, "seq") > 0);
	json_decref(reply);
}

#define FLOOD(test) cmocka_unit_test_setup_teardown(test, setup, broker_teardown)

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		FLOOD(attack_broker_12_1001_prompts),
		FLOOD(a_flood_that_is_denied_is_silent_to_the_end_of_its_session),
		cmocka_unit_test_setup_teardown(a_summary_that_nobody_answers_comes_not_again_at_once, setup_hasty,
						broker_teardown),
		FLOOD(the_end_of_a_session_takes_its_summary_down),
		FLOOD(questions_that_are_allowed_are_no_flood),
		FLOOD(questions_that_are_denied_are_one_in_the_end),
		FLOOD(those_without_a_session_share_one_measure),
		FLOOD(why_shows_the_flood),
		FLOOD(attack_broker_12_denials_leave_few_rows),
		FLOOD(attack_broker_12_equal_allows_fill_no_disk),
		FLOOD(attack_broker_12_what_a_runner_tells_fills_no_disk),
		FLOOD(an_honest_session_of_2000_targets_is_no_flood),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
