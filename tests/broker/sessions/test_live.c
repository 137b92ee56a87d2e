/* What the runner of a sandbox that lives is told, and in which order: the view, then what follows from it; and what is
 * still held when something ends. */
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/string.h"
#include "prompts_fixture.h"
#include "schema/limits.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

static int64_t ask_for(struct peer *runner, const char *permission, const char *target) {
	return peer_send(
		runner, "check",
		json_pack("{s:s, s:s, s:s}", "permission", permission, "target", target, "process", "tool (7)"));
}

static json_t *next_of(struct peer *peer, const char *type) {
	json_t *message = peer_receive(peer);
	assert_non_null(message);
	if (strcmp(text_of(message, "type"), type) != 0) {
		CLEANUP_FREE char *text = json_dumps(message, 0);
		fail_msg("not '%s' but %s", type, text);
	}
	return message;
}

static bool list_has(const json_t *list, const char *text) {
	size_t index;
	const json_t *item;
	json_array_foreach ((json_t *)list, index, item)
		if (strcmp(json_string_value(item), text) == 0) return true;
	return false;
}

/* The next message is a view's change, and has the path in that list (NULL: in one that doesn't show it), alone. */
static void expect_view(struct peer *runner, const char *path, const char *list) {
	static const char *const hiding[] = {"gone", "denied", "absent", "ask", "ask-write"};
	json_t *view = next_of(runner, "view");
	const json_t *paths = json_object_get(json_object_get(view, "view"), "paths");
	bool hidden = false;
	assert_true(json_is_true(json_object_get(view, "changes")));
	for (size_t i = 0; i < ARRAY_LENGTH(hiding); i++) hidden |= list_has(json_object_get(paths, hiding[i]), path);
	assert_int_equal(hidden, list == NULL);
	if (list) assert_true(list_has(json_object_get(paths, list), path));
	json_decref(view);
}

/* The next message is that check's verdict; the caller owns it. */
static json_t *next_verdict(struct peer *runner, int64_t check, const char *effect) {
	json_t *reply = next_of(runner, "check");
	assert_int_equal(number_of(reply, "id"), check);
	json_t *verdict = json_incref(json_object_get(reply, "verdict"));
	assert_string_equal(text_of(verdict, "effect"), effect);
	json_decref(reply);
	return verdict;
}

static int64_t grant(struct peer *user, const char *permission, const char *target, const char *lifetime) {
	CLEANUP_FREE char *app = home_path("app");
	json_t *body = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "permission", permission, "target", target, "effect",
				 "allow", "profile", "tooled", "project", app, "lifetime", lifetime);
	if (strcmp(lifetime, "until") == 0) json_object_set_new(body, "ttl_ms", json_integer(300));
	json_t *reply = peer_call(user, "grant", body);
	int64_t id = number_of(json_object_get(reply, "grant"), "id");
	if (id == 0) fail_msg("grant: %s", text_of(reply, "message"));
	json_decref(reply);
	return id;
}

static void an_answers_view_comes_before_its_verdict(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_FREE char *path = home_path("shared/notes.txt");
	int64_t check = ask_for(runner, "fs:read", path);
	answer_well(user, the_prompt(user), NULL, "allow", NULL);
	expect_view(runner, path, "read");
	json_t *verdict = next_verdict(runner, check, "allow");
	assert_true(number_of(verdict, "grant") > 0);
	assert_true(json_is_false(json_object_get(verdict, "once")));
	json_decref(verdict);
}

static void it_comes_before_the_verdicts_of_all_that_the_answer_covers(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *other = runner_new();
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_FREE char *one = home_path("shared/a/one"), *two = home_path("shared/a/two"),
			  *a = home_path("shared/a");
	int64_t first = ask_for(runner, "fs:read", one), prompt = the_prompt(user);
	int64_t second = ask_for(runner, "fs:read", two);
	expect_prompts(user, 2);
	int64_t third = ask_for(other, "fs:read", one);
	expect_prompts(user, 3);
	answer_well(user, prompt, NULL, "allow", json_pack("{s:s}", "scope", "folder"));
	expect_view(runner, a, "read");
	json_decref(next_verdict(runner, first, "allow"));
	json_decref(next_verdict(runner, second, "allow"));
	expect_view(other, a, "read");
	json_decref(next_verdict(other, third, "allow"));
}

static void a_grants_view_comes_before_the_verdicts_that_it_gives(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_FREE char *path = home_path("shared/b"), *hidden = home_path("elsewhere");
	int64_t check = ask_for(runner, "fs:read", path);
	the_prompt(user);
	grant(user, "fs:write", path, "always");
	expect_view(runner, path, "write");
	json_decref(next_verdict(runner, check, "allow"));
	grant(user, "fs:read", hidden, "always"); /* at once, though nobody asks for it */
	expect_view(runner, hidden, "read");
}

static void an_edited_policys_view_comes_before_the_verdict_by_it(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_FREE char *path = home_path("later");
	CLEANUP_FREE char *policy = string_format("%s    deny:\n      fs:read: [\"~/never\"]\n", prompts_waiting);
	CLEANUP_FREE char *allowing = string_format("version: 1\nprompt: {without-agent: wait}\nprofiles:\n  tooled:\n"
						    "    commands: [tool]\n    extends: [base]\n    allow:\n"
						    "      fs:read: [\"%s\"]\n",
						    path);
	home_write(".config/sbx/policy.yaml", allowing);
	int64_t check = ask_for(runner, "fs:read", path);
	expect_view(runner, path, "read");
	json_t *ended = next_of(runner, "ended");
	assert_true(json_integer_value(json_object_get(ended, "settle")) > 0);
	json_decref(ended);
	json_decref(next_verdict(runner, check, "allow"));
	home_write(".config/sbx/policy.yaml", policy);
	expect_view(runner, path, NULL);
}

/* An ask to write is one to read: what is asked is what was touched, and a read stays a read. */
static void a_read_under_a_rule_that_asks_for_writing_is_asked_as_a_read(void **state) {
	(void)state;
	home_write(".config/sbx/policy.yaml", "version: 1\nprompt: {without-agent: wait}\nprofiles:\n  tooled:\n"
					      "    commands: [tool]\n    extends: [base]\n    ask:\n"
					      "      fs:write: [\"~/both\"]\n");
	CLEANUP_PEER struct peer *runner = runner_new(), *agent = agent_new("tui");
	CLEANUP_FREE char *path = home_path("both/a");
	int64_t check = ask_for(runner, "fs:read", path);
	json_t *prompt = peer_push(agent, "prompt");
	assert_string_equal(text_of(prompt, "permission"), "fs:read");
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL);
	json_decref(prompt);
	expect_view(runner, path, "masked"); /* read, and writing would be asked */
	json_decref(next_verdict(runner, check, "allow"));
	check = ask_for(runner, "fs:write", path);
	prompt = peer_push(agent, "prompt");
	assert_string_equal(text_of(prompt, "permission"), "fs:write");
	answer_well(agent, number_of(prompt, "id"), text_of(prompt, "token"), "allow", NULL);
	json_decref(prompt);
	expect_view(runner, path, "write");
	json_decref(next_verdict(runner, check, "allow"));
}

/* once */

/* Rows about the grant, oldest first: "kind/verdict …". */
static char *rows_of_grant(struct peer *user, int64_t grant) {
	json_t *reply = peer_call(user, "list", json_pack("{s:s}", "what", "history")), *row;
	struct string rows = {0};
	size_t index;
	json_array_foreach (json_object_get(reply, "items"), index, row)
		if (number_of(row, "grant") == grant) string_appendf(&rows, "%s ", text_of(row, "kind"));
	json_decref(reply);
	return string_steal(&rows);
}

static void once_is_the_held_call_alone(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_FREE char *path = home_path("shared/c");
	int64_t check = ask_for(runner, "fs:read", path);
	json_t *reply = answer(user, the_prompt(user), NULL, "allow", json_pack("{s:s}", "lifetime", "once"));
	int64_t id = number_of(json_object_get(reply, "grant"), "id");
	json_decref(reply);
	json_t *verdict = next_verdict(runner, check, "allow"); /* and no view */
	assert_true(json_is_true(json_object_get(verdict, "once")));
	assert_true(json_is_null(json_object_get(verdict, "grant")));
	json_decref(verdict);
	CLEANUP_FREE char *rows = rows_of_grant(user, id);
	assert_string_equal(rows, "grant answer decision ");
	ask_for(runner, "fs:read", path);
	the_prompt(user); /* the next is asked about */
}

static void a_grant_for_once_is_used_up_by_the_first_request(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new();
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_FREE char *folder = home_path("shared/d"), *path = home_path("shared/d/file");
	int64_t id = grant(user, "fs:read", folder, "once");
	int64_t check = ask_for(runner, "fs:read", path);
	json_t *verdict = next_verdict(runner, check, "allow");
	assert_true(json_is_true(json_object_get(verdict, "once")));
	assert_true(json_is_null(json_object_get(verdict, "grant")));
	json_decref(verdict);
	CLEANUP_FREE char *rows = rows_of_grant(user, id);
	assert_string_equal(rows, "grant decision use ");
	ask_for(runner, "fs:read", path);
	the_prompt(user);
}

/* What is held */

static int64_t revoke_sent(struct peer *user, int64_t id, bool kill) {
	return peer_send(user, "revoke", json_pack("{s:[I], s:b}", "ids", (json_int_t)id, "kill", kill));
}

/* `ended` is next, after the view without the path; the number to answer with. */
static int64_t expect_ended(struct peer *runner, const char *path, int64_t id, bool kill) {
	expect_view(runner, path, NULL);
	json_t *ended = next_of(runner, "ended");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(ended, "grants"), 0)), id);
	assert_int_equal(json_is_true(json_object_get(ended, "kill")), kill);
	int64_t number = number_of(ended, "settle");
	assert_true(number > 0);
	json_decref(ended);
	return number;
}

static void settle(struct peer *runner, int64_t number, json_t *holders, int killed) {
	json_t *reply = peer_call(runner, "settled",
				  json_pack("{s:I, s:o, s:i}", "settle", (json_int_t)number, "holders",
					    holders ? holders : json_array(), "killed", killed));
	assert_string_equal(text_of(reply, "type"), "settled");
	json_decref(reply);
}

static json_t *holder(int pid, const char *path) {
	return json_pack("{s:i, s:s, s:s}", "pid", pid, "command", "node", "path", path);
}

/* The last row of that kind about the grant; the caller owns it. */
static json_t *row_of(struct peer *user, const char *kind, int64_t grant) {
	json_t *reply = peer_call(user, "list", json_pack("{s:s, s:b}", "what", "history", "newest", 1)), *row;
	json_t *found = NULL;
	size_t index;
	json_array_foreach (json_object_get(reply, "items"), index, row)
		if (!found && number_of(row, "grant") == grant && strcmp(text_of(row, "kind"), kind) == 0)
			found = json_incref(row);
	json_decref(reply);
	assert_non_null(found);
	return found;
}

static void a_revocation_says_who_holds_what_it_took(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *user = peer_connect(true);
	CLEANUP_FREE char *path = home_path("shared/e"), *file = home_path("shared/e/a.txt");
	int64_t id = grant(user, "fs:read", path, "always");
	expect_view(runner, path, "read");
	int64_t request = revoke_sent(user, id, false);
	int64_t number = expect_ended(runner, path, id, false);
	assert_true(peer_is_quiet(user, 50)); /* it waits */
	settle(runner, number, json_pack("[o]", holder(4242, file)), 0);
	json_t *reply = peer_reply(user, request);
	const json_t *held = json_array_get(json_object_get(reply, "holders"), 0);
	assert_int_equal(number_of(held, "pid"), 4242);
	assert_string_equal(text_of(held, "command"), "node");
	assert_string_equal(text_of(held, "path"), file);
	assert_true(number_of(held, "session") > 0);
	assert_int_equal(number_of(reply, "confirmed"), 1);
	assert_int_equal(json_array_size(json_object_get(reply, "others")), 0);
	assert_int_equal(number_of(reply, "count"), 1);
	json_decref(reply);
	json_t *row = row_of(user, "revoke", id);
	held = json_array_get(json_object_get(json_object_get(row, "detail"), "holders"), 0);
	assert_string_equal(text_of(held, "path"), file);
	assert_string_equal(text_of(row, "target"), path);
	json_decref(row);
	/* It has ended; those who hold it can be all the same. */
	reply = peer_reply(user, revoke_sent(user, id, false));
	assert_string_equal(text_of(reply, "code"), "EALREADY");
	json_decref(reply);
	request = revoke_sent(user, id, true);
	json_t *ended = next_of(runner, "ended");
	assert_true(json_is_true(json_object_get(ended, "kill")));
	settle(runner, number_of(ended, "settle"), NULL, 2);
	json_decref(ended);
	reply = peer_reply(user, request);
	assert_int_equal(number_of(reply, "killed"), 2);
	assert_int_equal(number_of(reply, "count"), 0);
	json_decref(reply);
}

/* The one sandbox that did not simply confirm; what it is. */
static void expect_other(const json_t *reply, const char *is) {
	const json_t *others = json_object_get(reply, "others");
	assert_int_equal(json_array_size(others), 1);
	assert_string_equal(text_of(json_array_get(others, 0), "is"), is);
	assert_int_equal(number_of(reply, "told"), 1);
	assert_int_equal(number_of(reply, "confirmed"), 0);
}

static void others_are_served_while_it_waits_and_it_waits_two_seconds(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *user = peer_connect(true), *other = peer_connect(true);
	CLEANUP_FREE char *path = home_path("shared/f");
	int64_t id = grant(user, "fs:read", path, "always");
	expect_view(runner, path, "read");
	int64_t began = now_ms(), request = revoke_sent(user, id, false);
	int64_t number = expect_ended(runner, path, id, false);
	for (int i = 0; i < 20; i++) {
		json_decref(peer_call(other, "status", NULL));
		bool quiet = peer_is_quiet(user, 0);
		assert_true(quiet || now_ms() - began >= LIMIT_CONFIRM_MS - 20);
	}
	json_t *reply = peer_reply(user, request);
	assert_in_range(now_ms() - began, LIMIT_CONFIRM_MS - 20, PATIENCE_MS);
	expect_other(reply, "starting"); /* it has said of no process */
	json_decref(reply);
	settle(runner, number, json_pack("[o]", holder(1, path)), 0); /* late, and no harm */
	assert_true(peer_is_quiet(runner, 20));
}

static void attack_broker_19_who_is_to_be_ended_and_does_not_answer_is(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *user = peer_connect(true);
	CLEANUP_FREE char *path = home_path("shared/g");
	int64_t id = grant(user, "fs:read", path, "always");
	expect_view(runner, path, "read");
	int64_t request = revoke_sent(user, id, true);
	expect_ended(runner, path, id, true);
	json_decref(next_of(runner, "terminate"));
	json_decref(peer_reply(user, request));
}

/* Who asked for one revocation goes, and the runner that another waits for. */
static int64_t took_with_what_goes(struct peer *user) {
	CLEANUP_FREE char *path = home_path("shared/h");
	struct peer *runner = runner_new(), *gone = peer_connect(true);
	int64_t id = grant(user, "fs:read", path, "always"), next = grant(user, "fs:write", path, "always");
	revoke_sent(gone, next, false);
	json_decref(peer_push(runner, "ended"));
	peer_free(gone); /* nobody is there for the reply */
	int64_t began = now_ms(), request = revoke_sent(user, id, false);
	json_decref(peer_push(runner, "ended"));
	peer_free(runner);
	json_t *reply = peer_reply(user, request);
	int64_t took = now_ms() - began;
	assert_int_equal(json_array_size(json_object_get(reply, "holders")), 0);
	json_decref(reply);
	return took;
}

static void nobody_waits_for_what_has_gone(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	assert_once_below(LIMIT_CONFIRM_MS, took_with_what_goes(user));
}

/* Whatever was allowed: also what no process holds, a variable that none forgets, a word of the user's own. */
static void each_end_of_an_allow_is_confirmed(void **state) {
	(void)state;
	static const struct {
		const char *permission, *target;
		bool shown; /* in views */
	} all[] = {{"net:access", "svc.test:443", false},
		   {"net:listen", "8080", true},
		   {"ipc:connect", "/run/user/1/x.sock", true},
		   {"proc:spawn", "/usr/bin/true", true}};
	CLEANUP_PEER struct peer *runner = runner_new(), *user = peer_connect(true);
	for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
		int64_t id = grant(user, all[i].permission, all[i].target, "always");
		int64_t request = revoke_sent(user, id, false);
		json_t *ended = NULL;
		do {
			json_decref(ended);
			ended = peer_push(runner, "ended"); /* of a port that may be listened on one comes, too */
		} while (number_of(ended, "settle") == 0);
		assert_true(peer_is_quiet(user, 20));
		settle(runner, number_of(ended, "settle"), NULL, 0);
		json_decref(ended);
		json_t *reply = peer_reply(user, request);
		assert_int_equal(number_of(reply, "confirmed"), 1);
		json_decref(reply);
	}
}

static void who_does_not_want_to_wait_is_answered_at_once(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *user = peer_connect(true);
	CLEANUP_FREE char *path = home_path("shared/m");
	int64_t id = grant(user, "fs:read", path, "always");
	json_t *reply = peer_call(user, "revoke", json_pack("{s:[I], s:b}", "ids", (json_int_t)id, "at_once", 1));
	assert_int_equal(number_of(reply, "told"), 1);
	assert_null(json_object_get(reply, "confirmed")); /* nothing is said of it */
	json_decref(reply);
	json_t *ended = peer_push(runner, "ended");
	settle(runner, number_of(ended, "settle"), NULL, 0);
	json_decref(ended);
}

static void progress_is_told_to_who_wants_it(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *second = runner_new(), *user = peer_connect(true);
	CLEANUP_FREE char *path = home_path("shared/n");
	int64_t id = grant(user, "fs:read", path, "always");
	int64_t request = peer_send(user, "revoke", json_pack("{s:[I], s:b}", "ids", (json_int_t)id, "progress", 1));
	struct peer *const runners[] = {runner, second};
	for (int waiting = 2; waiting > 0; waiting--) {
		json_t *progress = peer_push(user, "progress");
		assert_int_equal(number_of(progress, "request"), request);
		assert_int_equal(number_of(progress, "waiting"), waiting);
		assert_int_equal(number_of(progress, "told"), 2);
		json_decref(progress);
		json_t *ended = peer_push(runners[waiting - 1], "ended");
		settle(runners[waiting - 1], number_of(ended, "settle"), NULL, 0);
		json_decref(ended);
	}
	json_decref(peer_reply(user, request));
}

static void all_that_is_revoked_together_is_settled_together(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *second = runner_new(), *user = peer_connect(true);
	CLEANUP_FREE char *one = home_path("shared/i"), *two = home_path("shared/j");
	grant(user, "fs:read", one, "always");
	grant(user, "fs:read", two, "always");
	int64_t request = peer_send(user, "revoke", json_pack("{s:s, s:b}", "profile", "tooled", "kill", 1));
	json_t *first_ended = peer_push(runner, "ended"), *second_ended = peer_push(second, "ended");
	assert_int_equal(json_array_size(json_object_get(first_ended, "grants")), 2);
	settle(runner, number_of(first_ended, "settle"), NULL, 1);
	assert_true(peer_is_quiet(user, 20));
	settle(second, number_of(second_ended, "settle"), json_pack("[o]", holder(7, two)), 2);
	json_t *reply = peer_reply(user, request);
	assert_int_equal(number_of(reply, "count"), 2);
	assert_int_equal(number_of(reply, "killed"), 3);
	assert_int_equal(json_array_size(json_object_get(reply, "holders")), 1);
	json_decref(first_ended);
	json_decref(second_ended);
	json_decref(reply);
}

static void what_expires_leaves_in_time_and_who_holds_it_is_in_the_history(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *user = peer_connect(true);
	CLEANUP_FREE char *path = home_path("shared/k");
	int64_t began = now_ms(), id = grant(user, "fs:read", path, "until"); /* for 300 ms */
	expect_view(runner, path, "read");
	int64_t number = expect_ended(runner, path, id, false);
	assert_in_range(now_ms() - began, 300, PATIENCE_MS);
	settle(runner, number, json_pack("[o]", holder(4243, path)), 0);
	json_t *row = row_of(user, "expire", id);
	assert_int_equal(
		number_of(json_array_get(json_object_get(json_object_get(row, "detail"), "holders"), 0), "pid"), 4243);
	json_decref(row);
}

/* As many and as long as they may be: everybody still gets one message that fits. */
static void the_most_that_may_be_held_fits(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = runner_new(), *user = peer_connect(true);
	CLEANUP_FREE char *path = home_path("shared/l");
	char file[800] = "/";
	memset(file + 1, 'x', sizeof file - 2);
	file[sizeof file - 1] = '\0';
	int64_t id = grant(user, "fs:read", path, "always");
	expect_view(runner, path, "read");
	for (int i = 0; i < 3; i++) {
		int64_t request = revoke_sent(user, id, i > 0);
		json_t *ended = peer_push(runner, "ended"), *holders = json_array();
		for (int j = 0; j < LIMIT_HOLDERS_TOLD; j++) json_array_append_new(holders, holder(j + 1, file));
		settle(runner, number_of(ended, "settle"), holders, 0);
		json_decref(ended);
		json_t *reply = peer_reply(user, request);
		assert_int_equal((json_int_t)json_array_size(json_object_get(reply, "holders")) +
					 number_of(reply, "more"),
				 LIMIT_HOLDERS_TOLD);
		json_decref(reply);
	}
}

static void attack_broker_5_what_is_no_holder_is_refused(void **state) {
	(void)state;
	static const char *const bodies[] = {
		"{'settle':1}",
		"{'holders':[]}",
		"{'settle':-1,'holders':[]}",
		"{'settle':1,'holders':{}}",
		"{'settle':1,'holders':[1]}",
		"{'settle':1,'holders':[{}]}",
		"{'settle':1,'holders':[{'pid':1,'command':'x'}]}",
		"{'settle':1,'holders':[{'pid':'1','command':'x','path':'/x'}]}",
		"{'settle':1,'holders':[{'pid':1,'command':'x','path':'/x','more':1}]}",
		"{'settle':1,'holders':[{'pid':1,'command':'x','path':'/x'},{'pid':1}]}",
		"{'settle':1,'holders':[],'ended':{}}",
		"{'settle':1,'holders':[],'ended':[{'pid':1}]}",
	};
	for (size_t i = 0; i < ARRAY_LENGTH(bodies); i++) {
		CLEANUP_PEER struct peer *runner = runner_new();
		CLEANUP_FREE char *text = string_copy(bodies[i]);
		for (char *p = text; *p; p++)
			if (*p == '\'') *p = '"';
		json_t *reply = peer_call(runner, "settled", json_loads(text, 0, NULL));
		assert_string_equal(text_of(reply, "type"), "error");
		json_decref(reply);
		assert_null(peer_receive(runner));
	}
	CLEANUP_PEER struct peer *stranger = peer_connect(true);
	json_t *reply = peer_call(stranger, "settled", json_pack("{s:i, s:[]}", "settle", 1, "holders"));
	assert_string_equal(text_of(reply, "type"), "error"); /* it has no session */
	json_decref(reply);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		PROMPTS_TEST(an_answers_view_comes_before_its_verdict, prompts_setup_waits),
		PROMPTS_TEST(it_comes_before_the_verdicts_of_all_that_the_answer_covers, prompts_setup_waits),
		PROMPTS_TEST(a_grants_view_comes_before_the_verdicts_that_it_gives, prompts_setup_waits),
		PROMPTS_TEST(an_edited_policys_view_comes_before_the_verdict_by_it, prompts_setup_waits),
		PROMPTS_TEST(a_read_under_a_rule_that_asks_for_writing_is_asked_as_a_read, prompts_setup_waits),
		PROMPTS_TEST(once_is_the_held_call_alone, prompts_setup_waits),
		PROMPTS_TEST(a_grant_for_once_is_used_up_by_the_first_request, prompts_setup_waits),
		PROMPTS_TEST(a_revocation_says_who_holds_what_it_took, prompts_setup_waits),
		PROMPTS_TEST(others_are_served_while_it_waits_and_it_waits_two_seconds, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_19_who_is_to_be_ended_and_does_not_answer_is, prompts_setup_waits),
		PROMPTS_TEST(nobody_waits_for_what_has_gone, prompts_setup_waits),
		PROMPTS_TEST(each_end_of_an_allow_is_confirmed, prompts_setup_waits),
		PROMPTS_TEST(who_does_not_want_to_wait_is_answered_at_once, prompts_setup_waits),
		PROMPTS_TEST(progress_is_told_to_who_wants_it, prompts_setup_waits),
		PROMPTS_TEST(all_that_is_revoked_together_is_settled_together, prompts_setup_waits),
		PROMPTS_TEST(what_expires_leaves_in_time_and_who_holds_it_is_in_the_history, prompts_setup_waits),
		PROMPTS_TEST(the_most_that_may_be_held_fits, prompts_setup_waits),
		PROMPTS_TEST(attack_broker_5_what_is_no_holder_is_refused, prompts_setup_waits),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
