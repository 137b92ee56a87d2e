/* What is derived from the rows, edited by somebody: --verify names it and mends it (attack B18). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"
#include "history_fixture.h"
#include "schema/verdict.h"
#include "support/home.h"

enum { ROWS = 2500 };

static int setup_filled(void **state) {
	world_setup(state);
	struct world *world = *state;
	for (int i = 0; i < ROWS; i++) {
		world->time_ms += 60000;
		world_append(world, i % 50 ? EVENT_DECISION : EVENT_SESSION_START, 1 + i / 50, i % 3 ? "npm" : "git",
			     "/p", "fs:read", i % 100 == 1 ? 0 : 2);
	}
	world_digest(world);
	return 0;
}

struct findings {
	int64_t bad, first, last;
	int rebuilt;
	bool recounted;
};

static struct findings verify(struct world *world) {
	struct findings findings = {0};
	struct history_check check = {0};
	struct history_walk walk = {0};
	do {
		assert_int_equal(history_verify(world->history, &walk, check.next, &check, NULL), 0);
		if (check.rebuilt_first != 0) {
			findings.first = check.rebuilt_first;
			findings.last = check.rebuilt_last;
			findings.rebuilt++;
		}
		findings.recounted |= check.recounted;
	} while (check.next != 0);
	findings.bad = check.bad;
	return findings;
}

static void untouched_it_is_as_it_should_be(void **state) {
	struct findings findings = verify(*state);
	assert_int_equal(findings.bad, 0);
	assert_int_equal(findings.rebuilt, 0);
	assert_false(findings.recounted);
}

static void attack_broker_18_an_edited_index_is_named_and_made_anew(void **state) {
	struct world *world = *state;
	static const char *const edits[] = {
		"DELETE FROM postings WHERE block = 1",
		"DELETE FROM postings WHERE block = 1 AND key = (SELECT min(key) FROM postings)",
		"UPDATE postings SET rows = x'0000' WHERE block = 1 AND length(rows) = 128",
		"UPDATE postings SET rows = zeroblob(128) WHERE block = 1 AND length(rows) = 0",
		"UPDATE postings SET rows = x'07' WHERE block = 1",
		"UPDATE postings SET rows = x'ffffffff' WHERE block = 1 AND key = (SELECT max(key) FROM postings)",
		"DELETE FROM zones WHERE level = 0 AND number = 1",
		"UPDATE zones SET first_ms = last_ms WHERE level = 0 AND number = 1",
		"UPDATE zones SET last_ms = first_ms WHERE level = 0 AND number = 1",
	};
	const struct history_filter denied = {.verdict = (char *)"deny"};
	for (size_t i = 0; i < ARRAY_LENGTH(edits); i++) {
		world_tamper(world, edits[i]);
		struct findings findings = verify(world);
		assert_int_equal(findings.bad, 0);
		assert_int_equal(findings.rebuilt, 1);
		assert_int_equal(findings.first, 1025);
		assert_int_equal(findings.last, 2048);
		assert_int_equal(verify(world).rebuilt, 0);
		json_t *items = json_array();
		int64_t next;
		assert_int_equal(history_list(world->history, &denied, false, 0, items, &next, NULL), 0);
		assert_int_equal(json_array_size(items), ROWS / 100);
		json_decref(items);
	}
}

static void attack_broker_18_an_edited_zone_above_is_mended(void **state) {
	struct world *world = *state;
	world_tamper(world,
		     "UPDATE zones SET first_ms = last_ms + 1000000, last_ms = last_ms + 1000000 WHERE level = 2");
	assert_in_range(verify(world).rebuilt, 1, 2); /* mending it for one block may do for the other */
	assert_int_equal(verify(world).rebuilt, 0);
}

/* The 32nd block is the last of the zone that it shares with 31 others. */
static void mending_the_last_block_of_a_zone_hides_no_other(void **state) {
	struct world *world = *state;
	const int64_t first_ms = FIXTURE_START_MS + 60000;
	const struct history_filter early = {.since_ms = first_ms, .until_ms = first_ms + 600000};
	assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
	for (int i = ROWS; i < 32 * 1024; i++) {
		struct event event = {.time_ms = world->time_ms += 60000, .kind = EVENT_DECISION, .verdict = 2};
		assert_int_equal(history_append(world->history, &event, NULL), 0);
	}
	assert_int_equal(store_commit(world->store, NULL), 0);
	history_committed(world->history);
	world_digest(world);
	world_tamper(world, "DELETE FROM postings WHERE block = 31");
	assert_int_equal(verify(world).rebuilt, 1);
	assert_int_equal(verify(world).rebuilt, 0);
	json_t *items = json_array();
	int64_t next;
	assert_int_equal(history_list(world->history, &early, false, 0, items, &next, NULL), 0);
	assert_int_equal(json_array_size(items), 10);
	json_decref(items);
}

static void attack_broker_18_edited_tallies_are_named_and_counted_anew(void **state) {
	struct world *world = *state;
	static const char *const edits[] = {
		"UPDATE tallies SET denied = 0",
		"UPDATE tallies SET decisions = decisions + 1 WHERE session = 3",
		"DELETE FROM tallies WHERE session = 0 AND quarter = (SELECT max(quarter) FROM tallies)",
		"UPDATE tallies SET quarter = quarter + 96 WHERE quarter = (SELECT max(quarter) FROM tallies)",
		"UPDATE subjects SET profile = 'innocent' WHERE profile = 'npm'",
		"INSERT INTO tallies SELECT session, quarter + 1000, subject, 1, 1, 1, 1 FROM tallies LIMIT 1",
	};
	for (size_t i = 0; i < ARRAY_LENGTH(edits); i++) {
		world_tamper(world, edits[i]);
		struct findings findings = verify(world);
		assert_int_equal(findings.bad, 0);
		assert_int_equal(findings.rebuilt, 0);
		assert_true(findings.recounted);
		world_digest(world);
		assert_false(verify(world).recounted);
		assert_int_equal(world_number(world, "SELECT sum(decisions) FROM tallies WHERE session = 0"),
				 world_number(world, "SELECT count(*) FROM events WHERE kind = 'decision'"));
	}
}

static void rows_that_come_while_it_is_checked_are_no_fault(void **state) {
	struct world *world = *state;
	struct history_check check = {0};
	struct history_walk walk = {0};
	int pages = 0;
	do {
		assert_int_equal(history_verify(world->history, &walk, check.next, &check, NULL), 0);
		assert_int_equal(check.rebuilt_first, 0);
		assert_false(check.recounted);
		for (int i = 0; i < 300 && pages < 8 && check.next != 0; i++)
			world_append(world, EVENT_DECISION, 1, "npm", "/p", "fs:read", 2);
		world_digest(world);
		pages++;
	} while (check.next != 0);
	assert_int_equal(check.bad, 0);
	assert_int_equal(check.checked, world_number(world, "SELECT count(*) FROM events"));
}

static void a_check_that_begins_meanwhile_takes_nothing_from_another(void **state) {
	struct world *world = *state;
	struct history_check check = {0};
	struct history_walk walk = {0};
	bool recounted = false;
	assert_int_equal(history_verify(world->history, &walk, 0, &check, NULL), 0);
	assert_false(verify(world).recounted);
	world_tamper(world, "UPDATE tallies SET denied = 0");
	while (check.next != 0) {
		assert_int_equal(history_verify(world->history, &walk, check.next, &check, NULL), 0);
		recounted |= check.recounted;
	}
	assert_true(recounted);
}

/* As flood.c records them. */
static void denials_recorded_together_count_as_many(void **state) {
	struct world *world = *state;
	struct event event = {.time_ms = world->time_ms,
			      .kind = EVENT_DECISION,
			      .session = 1,
			      .profile = (char *)"flooder",
			      .project = (char *)"/p",
			      .verdict = EFFECT_DENY,
			      .detail = json_pack("{s:i}", "count", 700)};
	assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
	assert_int_equal(history_append(world->history, &event, NULL), 0);
	assert_int_equal(store_commit(world->store, NULL), 0);
	history_committed(world->history);
	json_decref(event.detail);
	assert_int_equal(history_digest(world->history, NULL), 0);
	static const char sum[] = "SELECT t.denied FROM tallies t JOIN subjects s ON s.id = t.subject"
				  " WHERE t.session = 0 AND s.profile = 'flooder'";
	assert_int_equal(world_number(world, sum), 700);
	assert_false(verify(world).recounted);
}

static void tallies_that_lag_are_counted_first(void **state) {
	struct world *world = *state;
	world_tamper(world, "DELETE FROM tallies; UPDATE upkeep SET tallied_seq = 0");
	world_reopen(world);
	assert_false(verify(world).recounted);
	world_tamper(world, "DELETE FROM tallies WHERE session = 1; UPDATE upkeep SET tallied_seq = 2400");
	world_reopen(world);
	assert_true(verify(world).recounted);
}

/* What somebody has from the system's log. */
static void attack_broker_18_a_head_that_was_told_must_be_there(void **state) {
	struct world *world = *state;
	char hash[HASH_HEX_SIZE];
	const char *head;
	assert_int_equal(history_head(world->history, &head), ROWS);
	memcpy(hash, head, sizeof hash);
	assert_null(history_check_head(world->history, ROWS, hash));
	assert_non_null(strstr(history_check_head(world->history, ROWS + 1, hash), "cut off"));
	assert_non_null(strstr(history_check_head(world->history, ROWS - 1, hash), "another hash"));
	world_tamper(world, "DELETE FROM events WHERE seq = 2500");
	assert_non_null(strstr(history_check_head(world->history, ROWS, hash), "missing"));
	/* The whole chain made anew by somebody: it holds by itself, but not this row. */
	world_teardown(state);
	world_setup(state);
	world = *state;
	for (int i = 0; i < ROWS; i++) world_append(world, EVENT_DECISION, 1, "npm", "/p", "fs:read", 2);
	assert_int_equal(verify(world).bad, 0);
	assert_non_null(history_check_head(world->history, ROWS, hash));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_filled, world_teardown)
	static const struct CMUnitTest tests[] = {
		TEST(untouched_it_is_as_it_should_be),
		TEST(attack_broker_18_an_edited_index_is_named_and_made_anew),
		TEST(attack_broker_18_an_edited_zone_above_is_mended),
		TEST(mending_the_last_block_of_a_zone_hides_no_other),
		TEST(attack_broker_18_edited_tallies_are_named_and_counted_anew),
		TEST(rows_that_come_while_it_is_checked_are_no_fault),
		TEST(a_check_that_begins_meanwhile_takes_nothing_from_another),
		TEST(denials_recorded_together_count_as_many),
		TEST(tallies_that_lag_are_counted_first),
		TEST(attack_broker_18_a_head_that_was_told_must_be_there),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
