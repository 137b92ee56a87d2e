/* Grants that end by the thousand, with a real sbxd: at once for who looks, page by page on the disk, others served. */
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

enum { MANY = 6000, EXPIRY_S = 3, DAY_S = 24 * 60 * 60 };
#define LAST "h5999.test:443"

static sqlite3 *open_database(void) {
	sqlite3 *db;
	CLEANUP_FREE char *path = home_path(".local/state/sbx/sbx.db");
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	return db;
}

static void run(const char *sql) {
	sqlite3 *db = open_database();
	char *message = NULL;
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", message, sql);
	sqlite3_close(db);
}

static int64_t count(const char *sql) {
	sqlite3 *db = open_database();
	sqlite3_stmt *row;
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	int64_t value = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return value;
}

/* While no broker runs. */
static void fill(const char *profile, int64_t expires_ms) {
	CLEANUP_FREE char *sql = string_format(
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
		" INSERT INTO grants (active, permission, key, pattern, effect, profile, project, lifetime, created_ms,"
		" expires_ms, expires_boot_ms, boot_id, origin)"
		" SELECT 1, 'net:access', 'h' || i || '.test 443', 'h' || i || '.test:443', 'allow', '%s', '', '%s', "
		"1, %lld,"
		" 0, '', 'cli' FROM n",
		MANY, profile, expires_ms ? "until" : "always", (long long)expires_ms);
	run(sql);
}

static bool is_allowed(struct peer *peer, const char *target) {
	json_t *reply = peer_call(peer, "check",
				  json_pack("{s:s, s:s, s:s, s:s, s:b}", "permission", "net:access", "target", target,
					    "profile", "default", "project", "/p", "ask", 0));
	const char *effect = json_string_value(json_object_get(json_object_get(reply, "verdict"), "effect"));
	if (!effect) fail_msg("%s", json_string_value(json_object_get(reply, "message")));
	bool allowed = string_equal(effect, "allow");
	json_decref(reply);
	return allowed;
}

static size_t listed(struct peer *peer) {
	json_t *reply = peer_call(peer, "list", json_pack("{s:s}", "what", "grants"));
	size_t size = json_array_size(json_object_get(reply, "items"));
	json_decref(reply);
	return size;
}

static void start_with(const char *profile, int64_t expires_ms) {
	assert_int_equal(broker_start(NULL), 0);
	broker_stop();
	run("DELETE FROM grants");
	fill(profile, expires_ms);
	assert_int_equal(broker_start(NULL), 0);
}

/* The requests that are served until the reply to this one comes; *ret_reply is the caller's. */
static int served_until_reply(struct peer *asking, int64_t id, struct peer *other, json_t **ret_reply) {
	int served = 0;
	while (peer_is_quiet(asking, 0)) {
		json_decref(peer_call(other, "status", NULL));
		served++;
	}
	*ret_reply = peer_reply(asking, id);
	return served;
}

/* The request was read: from then on the last of them counts no more, long before it is written. */
static void wait_until_nothing_counts(struct peer *other) {
	int tries = 0;
	while (is_allowed(other, LAST)) assert_true(++tries < 1000);
}

static void check_mass_revoke(json_t *body) {
	static const char revocations[] = "SELECT count(*) FROM events WHERE kind = 'revoke'";
	start_with("default", 0);
	broker_stop();
	int64_t before = count(revocations);
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_PEER struct peer *asking = peer_connect(true), *other = peer_connect(true);
	assert_true(is_allowed(other, "h1.test:443"));
	assert_true(is_allowed(other, LAST));
	int64_t id = peer_send(asking, "revoke", body);
	json_t *reply;
	wait_until_nothing_counts(other);
	assert_true(peer_is_quiet(asking, 0));
	assert_int_equal(listed(other), 0);
	int served = served_until_reply(asking, id, other, &reply);
	print_message("%d other requests were served meanwhile\n", served);
	assert_true(served > 5);
	assert_int_equal(json_integer_value(json_object_get(reply, "count")), MANY);
	assert_int_equal(json_array_size(json_object_get(reply, "revoked")), 2000);
	json_decref(reply);
	broker_stop();
	assert_int_equal(count("SELECT count(*) FROM grants WHERE active = 1"), 0);
	assert_int_equal(count(revocations) - before, MANY);
}

static void all_allows_are_revoked_page_by_page(void **state) {
	(void)state;
	check_mass_revoke(json_pack("{s:b}", "all", 1));
}

static void a_profiles_grants_are_revoked_page_by_page(void **state) {
	(void)state;
	check_mass_revoke(json_pack("{s:s}", "profile", "default"));
}

static int64_t grant(struct peer *peer, const char *profile) {
	json_t *reply = peer_call(peer, "grant",
				  json_pack("{s:s, s:s, s:s, s:s, s:s}", "permission", "fs:read", "target", "/srv",
					    "profile", profile, "effect", "allow", "lifetime", "always"));
	int64_t id = json_integer_value(json_object_get(json_object_get(reply, "grant"), "id"));
	json_decref(reply);
	assert_true(id > 0);
	return id;
}

static void assert_held_for(struct peer *peer, json_t *revoke, json_t *expected) {
	json_t *reply = peer_call(peer, "revoke", revoke);
	assert_true(json_equal(json_object_get(reply, "sessions"), expected));
	json_decref(reply);
	json_decref(expected);
}

/* However many there were: those of the last pages count as well. */
static void the_sessions_that_they_held_for_are_told(void **state) {
	(void)state;
	start_with("default", 0);
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	CLEANUP_PEER struct peer *first = peer_connect(true), *second = peer_connect(true), *third = peer_connect(true);
	json_int_t node = peer_open_session(first, json_pack("{s:s}", "profile", "node"));
	json_int_t npm = peer_open_session(second, json_pack("{s:s}", "profile", "npm"));
	json_int_t other = peer_open_session(third, NULL);
	grant(peer, "npm");
	assert_held_for(peer, json_pack("{s:b}", "all", 1), json_pack("[I, I]", other, npm));
	grant(peer, "npm");
	assert_held_for(peer, json_pack("{s:s}", "profile", "npm"), json_pack("[I]", npm));
	assert_held_for(peer, json_pack("{s:[I]}", "ids", (json_int_t)grant(peer, "node")), json_pack("[I]", node));
	assert_held_for(peer, json_pack("{s:[I]}", "ids", (json_int_t)grant(peer, "git")), json_array());
}

static void attack_broker_19_sbxd_killed_meanwhile_and_nothing_is_in_force_again(void **state) {
	(void)state;
	start_with("default", 0);
	CLEANUP_PEER struct peer *asking = peer_connect(true), *other = peer_connect(true);
	peer_send(asking, "revoke", json_pack("{s:b}", "all", 1));
	wait_until_nothing_counts(other);
	assert_true(peer_is_quiet(asking, 0));
	broker_kill();
	int64_t ended = count("SELECT count(*) FROM grants WHERE active = 0 AND revoked_ms > 0 AND revoked_by = 'cli'");
	int64_t left = count("SELECT count(*) FROM grants WHERE active = 1 AND revoked_ms = 0 AND revoked_by IS NULL");
	assert_int_equal(ended + left, MANY);
	assert_true(ended > 0 && left > 0);
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_PEER struct peer *again = peer_connect(true);
	assert_int_equal(listed(again), 0);
	assert_false(is_allowed(again, LAST));
	/* Queued behind the rest. */
	json_t *reply = peer_call(again, "revoke", json_pack("{s:b}", "all", 1));
	assert_int_equal(json_integer_value(json_object_get(reply, "count")), 0);
	json_decref(reply);
	json_t *check = peer_call(again, "verify", NULL);
	assert_true(json_is_null(json_object_get(check, "bad")));
	json_decref(check);
	broker_stop();
	assert_int_equal(count("SELECT count(*) FROM grants WHERE revoked_ms > 0 AND active = 0"), MANY);
	assert_int_equal(count("SELECT count(*) FROM revocations"), 0);
}

/* The disk is full, as far as the broker can see: it may make no file longer. */
static void fill_disk(bool full) {
	const struct rlimit limit = {.rlim_cur = full ? 0 : RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
	assert_int_equal(prlimit(broker_pid(), RLIMIT_FSIZE, &limit, NULL), 0);
}

static void revoke_on_a_full_disk(struct peer *peer, json_t *body) {
	fill_disk(true);
	json_t *reply = peer_call(peer, "revoke", body);
	const char *message = json_string_value(json_object_get(reply, "message"));
	if (!message || !strstr(message, "counts no more from now on")) fail_msg("%s", message);
	json_decref(reply);
}

/* It counts no more at once, lists are read, and it is written as soon as there is room. */
static void attack_broker_19_all_are_revoked_on_a_full_disk(void **state) {
	(void)state;
	start_with("default", 0);
	CLEANUP_PEER struct peer *peer = peer_connect(true), *session = peer_connect(true);
	peer_open_session(session, NULL);
	assert_true(is_allowed(peer, "h1.test:443"));
	revoke_on_a_full_disk(peer, json_pack("{s:b}", "all", 1));
	json_decref(peer_push(session, "ended"));
	assert_int_equal(listed(peer), 0);
	fill_disk(false);
	assert_false(is_allowed(peer, "h1.test:443"));
	/* Queued behind it: written when this is answered. */
	sleep(2);
	json_decref(peer_call(peer, "revoke", json_pack("{s:b}", "all", 1)));
	broker_stop();
	assert_int_equal(count("SELECT count(*) FROM grants WHERE revoked_ms > 0 AND active = 0"), MANY);
}

static void attack_broker_19_one_is_revoked_on_a_full_disk(void **state) {
	(void)state;
	assert_int_equal(broker_start(NULL), 0);
	broker_stop();
	run("DELETE FROM grants");
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	int64_t one = grant(peer, "default"), other = grant(peer, "npm");
	revoke_on_a_full_disk(peer, json_pack("{s:[I]}", "ids", (json_int_t)one));
	assert_int_equal(listed(peer), 1);
	fill_disk(false);
	sleep(2);
	broker_stop();
	assert_int_equal(count("SELECT sum(id) FROM grants WHERE active = 1"), other);
}

static void a_client_that_goes_meanwhile_changes_nothing(void **state) {
	(void)state;
	start_with("default", 0);
	struct peer *asking = peer_connect(true);
	CLEANUP_PEER struct peer *other = peer_connect(true);
	peer_send(asking, "revoke", json_pack("{s:b}", "all", 1));
	wait_until_nothing_counts(other);
	peer_free(asking);
	json_t *reply = peer_call(other, "revoke", json_pack("{s:b}", "all", 1));
	/* Queued behind the first, and nothing is left for it. */
	assert_int_equal(json_integer_value(json_object_get(reply, "count")), 0);
	json_decref(reply);
	assert_false(is_allowed(other, "h1.test:443"));
}

/* All at the same millisecond. */
static void many_expire_together_and_others_are_served(void **state) {
	(void)state;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	start_with("default", ((int64_t)now.tv_sec + DAY_S) * 1000);
	broker_stop();
	/* From here until the session is there it is quick, also on a busy machine. */
	clock_gettime(CLOCK_REALTIME, &now);
	CLEANUP_FREE char *sql =
		string_format("UPDATE grants SET expires_ms = %lld", ((long long)now.tv_sec + EXPIRY_S) * 1000);
	run(sql);
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	CLEANUP_PEER struct peer *session = peer_connect(true);
	peer_open_session(session, NULL);
	wait_until(!is_allowed(peer, LAST));
	assert_int_equal(listed(peer), 0);
	for (size_t ended = 0; ended < MANY;) {
		json_t *push = peer_push(session, "ended");
		ended += json_array_size(json_object_get(push, "grants"));
		json_decref(push);
		json_decref(peer_call(peer, "status", NULL));
	}
	broker_stop();
	assert_int_equal(count("SELECT count(*) FROM grants WHERE active = 1"), 0);
}

/* More than fit one page. */
static void a_sessions_grants_end_with_it(void **state) {
	(void)state;
	enum { GRANTS = 600 };
	assert_int_equal(broker_start(NULL), 0);
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	struct peer *runner = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	for (int i = 0; i < GRANTS; i++) {
		CLEANUP_FREE char *target = string_format("s%d.test:443", i);
		json_t *reply =
			peer_call(peer, "grant",
				  json_pack("{s:s, s:s, s:s, s:I, s:s}", "permission", "net:access", "target", target,
					    "effect", "allow", "session", (json_int_t)session, "lifetime", "session"));
		assert_non_null(json_object_get(reply, "grant"));
		json_decref(reply);
	}
	peer_free(runner);
	for (int tries = 0; tries < 100; tries++) json_decref(peer_call(peer, "status", NULL));
	broker_stop();
	assert_int_equal(count("SELECT count(*) FROM grants WHERE active = 1 AND session IS NOT NULL"), 0);
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(all_allows_are_revoked_page_by_page, broker_teardown),
		cmocka_unit_test_teardown(a_profiles_grants_are_revoked_page_by_page, broker_teardown),
		cmocka_unit_test_teardown(the_sessions_that_they_held_for_are_told, broker_teardown),
		cmocka_unit_test_teardown(attack_broker_19_sbxd_killed_meanwhile_and_nothing_is_in_force_again,
					  broker_teardown),
		cmocka_unit_test_teardown(attack_broker_19_all_are_revoked_on_a_full_disk, broker_teardown),
		cmocka_unit_test_teardown(attack_broker_19_one_is_revoked_on_a_full_disk, broker_teardown),
		cmocka_unit_test_teardown(a_client_that_goes_meanwhile_changes_nothing, broker_teardown),
		cmocka_unit_test_teardown(many_expire_together_and_others_are_served, broker_teardown),
		cmocka_unit_test_teardown(a_sessions_grants_end_with_it, broker_teardown),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
