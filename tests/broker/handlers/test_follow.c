/* Waiting for rows of the history: each once, in order, as they come, whatever the filter; with a real sbxd. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "support/broker.h"
#include "support/cmocka.h"
#include "support/home.h"

static int start(void **state) {
	(void)state;
	assert_int_equal(broker_start(NULL), 0);
	return 0;
}

static int stop(void **state) {
	(void)state;
	broker_stop();
	return 0;
}

static void decide(struct peer *peer, const char *target) {
	json_decref(peer_call(peer, "check",
			      json_pack("{s:s, s:s, s:s, s:s, s:b}", "profile", "default", "project", "/p",
					"permission", "net:access", "target", target, "ask", 0)));
}

static int64_t follow(struct peer *peer, int64_t cursor, const char *permission) {
	json_t *body = json_pack("{s:s, s:b, s:I}", "what", "history", "wait", 1, "cursor", (json_int_t)cursor);
	if (permission) json_object_set_new(body, "filter", json_pack("{s:s}", "permission", permission));
	return peer_send(peer, "list", body);
}

static int64_t take(struct peer *peer, int64_t id, const char *target) {
	json_t *reply = peer_reply(peer, id), *items = json_object_get(reply, "items");
	assert_string_equal(json_string_value(json_object_get(reply, "type")), "list");
	assert_int_equal(json_array_size(items), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(items, 0), "target")), target);
	int64_t next = json_integer_value(json_object_get(reply, "next"));
	json_decref(reply);
	return next;
}

static int64_t head(struct peer *peer) {
	json_t *reply = peer_call(peer, "verify", NULL);
	int64_t seq = json_integer_value(json_object_get(reply, "head_seq"));
	json_decref(reply);
	return seq;
}

static void rows_come_when_they_are_there(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *actor = peer_connect(true), *reader = peer_connect(true);
	int64_t cursor = head(actor), id = follow(reader, cursor, NULL);
	assert_true(peer_is_quiet(reader, 300));
	decide(actor, "one.test:1");
	cursor = take(reader, id, "one.test:1");
	/* What came before the next question is in its answer. */
	decide(actor, "two.test:1");
	cursor = take(reader, follow(reader, cursor, NULL), "two.test:1");
	id = follow(reader, cursor, NULL);
	assert_true(peer_is_quiet(reader, 300));
	decide(actor, "three.test:1");
	take(reader, id, "three.test:1");
}

static void what_the_filter_leaves_out_wakes_nobody(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *actor = peer_connect(true), *reader = peer_connect(true);
	int64_t id = follow(reader, head(actor), "fs:read");
	decide(actor, "hidden.test:1");
	assert_true(peer_is_quiet(reader, 400));
	json_decref(peer_call(actor, "check",
			      json_pack("{s:s, s:s, s:s, s:s, s:b}", "profile", "default", "project", "/p",
					"permission", "fs:read", "target", "/shown", "ask", 0)));
	take(reader, id, "/shown");
}

static void a_connection_waits_once(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *actor = peer_connect(true), *reader = peer_connect(true);
	int64_t first = follow(reader, head(actor), NULL);
	json_t *reply = peer_reply(reader, follow(reader, 0, NULL));
	assert_string_equal(json_string_value(json_object_get(reply, "code")), "EBUSY");
	json_decref(reply);
	decide(actor, "still.test:1");
	take(reader, first, "still.test:1");
}

static void other_requests_go_on_meanwhile(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	int64_t id = follow(peer, head(peer), NULL);
	decide(peer, "own.test:1");
	take(peer, id, "own.test:1");
}

static void only_the_history_forwards_can_be_waited_for(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *peer = peer_connect(true);
	json_t *reply = peer_call(peer, "list", json_pack("{s:s, s:b}", "what", "grants", "wait", 1));
	assert_string_equal(json_string_value(json_object_get(reply, "code")), "EINVAL");
	json_decref(reply);
	reply = peer_call(peer, "list", json_pack("{s:s, s:b, s:b}", "what", "history", "wait", 1, "newest", 1));
	assert_string_equal(json_string_value(json_object_get(reply, "code")), "EINVAL");
	json_decref(reply);
}

static void who_leaves_while_waiting_leaves_nothing_behind(void **state) {
	(void)state;
	CLEANUP_PEER struct peer *actor = peer_connect(true);
	for (int i = 0; i < 50; i++) {
		struct peer *reader = peer_connect(true);
		follow(reader, head(actor), NULL);
		peer_free(reader);
	}
	decide(actor, "alone.test:1");
	assert_true(broker_pid() > 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	static const char *const programs[] = {SBX_TEST_SBXD, NULL};
	static const struct CMUnitTest tests[] = {
		TEST(rows_come_when_they_are_there),
		TEST(what_the_filter_leaves_out_wakes_nobody),
		TEST(a_connection_waits_once),
		TEST(other_requests_go_on_meanwhile),
		TEST(only_the_history_forwards_can_be_waited_for),
		TEST(who_leaves_while_waiting_leaves_nothing_behind),
	};
	home_make(programs);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
