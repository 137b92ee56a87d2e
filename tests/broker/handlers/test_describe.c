/* What a session is told that it may do, by a real sbxd. */
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"

static const char policy[] = "version: 1\n"
			     "permissions: {'db:access': \"use the database\"}\n"
			     "profiles:\n"
			     "  p:\n"
			     "    allow: {fs:read: [~/shown, ~/shadowed], 'db:access': [test]}\n"
			     "    ask: {fs:read: [~/asked], net:access: ['*'], 'db:access': ['*']}\n"
			     "    deny: {fs:read: [~/secret, ~/shadowed]}\n"
			     "  q: {extends: [p], deny: {net:access: ['*']}}\n"
			     "  n: {extends: [p], network: none}\n"
			     "  g: {ask: {fs:read: [~/asked, {target: ~/asked/still, confirm: terminal}]}}\n";

static bool lists(const json_t *reply, const char *list, const char *permission, const char *pattern) {
	size_t index;
	json_t *item;
	json_array_foreach (json_object_get(reply, list), index, item)
		if (strcmp(text_of(item, "permission"), permission) == 0 &&
		    strcmp(text_of(item, "pattern"), pattern) == 0)
			return true;
	return false;
}

static bool lists_file(const json_t *reply, const char *list, const char *name) {
	CLEANUP_FREE char *path = home_path(name);
	return lists(reply, list, "fs:read", path);
}

static json_t *describe(const char *profile, const char *allow) {
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	json_t *wish = json_pack("{s:s}", "profile", profile);
	if (allow) json_object_set_new(wish, "allow", json_pack("[s]", allow));
	peer_open_session(runner, wish);
	return peer_call(runner, "describe", json_object());
}

static void a_session_is_told_what_it_may_do_and_ask_for(void **state) {
	(void)state;
	json_t *reply = describe("p", NULL);
	assert_string_equal(text_of(reply, "type"), "describe");
	assert_string_equal(text_of(reply, "profile"), "p");
	assert_string_equal(text_of(reply, "network"), "native");
	assert_true(lists_file(reply, "allow", "shown"));
	assert_true(lists_file(reply, "ask", "asked"));
	assert_true(lists(reply, "ask", "net:access", "*"));
	assert_true(lists(reply, "allow", "db:access", "test"));
	assert_true(lists(reply, "ask", "db:access", "*"));
	const json_t *own = json_array_get(json_object_get(reply, "permissions"), 0);
	assert_string_equal(text_of(own, "name"), "db:access");
	assert_string_equal(text_of(own, "description"), "use the database");
	assert_false(json_is_true(json_object_get(reply, "more")));
	json_decref(reply);
}

static void what_is_denied_is_nowhere_in_it(void **state) {
	(void)state;
	json_t *reply = describe("p", NULL);
	CLEANUP_FREE char *text = json_dumps(reply, JSON_COMPACT);
	assert_null(strstr(text, "secret"));
	assert_null(strstr(text, "shadowed"));
	json_decref(reply);
	reply = describe("q", NULL);
	assert_false(lists(reply, "ask", "net:access", "*"));
	assert_true(lists_file(reply, "ask", "asked"));
	json_decref(reply);
}

static void without_a_network_no_host_is_listed(void **state) {
	(void)state;
	json_t *reply = describe("n", NULL);
	assert_string_equal(text_of(reply, "network"), "none");
	assert_false(lists(reply, "ask", "net:access", "*"));
	json_decref(reply);
}

static void grant_an_hour(const char *profile, const char *target) {
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_FREE char *app = home_path("app");
	json_t *reply = peer_call(user, "grant",
				  json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "permission", "fs:read", "target",
					    target, "effect", "allow", "profile", profile, "project", app, "lifetime",
					    "until", "ttl_ms", 3600000));
	assert_string_equal(text_of(reply, "type"), "grant");
	json_decref(reply);
}

static void grants_are_listed_with_their_end(void **state) {
	(void)state;
	CLEANUP_FREE char *granted = home_path("granted");
	grant_an_hour("p", granted);
	json_t *reply = describe("p", "fs:read=~/forthis");
	assert_true(lists_file(reply, "allow", "forthis"));
	assert_true(lists_file(reply, "allow", "granted"));
	size_t index;
	json_t *item;
	json_array_foreach (json_object_get(reply, "allow"), index, item)
		if (strcmp(text_of(item, "pattern"), granted) == 0) assert_non_null(json_object_get(item, "until"));
	json_decref(reply);
}

static void without_a_session_the_subject_is_named(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_FREE char *app = home_path("app");
	json_t *reply = peer_call(user, "describe", json_pack("{s:s, s:s}", "profile", "p", "project", app));
	assert_true(lists_file(reply, "allow", "shown"));
	json_decref(reply);
	reply = peer_call(user, "describe", json_pack("{s:s}", "profile", "p"));
	assert_string_equal(text_of(reply, "type"), "error");
	json_decref(reply);
	reply = peer_call(user, "describe", json_pack("{s:s, s:s}", "profile", "none-such", "project", app));
	assert_string_equal(text_of(reply, "type"), "error");
	json_decref(reply);
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	peer_open_session(runner, json_pack("{s:s}", "profile", "q"));
	reply = peer_call(runner, "describe", json_pack("{s:s, s:s}", "profile", "p", "project", app));
	assert_string_equal(text_of(reply, "type"), "error");
	json_decref(reply);
}

static bool is_refused(struct peer *peer, json_t *body) {
	json_t *reply = peer_call(peer, "describe", body);
	bool refused = strcmp(text_of(reply, "type"), "error") == 0;
	json_decref(reply);
	return refused;
}

static void a_running_session_is_described_to_others_and_itself_names_none(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	const json_int_t id =
		peer_open_session(runner, json_pack("{s:s, s:[s]}", "profile", "n", "allow", "fs:read=~/forthis"));
	json_t *reply = peer_call(user, "describe", json_pack("{s:I}", "session", id));
	assert_string_equal(text_of(reply, "profile"), "n");
	assert_true(lists_file(reply, "allow", "shown"));
	assert_true(lists_file(reply, "allow", "forthis"));
	assert_false(lists(reply, "ask", "net:access", "*"));
	json_decref(reply);
	assert_true(is_refused(user, json_pack("{s:I, s:s}", "session", id, "profile", "n")));
	assert_true(is_refused(user, json_pack("{s:I}", "session", id + 1)));
	assert_true(is_refused(runner, json_pack("{s:I}", "session", id)));
}

static int setup(void **state) {
	(void)state;
	home_write(".config/sbx/policy.yaml", policy);
	home_write("app/file", "");
	return broker_start(NULL);
}

/* What is asked about and was granted is allowed, until that ends; of a tree that was granted what lies closer is not.
 */
static void what_is_granted_is_not_asked_for(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_FREE char *asked = home_path("asked");
	grant_an_hour("g", asked);
	json_t *reply = describe("g", NULL);
	assert_true(lists_file(reply, "allow", "asked"));
	assert_false(lists_file(reply, "ask", "asked"));
	assert_true(lists_file(reply, "ask", "asked/still"));
	json_decref(reply);
	json_decref(peer_call(user, "revoke", json_pack("{s:b, s:b}", "all", 1, "at_once", 1)));
	reply = describe("g", NULL);
	assert_true(lists_file(reply, "ask", "asked"));
	json_decref(reply);
	/* For one use: the next one is asked about. */
	json_decref(peer_call(user, "grant",
			      json_pack("{s:s, s:s, s:s, s:s, s:s}", "permission", "fs:read", "target", asked, "effect",
					"allow", "profile", "g", "lifetime", "once")));
	reply = describe("g", NULL);
	assert_true(lists_file(reply, "ask", "asked"));
	json_decref(reply);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, broker_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_session_is_told_what_it_may_do_and_ask_for),
		TEST(what_is_denied_is_nowhere_in_it),
		TEST(without_a_network_no_host_is_listed),
		TEST(grants_are_listed_with_their_end),
		TEST(without_a_session_the_subject_is_named),
		TEST(what_is_granted_is_not_asked_for),
		TEST(a_running_session_is_described_to_others_and_itself_names_none),
	};
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
