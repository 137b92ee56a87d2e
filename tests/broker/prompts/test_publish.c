/* `sbx publish` as the command line, the runner and a stranger to both see it. */
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

static const char policy[] = "version: 1\n"
			     "profiles:\n"
			     "  tooled:\n"
			     "    commands: [tool]\n"
			     "    extends: [base]\n"
			     "    deny: {net:listen: [22]}\n"
			     "  served:\n"
			     "    commands: [server]\n"
			     "    extends: [base]\n"
			     "    ask: {net:listen: [\"3000-3010\"]}\n";

static json_t *wish(int64_t session, int port, int host_port) {
	return json_pack("{s:I, s:i, s:i}", "session", (json_int_t)session, "port", port, "host_port", host_port);
}

static json_t *check(struct peer *runner, const char *target, bool again) {
	json_t *reply = peer_call(runner, "check",
				  json_pack("{s:s, s:s, s:b}", "permission", "net:listen", "target", target,
					    again ? "again" : "ask", again));
	json_t *verdict = json_incref(json_object_get(reply, "verdict"));
	json_decref(reply);
	return verdict;
}

static void expect_judged(struct peer *runner, const char *target, const char *effect) {
	json_t *verdict = check(runner, target, true);
	assert_string_equal(text_of(verdict, "effect"), effect);
	json_decref(verdict);
}

/* What the runner is asked for; the number of it. */
static int64_t asked(struct peer *runner, int port, int host_port) {
	json_t *push = peer_push(runner, "publishing");
	assert_true(number_of(push, "grant") > 0);
	assert_int_equal(number_of(push, "port"), port);
	assert_int_equal(number_of(push, "host_port"), host_port);
	int64_t number = number_of(push, "number");
	assert_true(number > 0);
	json_decref(push);
	return number;
}

static void say(struct peer *runner, json_t *body) {
	json_t *reply = peer_call(runner, "published", body);
	if (strcmp(text_of(reply, "type"), "published") != 0) fail_msg("%s", text_of(reply, "message"));
	json_decref(reply);
}

static json_t *listed(struct peer *peer, int64_t session) {
	json_t *reply = peer_call(peer, "list", json_pack("{s:s, s:b}", "what", "sessions", "newest", 1));
	json_t *item, *found = NULL;
	size_t index;
	json_array_foreach (json_object_get(reply, "items"), index, item)
		if (number_of(item, "id") == session) found = json_incref(json_object_get(item, "published"));
	json_decref(reply);
	return found;
}

static void a_port_is_granted_told_and_listed(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = peer_connect(true), *user = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	int64_t id = peer_send(user, "publish", wish(session, 3000, 8080));
	int64_t number = asked(runner, 3000, 8080);
	json_t *verdict = check(runner, "3000", false);
	assert_string_equal(text_of(verdict, "effect"), "allow");
	say(runner,
	    json_pack("{s:[s], s:I, s:i}", "ports", "3000:8080", "number", (json_int_t)number, "host_port", 8080));
	json_t *reply = peer_reply(user, id);
	assert_string_equal(text_of(reply, "type"), "publish");
	assert_int_equal(number_of(reply, "port"), 3000);
	assert_int_equal(number_of(reply, "host_port"), 8080);
	const json_t *grant = json_object_get(reply, "grant");
	assert_string_equal(text_of(grant, "permission"), "net:listen");
	assert_string_equal(text_of(grant, "pattern"), "3000");
	assert_string_equal(text_of(grant, "lifetime"), "session");
	assert_int_equal(number_of(grant, "session"), session);
	assert_int_equal(number_of(grant, "id"), number_of(verdict, "grant"));
	json_decref(verdict);
	json_t *ports = listed(user, session);
	assert_int_equal(json_array_size(ports), 1);
	assert_string_equal(json_string_value(json_array_get(ports, 0)), "3000:8080");
	json_decref(ports);
	/* another session has nothing of it */
	CLEANUP_PEER struct peer *other = peer_connect(true);
	peer_open_session(other, NULL);
	expect_judged(other, "3000", "deny");
	/* revoked: the runner is told */
	json_decref(peer_call(user, "revoke",
			      json_pack("{s:[I], s:b}", "ids", (json_int_t)number_of(grant, "id"), "at_once", 1)));
	json_t *ended = peer_push(runner, "ended");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(ended, "grants"), 0)),
			 number_of(grant, "id"));
	json_decref(ended);
	expect_judged(runner, "3000", "deny");
	json_decref(reply);
}

static void a_publication_may_last_shorter_than_its_session(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = peer_connect(true), *user = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	json_t *body = wish(session, 3000, 0);
	json_object_set_new(body, "ttl_ms", json_integer(300));
	int64_t id = peer_send(user, "publish", body);
	int64_t number = asked(runner, 3000, 0);
	say(runner,
	    json_pack("{s:[s], s:I, s:i}", "ports", "3000:40000", "number", (json_int_t)number, "host_port", 40000));
	json_t *reply = peer_reply(user, id);
	const json_t *grant = json_object_get(reply, "grant");
	assert_string_equal(text_of(grant, "lifetime"), "until");
	assert_int_equal(number_of(reply, "host_port"), 40000);
	json_t *ended = peer_push(runner, "ended");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(ended, "grants"), 0)),
			 number_of(grant, "id"));
	json_decref(ended);
	json_decref(reply);
}

/* A runner that says no, and one that says nothing. */
static void what_was_not_published_is_not_granted(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = peer_connect(true), *user = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	int64_t id = peer_send(user, "publish", wish(session, 3000, 80));
	int64_t number = asked(runner, 3000, 80);
	say(runner, json_pack("{s:[], s:I, s:s}", "ports", "number", (json_int_t)number, "failed", "port 80 is taken"));
	json_t *reply = peer_reply(user, id);
	assert_string_equal(text_of(reply, "type"), "error");
	assert_string_equal(text_of(reply, "message"), "port 80 is taken");
	json_decref(reply);
	json_decref(peer_push(runner, "ended"));
	expect_judged(runner, "3000", "deny");

	id = peer_send(user, "publish", wish(session, 3001, 3001));
	number = asked(runner, 3001, 3001);
	reply = peer_reply(user, id);
	assert_string_equal(text_of(reply, "code"), "ETIMEDOUT");
	json_decref(reply);
	json_decref(peer_push(runner, "ended"));
	expect_judged(runner, "3001", "deny");
	/* too late */
	say(runner, json_pack("{s:[], s:I, s:i}", "ports", "number", (json_int_t)number, "host_port", 3001));
	expect_judged(runner, "3001", "deny");
	assert_true(peer_is_quiet(user, 0));
}

static void a_session_that_ends_leaves_nobody_waiting(void **state) {
	(void)state;
	struct peer *runner = peer_connect(true);
	CLEANUP_PEER struct peer *user = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	int64_t id = peer_send(user, "publish", wish(session, 3000, 3000));
	asked(runner, 3000, 3000);
	peer_free(runner);
	json_t *reply = peer_reply(user, id);
	assert_string_equal(text_of(reply, "code"), "ESRCH");
	json_decref(reply);
	reply = peer_call(user, "publish", wish(session, 3000, 3000));
	assert_string_equal(text_of(reply, "code"), "ENOENT");
	json_decref(reply);
}

static void who_asked_and_left_is_not_waited_for(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	struct peer *user = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	peer_send(user, "publish", wish(session, 3000, 3000));
	int64_t number = asked(runner, 3000, 3000);
	peer_free(user);
	say(runner,
	    json_pack("{s:[s], s:I, s:i}", "ports", "3000:3000", "number", (json_int_t)number, "host_port", 3000));
	expect_judged(runner, "3000", "allow");
}

static void a_deny_rule_refuses_it(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = peer_connect(true), *user = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	json_decref(peer_push(runner, "view"));
	json_t *reply = peer_call(user, "publish", wish(session, 22, 2222));
	assert_string_equal(text_of(reply, "code"), "EPERM");
	assert_non_null(strstr(text_of(reply, "message"), "policy.yaml"));
	json_decref(reply);
	assert_true(peer_is_quiet(runner, 0));
}

static void ports_are_ports(void **state) {
	(void)state;
	static const int bad[][2] = {{0, 1}, {65536, 1}, {1, 65536}};
	CLEANUP_PEER struct peer *runner = peer_connect(true), *user = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		json_t *reply = peer_call(user, "publish", wish(session, bad[i][0], bad[i][1]));
		assert_string_equal(text_of(reply, "code"), "ERANGE");
		json_decref(reply);
	}
	json_t *reply = peer_call(runner, "published", json_pack("{s:[s]}", "ports", "3000:http"));
	assert_string_equal(text_of(reply, "code"), "EINVAL");
	json_decref(reply);
}

/* What a sandbox could send, if it had its runner's connection: it is closed. */
static void attack_broker_11_a_session_can_not_publish(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = peer_connect(true), *other = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL), another = peer_open_session(other, NULL);
	json_t *reply = peer_call(runner, "publish", wish(session, 3000, 3000));
	assert_string_equal(text_of(reply, "type"), "error");
	json_decref(reply);
	assert_null(peer_receive(runner));
	reply = peer_call(other, "publish", wish(another, 3000, 3000));
	assert_string_equal(text_of(reply, "type"), "error");
	json_decref(reply);
	/* nor say that it is, without a session */
	CLEANUP_PEER struct peer *user = peer_connect(true);
	reply = peer_call(user, "published", json_pack("{s:[]}", "ports"));
	assert_string_equal(text_of(reply, "type"), "error");
	json_decref(reply);
}

static bool next_view_listens(struct peer *runner) {
	json_t *push = peer_push(runner, "view");
	bool listens = json_is_true(json_object_get(json_object_get(push, "view"), "listens"));
	json_decref(push);
	return listens;
}

static void views_say_whether_what_listens_matters(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *tool = peer_connect(true), *server = peer_connect(true), *user = peer_connect(true);
	int64_t session = peer_open_session(tool, NULL);
	assert_false(next_view_listens(tool));
	peer_open_session(server, json_pack("{s:s}", "profile", "served"));
	assert_true(next_view_listens(server));
	json_t *body = json_pack("{s:s, s:s, s:s, s:s, s:s}", "permission", "net:listen", "target", "4000", "effect",
				 "allow", "profile", "tooled", "lifetime", "always");
	json_decref(peer_call(user, "grant", body));
	assert_true(next_view_listens(tool));
	json_decref(peer_push(tool, "ended")); /* what listens already is to be judged again */
	/* one port of one session is published by name */
	int64_t id = peer_send(user, "publish", wish(session, 3000, 3000));
	int64_t number = asked(tool, 3000, 3000);
	say(tool, json_pack("{s:[], s:I, s:i}", "ports", "number", (json_int_t)number, "host_port", 3000));
	json_decref(peer_reply(user, id));
}

static int setup(void **state) {
	(void)state;
	home_write(".config/sbx/policy.yaml", policy);
	return broker_start(NULL);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_is_granted_told_and_listed),
		cmocka_unit_test(a_publication_may_last_shorter_than_its_session),
		cmocka_unit_test(what_was_not_published_is_not_granted),
		cmocka_unit_test(a_session_that_ends_leaves_nobody_waiting),
		cmocka_unit_test(who_asked_and_left_is_not_waited_for),
		cmocka_unit_test(a_deny_rule_refuses_it),
		cmocka_unit_test(ports_are_ports),
		cmocka_unit_test(attack_broker_11_a_session_can_not_publish),
		cmocka_unit_test(views_say_whether_what_listens_matters),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, setup, broker_teardown);
	home_remove();
	return failed;
}
