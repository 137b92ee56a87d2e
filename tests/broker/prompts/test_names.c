/* May a name be looked up? By a real sbxd, as a runner asks it. */
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"

static const char policy[] = "version: 1\n"
			     "prompt: {timeout: 60s, lifetime: 1h, without-agent: wait}\n"
			     "profiles:\n"
			     "  tooled:\n"
			     "    commands: [tool]\n"
			     "    extends: [base]\n"
			     "    allow:\n"
			     "      net:access: [\"ok.test:443\", \"late.test:65535\", \"hole.test:1-100\", "
			     "\"any.test\", \"*.wild.test:22\"]\n"
			     "    ask:\n"
			     "      net:access: [\"asked.test:8080-9000\", \"mixed.test\", \"no.wild.test:22\"]\n"
			     "    deny:\n"
			     "      net:access: [\"*.bad.test\", \"hole.test:1\", \"shut.test:1-100\", "
			     "\"mixed.test:443\", \"half.test:1-65535\",\n"
			     "                   \"deep.wild.test\"]\n";

static struct peer *runner_new(json_t *keys) {
	struct peer *runner = peer_connect(true);
	peer_open_session(runner, keys);
	json_decref(peer_push(runner, "view"));
	return runner;
}

/* "allow rules", "ask ask", "deny none" … */
static char *name(struct peer *runner, const char *host) {
	json_t *reply = peer_call(runner, "name", json_pack("{s:s}", "host", host));
	const json_t *verdict = json_object_get(reply, "verdict");
	char *text = string_format("%s %s%s", text_of(verdict, "effect"), text_of(verdict, "module"),
				   text_of(reply, "code"));
	json_decref(reply);
	return text;
}

static void expect(struct peer *runner, const char *host, const char *said) {
	CLEANUP_FREE char *text = name(runner, host);
	if (strcmp(text, said) != 0) fail_msg("%s: %s, not %s", host, text, said);
}

static int64_t grant(struct peer *peer, const char *target, const char *effect, json_t *keys) {
	json_t *body = json_pack("{s:s, s:s, s:s, s:s}", "permission", "net:access", "target", target, "effect", effect,
				 "lifetime", "always");
	if (keys) json_object_update(body, keys);
	json_decref(keys);
	json_t *reply = peer_call(peer, "grant", body);
	if (strcmp(text_of(reply, "type"), "grant") != 0) fail_msg("grant %s: %s", target, text_of(reply, "message"));
	int64_t id = json_integer_value(json_object_get(json_object_get(reply, "grant"), "id"));
	json_decref(reply);
	return id;
}

/* Of the verdict's grant: its id, or 0. */
static int64_t grant_of_name(struct peer *runner, const char *host) {
	json_t *reply = peer_call(runner, "name", json_pack("{s:s}", "host", host));
	int64_t id = json_integer_value(json_object_get(json_object_get(reply, "verdict"), "grant"));
	json_decref(reply);
	return id;
}

/* How many rows of the history are about that target; *ret_row is the last, the caller's. */
static size_t rows_about(struct peer *peer, const char *target, json_t **ret_row) {
	json_t *reply = peer_call(peer, "list", json_pack("{s:s, s:b}", "what", "history", "newest", 1)), *item;
	size_t index, count = 0;
	if (ret_row) *ret_row = NULL;
	json_array_foreach (json_object_get(reply, "items"), index, item) {
		if (strcmp(text_of(item, "target"), target) != 0) continue;
		if (count++ == 0 && ret_row) *ret_row = json_incref(item);
	}
	json_decref(reply);
	return count;
}

static void any_port_that_rules_allow_or_ask_about_counts(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(NULL);
	static const struct {
		const char *host, *said;
	} cases[] = {
		{"ok.test", "allow rules"},         {"OK.Test.", "allow rules"},      {"late.test", "allow rules"},
		{"any.test", "allow rules"},        {"hole.test", "allow rules"},     {"a.wild.test", "allow rules"},
		{"no.wild.test", "ask ask"},        {"deep.wild.test", "deny rules"}, {"wild.test", "deny none"},
		{"asked.test", "ask ask"},          {"mixed.test", "ask ask"},        {"x.bad.test", "deny rules"},
		{"shut.test", "deny rules"},        {"half.test", "deny rules"},      {"other.test", "deny none"},
		{"ok.test.evil.test", "deny none"}, {"evilok.test", "deny none"},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) expect(runner, cases[i].host, cases[i].said);
}

static void any_port_that_grants_allow_counts(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(NULL);
	CLEANUP_PEER struct peer *command = peer_connect(true);
	expect(runner, "given.test", "deny none");
	grant(command, "given.test:5432", "allow", NULL);
	expect(runner, "given.test", "allow grants");
	grant(command, "*.range.test:5000-6000", "allow", NULL);
	expect(runner, "x.range.test", "allow grants");
	grant(command, "elsewhere.test:443", "allow", json_pack("{s:s}", "project", "/elsewhere"));
	expect(runner, "elsewhere.test", "deny none");
	/* An answer against it stands for the ports that it names alone. */
	grant(command, "mixed.test:1-442", "deny", NULL);
	expect(runner, "mixed.test", "ask ask");
	grant(command, "mixed.test:444-65535", "deny", NULL);
	expect(runner, "mixed.test", "deny grants"); /* and 443 by a rule */
}

static void a_denial_names_the_grant_that_makes_it_and_does_not_use_it(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(NULL);
	CLEANUP_PEER struct peer *command = peer_connect(true);
	const int64_t denial = grant(command, "asked.test", "deny", NULL);
	grant(command, "given.test", "allow", NULL);
	for (int i = 0; i < 2; i++) assert_int_equal(grant_of_name(runner, "asked.test"), denial);
	assert_int_equal(grant_of_name(runner, "given.test"), 0);
	assert_int_equal(grant_of_name(runner, "x.bad.test"), 0);
	json_t *reply = peer_call(command, "list", json_pack("{s:s}", "what", "grants")), *item;
	size_t index;
	json_array_foreach (json_object_get(reply, "items"), index, item)
		assert_int_equal(json_integer_value(json_object_get(item, "uses")), 0);
	assert_int_equal(index, 2);
	json_decref(reply);
}

static void nobody_is_asked_and_no_grant_is_used(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(NULL);
	CLEANUP_PEER struct peer *agent = peer_connect(true);
	json_decref(peer_call(agent, "agent", json_pack("{s:s}", "kind", "tui")));
	grant(agent, "once.test:443", "allow", json_pack("{s:s}", "lifetime", "once"));
	for (int i = 0; i < 3; i++) {
		expect(runner, "asked.test", "ask ask");
		expect(runner, "once.test", "allow grants");
	}
	assert_true(peer_is_quiet(agent, 50));
	json_t *reply = peer_call(agent, "list", json_pack("{s:s}", "what", "grants"));
	json_t *item;
	size_t index, unused = 0;
	json_array_foreach (json_object_get(reply, "items"), index, item)
		if (strcmp(text_of(item, "pattern"), "once.test:443") == 0 &&
		    json_integer_value(json_object_get(item, "uses")) == 0)
			unused++;
	json_decref(reply);
	assert_int_equal(unused, 1);
	assert_int_equal(rows_about(agent, "asked.test", NULL), 0);
	assert_int_equal(rows_about(agent, "once.test", NULL), 0);
}

static void a_denied_name_is_in_the_history_once(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(NULL);
	CLEANUP_PEER struct peer *command = peer_connect(true);
	json_t *row;
	for (int i = 0; i < 3; i++) expect(runner, "a.bad.test", "deny rules");
	assert_int_equal(rows_about(command, "a.bad.test", &row), 1);
	assert_string_equal(text_of(row, "kind"), "decision");
	assert_string_equal(text_of(row, "permission"), "net:access");
	assert_string_equal(text_of(row, "verdict"), "deny");
	assert_string_equal(text_of(row, "by"), "rules");
	assert_string_equal(text_of(row, "profile"), "tooled");
	json_decref(row);
	CLEANUP_PEER struct peer *second = runner_new(NULL);
	expect(second, "a.bad.test", "deny rules");
	assert_int_equal(rows_about(command, "a.bad.test", NULL), 2);
}

static void attack_broker_12_names_without_end_fill_no_disk(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(NULL);
	CLEANUP_PEER struct peer *command = peer_connect(true);
	for (int i = 0; i < LIMIT_DENIALS + 500; i++) {
		CLEANUP_FREE char *host = string_format("h%d.bad.test", i);
		expect(runner, host, "deny rules");
	}
	CLEANUP_FREE char *last = string_format("h%d.bad.test", LIMIT_DENIALS + 499);
	assert_int_equal(rows_about(command, last, NULL), 0);
}

static void an_offline_session_has_no_names(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(json_pack("{s:b}", "offline", 1));
	expect(runner, "ok.test", "deny rules");
	expect(runner, "asked.test", "deny rules");
}

static void what_is_no_name_is_refused(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(NULL);
	static const char *const others[] = {"192.0.2.1", "localhost",       "::1",   "a..b", "a b", "ok.test:443",
					     "-a.test",   "http://ok.test/", "0x7f.1"};
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) expect(runner, others[i], " EINVAL");
}

static int setup(void **state) {
	(void)state;
	home_write(".config/sbx/policy.yaml", policy);
	return broker_start(NULL);
}

static int teardown(void **state) {
	static const char *const files[] = {"sbx.db", "sbx.db-wal", "sbx.db-shm", "sbx.db-tail"};
	(void)state;
	broker_stop();
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		CLEANUP_FREE char *file = string_format(".local/state/sbx/%s", files[i]);
		CLEANUP_FREE char *path = home_path(file);
		unlink(path);
	}
	return 0;
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(any_port_that_rules_allow_or_ask_about_counts),
		TEST(any_port_that_grants_allow_counts),
		TEST(a_denial_names_the_grant_that_makes_it_and_does_not_use_it),
		TEST(nobody_is_asked_and_no_grant_is_used),
		TEST(a_denied_name_is_in_the_history_once),
		TEST(attack_broker_12_names_without_end_fill_no_disk),
		TEST(an_offline_session_has_no_names),
		TEST(what_is_no_name_is_refused),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
