/* Policy files that change under a real sbxd: what a request has of them, and what running sessions are told. */
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/string.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

enum { ROUNDS = 200, SOON_MS = 800 };

static char *policy_text(const char *effect) {
	return string_format("version: 1\nprofiles: {default: {%s: {net:access: [x.test]}}, p: {}}\n", effect);
}

static void write_in_place(const char *name, const char *text) {
	CLEANUP_FREE char *path = home_path(name);
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static char *effect_of(struct peer *peer, bool session) {
	CLEANUP_FREE char *app = home_path("app");
	json_t *body = json_pack("{s:s, s:s, s:b}", "permission", "net:access", "target", "x.test:443", "ask", 0);
	if (!session) json_object_set_new(body, "project", json_string(app));
	json_t *reply = peer_call(peer, "check", body);
	const json_t *verdict = json_object_get(reply, "verdict");
	char *effect = string_copy(verdict ? text_of(verdict, "effect") : text_of(reply, "message"));
	json_decref(reply);
	return effect;
}

static void expect_effect(struct peer *runner, const char *wanted) {
	CLEANUP_FREE char *effect = effect_of(runner, true);
	assert_string_equal(effect, wanted);
}

static void wait_for_effect(struct peer *runner, const char *wanted) {
	CLEANUP_FREE char *effect = NULL;
	wait_until((free(effect), effect = effect_of(runner, true), strcmp(effect, wanted) == 0));
}

/* Every request is decided by the files as they were before it was sent, however they were written. */
static void a_check_is_never_decided_by_rules_older_than_itself(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	peer_open_session(runner, json_pack("{s:s}", "profile", "default"));
	for (int i = 0; i < ROUNDS; i++) {
		const char *wanted = i % 2 ? "allow" : "deny";
		CLEANUP_FREE char *text = policy_text(wanted);
		if (i % 3 == 0)
			write_in_place(".config/sbx/policy.yaml", text);
		else
			home_write(".config/sbx/policy.yaml", text); /* renamed over */
		CLEANUP_FREE char *without = effect_of(user, false);
		CLEANUP_FREE char *with = effect_of(runner, true);
		if (strcmp(without, wanted) != 0 || strcmp(with, wanted) != 0)
			fail_msg("round %d: %s and %s, not %s", i, without, with, wanted);
	}
}

static void drain(struct peer *runner) {
	json_decref(peer_call(runner, "resolve", json_pack("{s:[s]}", "paths", "/")));
	json_array_clear(runner->pushes);
}

static void trust(struct peer *user, const char *text, bool forget) {
	char hash[HASH_HEX_SIZE];
	CLEANUP_FREE char *app = home_path("app");
	hash_hex(hash, text, strlen(text));
	json_t *body = json_pack("{s:s}", "project", app);
	if (forget)
		json_object_set_new(body, "forget", json_true());
	else
		json_object_set_new(body, "hash", json_string(hash));
	json_t *reply = peer_call(user, "trust", body);
	assert_string_equal(text_of(reply, "type"), "trust");
	json_decref(reply);
}

static bool view_has(const json_t *push, const char *mode, const char *name) {
	CLEANUP_FREE char *path = home_path(name);
	const json_t *paths = json_object_get(json_object_get(json_object_get(push, "view"), "paths"), mode);
	size_t index;
	json_t *item;
	json_array_foreach ((json_t *)paths, index, item)
		if (strcmp(json_string_value(item), path) == 0) return true;
	return false;
}

static void a_session_is_told_of_its_projects_file_by_itself(void **state) {
	(void)state;
	static const char text[] = "version: 1\nprofiles: {p: {deny: {fs:read: [\"~/app/secret\"]}, "
				   "allow: {fs:read: [\"~/wide\"]}}}\n";
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	peer_open_session(runner, json_pack("{s:s}", "profile", "p"));
	drain(runner);
	home_write("app/.sbx.yaml", text);
	json_t *push = peer_push(runner, "view");
	assert_true(view_has(push, "denied", "app/secret"));
	assert_false(view_has(push, "read", "wide"));
	json_decref(push);
	trust(user, text, false);
	push = peer_push(runner, "view");
	assert_true(view_has(push, "read", "wide"));
	json_decref(push);
	trust(user, text, true);
	push = peer_push(runner, "view");
	assert_true(view_has(push, "gone", "wide"));
	assert_false(view_has(push, "gone", "app/secret"));
	json_decref(push);
	drain(runner);
	CLEANUP_FREE char *path = home_path("app/.sbx.yaml");
	assert_int_equal(unlink(path), 0);
	push = peer_push(runner, "view");
	assert_true(view_has(push, "gone", "app/secret"));
	json_decref(push);
}

/* Whoever asks in between has read the new file, and the session hears of it all the same. */
static void a_session_is_told_of_its_projects_file_that_others_have_seen_first(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	CLEANUP_FREE char *app = home_path("app");
	peer_open_session(runner, json_pack("{s:s}", "profile", "p"));
	drain(runner);
	home_write("app/.sbx.yaml", "version: 1\nprofiles: {p: {deny: {fs:read: [\"~/app/secret\"]}}}\n");
	json_decref(peer_call(user, "policy", json_pack("{s:s}", "project", app)));
	json_t *push = peer_push(runner, "view");
	assert_true(view_has(push, "denied", "app/secret"));
	json_decref(push);
}

/* How long it takes from the change of the user's file until the session is told. */
static int64_t file_told(struct peer *runner) {
	static bool allow;
	CLEANUP_FREE char *text = policy_text(allow ? "allow" : "deny");
	allow = !allow;
	drain(runner);
	home_write(".config/sbx/policy.yaml", text);
	int64_t start = now_ms();
	json_decref(peer_push(runner, "ended"));
	return now_ms() - start;
}

static void a_session_is_told_of_the_users_file_by_itself(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	peer_open_session(runner, json_pack("{s:s}", "profile", "default"));
	/* Right after one look of a broker that looks each second, the next is a second away. */
	file_told(runner);
	assert_once_below(SOON_MS, file_told(runner));
}

/* How many rows of a layer's changes there are, and the hash of the last. */
static size_t count_policy_rows(const char *layer, char **ret_hash) {
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	json_t *row, *reply = peer_call(peer, "list",
					json_pack("{s:s, s:{s:s}}", "what", "history", "filter", "kind", "policy"));
	size_t index, count = 0;
	*ret_hash = NULL;
	json_array_foreach (json_object_get(reply, "items"), index, row) {
		const json_t *detail = json_object_get(row, "detail");
		if (strcmp(text_of(detail, "layer"), layer) != 0) continue;
		free(*ret_hash);
		*ret_hash = string_copy(text_of(detail, "hash"));
		count++;
	}
	json_decref(reply);
	return count;
}

/* Who edits a policy while no sbxd runs is on record as well, once. */
static void what_changed_while_no_sbxd_ran_is_recorded_at_its_start(void **state) {
	(void)state;
	CLEANUP_FREE char *text = policy_text("deny");
	CLEANUP_FREE char *first = NULL;
	size_t before = count_policy_rows("user", &first);
	broker_stop();
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_FREE char *same = NULL;
	assert_int_equal(count_policy_rows("user", &same), before);
	broker_stop();
	home_write(".config/sbx/policy.yaml", text);
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_FREE char *other = NULL;
	assert_int_equal(count_policy_rows("user", &other), before + 1);
	assert_int_equal(strlen(other), HASH_HEX_SIZE - 1);
	assert_string_not_equal(other, first ? first : "");
	/* What is recorded while it runs counts as recorded, and that there is no file any more is a change, too. */
	write_in_place(".config/sbx/policy.yaml", "version: 1\n");
	struct peer *asking = peer_connect(true);
	free(effect_of(asking, false));
	peer_free(asking);
	CLEANUP_FREE char *running = NULL;
	assert_int_equal(count_policy_rows("user", &running), before + 2);
	broker_kill();
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_FREE char *again = NULL;
	assert_int_equal(count_policy_rows("user", &again), before + 2);
	assert_string_equal(again, running);
	broker_stop();
	CLEANUP_FREE char *path = home_path(".config/sbx/policy.yaml");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_FREE char *none = NULL;
	assert_int_equal(count_policy_rows("user", &none), before + 3);
	assert_string_equal(none, "");
	CLEANUP_FREE char *admin = NULL;
	assert_int_equal(count_policy_rows("admin", &admin), 0);
}

/* Rights that came with trust go with it, also those of a profile that nothing else has. */
static void attack_broker_21_a_profile_that_is_not_trusted_any_more_allows_nothing(void **state) {
	(void)state;
	static const char text[] = "version: 1\nprofiles: {theirs: {allow: {net:access: [x.test]}}}\n";
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	home_write("app/.sbx.yaml", text);
	trust(user, text, false);
	peer_open_session(runner, json_pack("{s:s}", "profile", "theirs"));
	expect_effect(runner, "allow");
	trust(user, text, true);
	expect_effect(runner, "deny");
	trust(user, text, false);
	expect_effect(runner, "allow");
}

/* Rules of a project's file can be too many, or too long, for this project: no way to keep what the user takes away. */
static void attack_broker_21_a_file_that_can_not_be_compiled_keeps_no_rights(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	CLEANUP_FREE char *denied = policy_text("deny"), *allowed = policy_text("allow");
	CLEANUP_STRING struct string large = {0};
	peer_open_session(runner, json_pack("{s:s}", "profile", "default"));
	expect_effect(runner, "allow");
	string_append(&large, "version: 1\nprofiles: {default: {deny: {fs:read: [");
	for (int i = 0; i < 6000; i++) string_append(&large, "/a, ");
	string_append(&large, "/b]}}}\n");
	home_write("app/.sbx.yaml", large.data);
	wait_for_effect(runner, "deny");
	home_write(".config/sbx/policy.yaml", denied);
	home_write("app/.sbx.yaml", "version: 1\n");
	wait_for_effect(runner, "deny");
	home_write(".config/sbx/policy.yaml", allowed);
	wait_for_effect(runner, "allow");
}

/* A tool may write there as often as it likes: others are served, and what is last holds. */
static void attack_broker_21_a_file_that_changes_without_end_holds_nobody_up(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *user = peer_connect(true);
	CLEANUP_PEER struct peer *runner = peer_connect(true);
	CLEANUP_FREE char *name = home_path("app/x"), *other = home_path("app/y");
	peer_open_session(runner, json_pack("{s:s}", "profile", "p"));
	write_in_place("app/x", "");
	int late = 0, asked = 0;
	for (int i = 0; i < 3000; i++) {
		CLEANUP_FREE char *text = string_format("version: 1\n# %d\n", i);
		write_in_place("app/.sbx.yaml", text);
		assert_int_equal(i % 2 ? rename(other, name) : rename(name, other), 0);
		if (i % 100 != 0) continue;
		int64_t start = now_ms();
		json_decref(peer_call(user, "status", NULL));
		late += now_ms() - start > 1000;
		asked++;
	}
	assert_true(late <= asked / 4); /* those may be the machine's own */
	home_write("app/.sbx.yaml", "version: 1\nprofiles: {p: {deny: {fs:read: [\"~/app/secret\"]}}}\n");
	for (bool last = false; !last;) { /* what came before comes first */
		json_t *push = peer_push(runner, "view");
		last = view_has(push, "denied", "app/secret");
		json_decref(push);
	}
}

static int setup(void **state) {
	(void)state;
	CLEANUP_FREE char *project_file = home_path("app/.sbx.yaml");
	unlink(project_file);
	CLEANUP_FREE char *text = policy_text("allow");
	home_write(".config/sbx/policy.yaml", text);
	home_write("app/file", "");
	return broker_start(NULL);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, broker_teardown)
	const struct CMUnitTest tests[] = {
		/* The first, so that all rows that it counts are on one page. */
		TEST(what_changed_while_no_sbxd_ran_is_recorded_at_its_start),
		TEST(a_check_is_never_decided_by_rules_older_than_itself),
		TEST(a_session_is_told_of_its_projects_file_by_itself),
		TEST(a_session_is_told_of_its_projects_file_that_others_have_seen_first),
		TEST(a_session_is_told_of_the_users_file_by_itself),
		TEST(attack_broker_21_a_profile_that_is_not_trusted_any_more_allows_nothing),
		TEST(attack_broker_21_a_file_that_can_not_be_compiled_keeps_no_rights),
		TEST(attack_broker_21_a_file_that_changes_without_end_holds_nobody_up),
	};
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
