/* A disk that is full, and a tail that somebody else removes or cuts, with a real sbxd. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"
#include "support/patience.h"

static const char policy[] =
	"version: 1\npermissions:\n  api:call: to be called\nprofiles:\n  default:\n    allow:\n      api:call: "
	"[\"free-*\"]\n";

/* As far as the broker can see: it may make no file longer than this. */
static void limit_files(rlim_t bytes) {
	const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
	assert_int_equal(prlimit(broker_pid(), RLIMIT_FSIZE, &limit, NULL), 0);
}

static size_t listed(struct peer *peer, const char *what, json_t *filter) {
	json_t *reply = peer_call(peer, "list", json_pack("{s:s, s:o}", "what", what, "filter", filter));
	const json_t *items = json_object_get(reply, "items");
	if (!items) fail_msg("%s: %s", what, json_string_value(json_object_get(reply, "message")));
	size_t size = json_array_size(items);
	json_decref(reply);
	return size;
}

static bool is_allowed(struct peer *peer, const char *target) {
	json_t *reply = peer_call(peer, "check",
				  json_pack("{s:s, s:s, s:s, s:s, s:b}", "permission", "api:call", "target", target,
					    "profile", "default", "project", "/p", "ask", 0));
	const char *effect = json_string_value(json_object_get(json_object_get(reply, "verdict"), "effect"));
	bool allowed = string_equal(effect, "allow");
	json_decref(reply);
	return allowed;
}

static bool is_writable(struct peer *peer) {
	json_t *reply = peer_call(peer, "status", NULL);
	bool writable = json_is_true(json_object_get(reply, "writable"));
	json_decref(reply);
	return writable;
}

static void start(void) {
	home_write(".config/sbx/policy.yaml", policy);
	assert_int_equal(broker_start(NULL), 0);
}

/* A log that can't grow takes no rows; the tail, which is empty, takes some. */
static void lists_show_what_is_only_in_the_tail(void **state) {
	(void)state;
	start();
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	size_t before = listed(peer, "history", json_object());
	limit_files(4096);
	for (int i = 0; i < 3; i++) assert_true(is_allowed(peer, "free-1"));
	assert_int_equal(listed(peer, "history", json_object()), before + 3);
	assert_int_equal(listed(peer, "history", json_pack("{s:s}", "permission", "api:call")), 3);
	json_t *newest = peer_call(peer, "list", json_pack("{s:s, s:b}", "what", "history", "newest", 1));
	const json_t *items = json_object_get(newest, "items");
	assert_int_equal(json_array_size(items), before + 3);
	int64_t first = json_integer_value(json_object_get(json_array_get(items, 0), "seq"));
	int64_t second = json_integer_value(json_object_get(json_array_get(items, 1), "seq"));
	assert_int_equal(first, second + 1);
	json_decref(newest);
	json_t *check = peer_call(peer, "verify", NULL);
	if (!json_is_null(json_object_get(check, "bad"))) fail_msg("%s", json_dumps(check, 0));
	assert_int_equal(json_integer_value(json_object_get(check, "checked")), first);
	json_decref(check);
	assert_false(is_writable(peer));
	listed(peer, "grants", json_object());
	listed(peer, "prompts", json_object());
	listed(peer, "sessions", json_object());
	limit_files(RLIM_INFINITY);
	assert_int_equal(listed(peer, "history", json_object()), before + 3);
	assert_true(is_writable(peer));
}

static size_t ends_of(struct peer *peer, int64_t session) {
	return listed(peer, "history", json_pack("{s:s, s:I}", "kind", "session-end", "session", (json_int_t)session));
}

static void a_sandbox_that_ends_meanwhile_has_ended(void **state) {
	(void)state;
	start();
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	struct peer *runner = peer_connect(true);
	int64_t session = peer_open_session(runner, NULL);
	assert_int_equal(listed(peer, "sessions", json_object()), 1);
	limit_files(0);
	peer_free(runner);
	for (int tries = 0; tries < 20; tries++) json_decref(peer_call(peer, "status", NULL));
	assert_int_equal(listed(peer, "sessions", json_object()), 0);
	assert_int_equal(ends_of(peer, session), 0);
	limit_files(RLIM_INFINITY);
	wait_until(ends_of(peer, session) == 1);
	assert_int_equal(listed(peer, "sessions", json_object()), 0);
}

static void wait_until_gone(pid_t pid) {
	wait_until(kill(pid, 0) < 0);
}

static void a_tail_that_is_removed_or_cut_ends_it(void **state) {
	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		start();
		CLEANUP_PEER struct peer *peer = peer_connect(true);
		CLEANUP_FREE char *tail = home_path(".local/state/sbx/sbx.db-tail");
		pid_t pid = broker_pid();
		if (cut) limit_files(4096);
		assert_true(is_allowed(peer, "free-1"));
		assert_int_equal(cut ? truncate(tail, 10) : unlink(tail), 0);
		wait_until_gone(pid);
		start();
		CLEANUP_PEER struct peer *next = peer_connect(true);
		assert_true(is_allowed(next, "free-1"));
		broker_stop();
	}
}

int main(void) {
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(lists_show_what_is_only_in_the_tail, broker_teardown),
		cmocka_unit_test_teardown(a_sandbox_that_ends_meanwhile_has_ended, broker_teardown),
		cmocka_unit_test_teardown(a_tail_that_is_removed_or_cut_ends_it, broker_teardown),
	};
	home_make(programs);
	return cmocka_run_group_tests_name("full disk", tests, NULL, NULL);
}
