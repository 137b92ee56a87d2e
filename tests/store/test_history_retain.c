/* Retention: what goes, what stays, that the chain holds at every moment, and that a wrong clock takes nothing at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/string.h"
#include "history_fixture.h"
#include "support/home.h"

static const int64_t HOUR = 3600 * INT64_C(1000), DAY = 24 * 3600 * INT64_C(1000),
		     KEEP = 30 * 24 * 3600 * INT64_C(1000);

/* `days` days of rows, so many a day. */
static void fill(struct world *world, int days, int rows) {
	for (int i = 0; i < days * rows; i++) {
		world_append(world, i % 7 ? EVENT_DECISION : EVENT_SESSION_START, 1 + i / rows, "npm", "/p", "fs:read",
			     2);
		world->time_ms += DAY / rows;
	}
	world_digest(world);
}

static void look(struct world *world, int64_t keep_ms) {
	assert_int_equal(history_retain_look(world->history, world->time_ms, keep_ms, NULL), 0);
}

/* As the broker's ticks, until nothing is due. The rows that an event was written for. */
static int64_t retain(struct world *world, int64_t keep_ms) {
	int64_t removed = 0;
	look(world, keep_ms);
	for (int i = 0; i < 1000 && history_retain_is_due(world->history); i++) {
		struct history_run run;
		assert_int_equal(history_retain(world->history, &run, NULL), 0);
		removed += run.removed;
	}
	assert_false(history_retain_is_due(world->history));
	return removed;
}

static int64_t oldest(struct world *world) {
	return world_number(world, "SELECT min(time_ms) FROM events");
}

static void what_is_older_than_keep_goes(void **state) {
	struct world *world = *state;
	fill(world, 100, 50);
	assert_int_equal(retain(world, KEEP), 70 * 50);
	assert_true(oldest(world) >= world->time_ms - KEEP);
	assert_true(oldest(world) < world->time_ms - KEEP + DAY);
	assert_int_equal(world_number(world, "SELECT anchor_seq FROM state"), 70 * 50);
	assert_int_equal(world_verify(world).bad, 0);
	assert_int_equal(world_verify(world).checked, 30 * 50 + 1);
	world_reopen(world);
	assert_int_equal(world_verify(world).bad, 0);
}

static void an_event_tells_how_many_and_the_anchor(void **state) {
	struct world *world = *state;
	fill(world, 100, 50);
	retain(world, KEEP);
	assert_int_equal(world_number(world,
				      "SELECT count(*) FROM events WHERE kind = 'policy' AND by = 'retention' AND"
				      " json_extract(detail, '$.removed') = 3500 AND"
				      " json_extract(detail, '$.anchor') = 3500 AND"
				      " json_extract(detail, '$.anchor_hash') ="
				      " (SELECT anchor_hash FROM state)"),
			 1);
	assert_int_equal(world_number(world, "SELECT removed FROM upkeep"), 0);
}

static void a_run_a_day_is_enough(void **state) {
	struct world *world = *state;
	fill(world, 60, 50);
	assert_true(retain(world, KEEP) > 0);
	world->time_ms += DAY - HOUR;
	assert_int_equal(retain(world, KEEP), 0);
	world->time_ms += HOUR;
	assert_int_equal(retain(world, KEEP), 50);
}

static void what_was_derived_goes_with_the_rows(void **state) {
	struct world *world = *state;
	fill(world, 100, 50);
	retain(world, KEEP);
	assert_int_equal(world_number(world, "SELECT count(*) FROM zones WHERE level = 0 AND number < 3"), 0);
	assert_int_equal(world_number(world, "SELECT count(*) FROM postings WHERE block < 3"), 0);
	world_digest(world);
	history_digest(world->history, NULL);
	assert_int_equal(world_number(world, "SELECT sum(decisions) FROM tallies WHERE session = 0"),
			 world_number(world, "SELECT count(*) FROM events WHERE kind = 'decision'"));
	assert_int_equal(world_number(world, "SELECT sum(sessions) FROM tallies WHERE session > 0"),
			 world_number(world, "SELECT count(*) FROM events WHERE kind = 'session-start'"));
	const struct history_filter filter = {.session = 71};
	json_t *items = json_array();
	int64_t next;
	assert_int_equal(history_list(world->history, &filter, false, 0, items, &next, NULL), 0);
	assert_int_equal(json_array_size(items), 50);
	json_decref(items);
}

static void fewer_rows_than_a_block_go_as_well(void **state) {
	struct world *world = *state;
	fill(world, 100, 2);
	assert_int_equal(retain(world, KEEP), 140);
	fill(world, 30, 100); /* now the first block fills, without those rows */
	const struct history_filter filter = {.profile = (char *)"npm"};
	json_t *items = json_array();
	int64_t next;
	assert_int_equal(history_list(world->history, &filter, false, 0, items, &next, NULL), 0);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(items, 0), "seq")), 141);
	json_decref(items);
	assert_int_equal(world_verify(world).bad, 0);
}

static void the_last_row_always_stays(void **state) {
	struct world *world = *state;
	fill(world, 1, 40);
	world->time_ms += 8 * DAY;
	look(world, DAY);
	for (int i = 0; i < 2000; i++) look(world, DAY);
	assert_int_equal(retain(world, DAY), 39);
	assert_int_equal(world_verify(world).bad, 0);
	assert_int_equal(world_verify(world).checked, 2);
}

static void without_a_policy_everything_is_kept(void **state) {
	struct world *world = *state;
	fill(world, 100, 10);
	assert_int_equal(retain(world, 0), 0);
}

/* Rows of sessions and grants as the broker writes them. */
static void grants_and_sessions_go_with_the_events_of_their_end(void **state) {
	struct world *world = *state;
	world_tamper(
		world,
		"INSERT INTO sessions (profile, project, command, pid, started_ms, ended_ms, view) VALUES"
		" ('npm', '/p', 'x', 1, 1, 2, 'v'), ('npm', '/p', 'x', 1, 1, 2, 'v'), ('npm', '/p', 'x', 1, 1, 0, 'v'),"
		" ('npm', '/p', 'x', 1, 1, 2, 'v');"
		"INSERT INTO grants (active, permission, key, pattern, effect, profile, project, session, lifetime,"
		" created_ms, expires_ms, expires_boot_ms, boot_id, origin) VALUES"
		" (0, 'fs:read', '/', '/a', 'allow', '', '', 1, 'session', 1, 0, 0, '', 'cli'),"
		" (1, 'fs:read', '/', '/b', 'allow', '', '', 2, 'always', 1, 0, 0, '', 'cli'),"
		" (0, 'fs:read', '/', '/c', 'allow', '', '', NULL, 'until', 1, 0, 0, '', 'cli'),"
		" (0, 'fs:read', '/', '/d', 'allow', '', '', NULL, 'once', 1, 0, 0, '', 'cli'),"
		" (0, 'fs:read', '/', '/e', 'allow', '', '', 4, 'session', 1, 0, 0, '', 'cli')");
	static const struct {
		enum event_kind kind;
		int64_t session, grant;
	} events[] = {
		{EVENT_GRANT, 1, 1},
		{EVENT_GRANT, 2, 2},
		{EVENT_GRANT, 0, 3},
		{EVENT_USE, 0, 3},
		{EVENT_GRANT, 0, 4},
		{EVENT_USE, 0, 4},
		{EVENT_EXPIRE, 1, 1},
		{EVENT_SESSION_END, 1, 0},
		{EVENT_SESSION_END, 2, 0},
		/* Where there are many the last end after their session. */
		{EVENT_GRANT, 4, 5},
		{EVENT_SESSION_END, 4, 0},
		{EVENT_EXPIRE, 4, 5},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(events); i++) {
		struct event event = {.time_ms = world->time_ms,
				      .kind = events[i].kind,
				      .session = events[i].session,
				      .grant = events[i].grant,
				      .verdict = -1};
		assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
		assert_int_equal(history_append(world->history, &event, NULL), 0);
		assert_int_equal(store_commit(world->store, NULL), 0);
		history_committed(world->history);
	}
	world->time_ms += 29 * DAY;
	fill(world, 2, 10);
	assert_int_equal(retain(world, KEEP), ARRAY_LENGTH(events));
	/* 2 is in force, and session 2 with it; of 3 there is no end yet; session 3 runs. */
	assert_int_equal(world_number(world, "SELECT sum(id * 10) FROM grants"), 50);
	assert_int_equal(world_number(world, "SELECT sum(id * 10) FROM sessions"), 50);
	assert_int_equal(world_number(world, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

static void rows_dated_in_the_future_do_not_hold_up_what_is_due(void **state) {
	struct world *world = *state;
	int64_t now = world->time_ms;
	world_append(world, EVENT_DECISION, 1, "npm", "/p", NULL, 2);
	world->time_ms = now + 4000 * DAY; /* the clock was wrong for a moment */
	world_append(world, EVENT_DECISION, 1, "npm", "/p", NULL, 2);
	world->time_ms = now;
	fill(world, 40, 10);
	assert_int_equal(retain(world, KEEP), 102);
}

/* A clock set ahead must not take the history at once, one set back nothing at all. */
static void attack_broker_15_a_clock_set_ahead_takes_little_at_once(void **state) {
	struct world *world = *state;
	fill(world, 100, 10);
	int64_t right = world->time_ms;
	retain(world, KEEP * 2); /* 60 days stay */
	int64_t rows = world_number(world, "SELECT count(*) FROM events");
	world->time_ms = right + 3650 * DAY;
	retain(world, KEEP * 2);
	int64_t left = world_number(world, "SELECT count(*) FROM events");
	assert_true(left >= rows - 10 * 9);
	/* Mended within ten minutes: ten days more at most, and then nothing until it has caught up. */
	for (int i = 0; i < 600; i++) {
		world->time_ms += 1000;
		retain(world, KEEP * 2);
	}
	left = world_number(world, "SELECT count(*) FROM events WHERE by <> 'retention'");
	assert_true(left >= rows - 10 * 20);
	world->time_ms = right + HOUR;
	for (int i = 0; i < 1000; i++) retain(world, KEEP * 2);
	assert_int_equal(world_number(world, "SELECT count(*) FROM events WHERE by <> 'retention'"), left);
	assert_int_equal(world_verify(world).bad, 0);
}

static void a_clock_set_back_takes_nothing(void **state) {
	struct world *world = *state;
	fill(world, 50, 10);
	int64_t right = world->time_ms;
	retain(world, KEEP);
	int64_t rows = world_number(world, "SELECT count(*) FROM events");
	world->time_ms = 1000;
	world_append(world, EVENT_DECISION, 1, "npm", "/p", NULL, 2);
	for (int i = 0; i < 100; i++) assert_int_equal(retain(world, KEEP), 0);
	world->time_ms = right;
	retain(world, KEEP);
	assert_int_equal(world_number(world, "SELECT count(*) FROM events WHERE by <> 'retention' OR by IS NULL"),
			 rows);
}

static void after_a_long_holiday_the_rest_goes_within_minutes(void **state) {
	struct world *world = *state;
	fill(world, 100, 10);
	retain(world, 2 * KEEP);
	world->time_ms += 40 * DAY;
	int looks = 0;
	for (; oldest(world) < world->time_ms - 2 * KEEP - DAY && looks < 10000; looks++) {
		world->time_ms += 1000;
		retain(world, 2 * KEEP);
	}
	assert_in_range(looks, 60, 60 * 60);
}

/* Killed at any moment of a run that takes many steps. */
static void attack_broker_18_retention_that_is_interrupted_leaves_a_chain(void **state) {
	struct world *world = *state;
	fill(world, 100, 100);
	history_free(world->history);
	store_free(world->store);
	for (int round = 0; round < 12; round++) {
		pid_t child = fork();
		if (child == 0) {
			struct world mine = {.path = world->path, .time_ms = world->time_ms};
			if (store_open(mine.path, &mine.store, NULL) < 0) _exit(1);
			if (history_open(mine.store, &mine.history, NULL) < 0) _exit(1);
			history_retain_look(mine.history, mine.time_ms, KEEP, NULL);
			struct history_run run;
			while (history_retain_is_due(mine.history)) history_retain(mine.history, &run, NULL);
			for (;;) pause();
		}
		usleep((useconds_t)round * 1500);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		assert_int_equal(store_open(world->path, &world->store, NULL), 0);
		assert_int_equal(history_open(world->store, &world->history, NULL), 0);
		assert_int_equal(world_verify(world).bad, 0);
		assert_int_equal(world_number(world, "SELECT min(seq) FROM events"),
				 world_number(world, "SELECT anchor_seq + 1 FROM state"));
		history_free(world->history);
		store_free(world->store);
	}
	assert_int_equal(store_open(world->path, &world->store, NULL), 0);
	assert_int_equal(history_open(world->store, &world->history, NULL), 0);
	retain(world, KEEP);
	assert_int_equal(world_number(world, "SELECT sum(json_extract(detail, '$.removed')) FROM events"
					     " WHERE by = 'retention'"),
			 7000);
}

static void attack_broker_18_a_row_edited_before_it_was_taken_is_in_the_event(void **state) {
	struct world *world = *state;
	fill(world, 100, 10);
	world_tamper(world, "UPDATE events SET verdict = 'deny' WHERE seq = 77");
	retain(world, KEEP);
	assert_int_equal(world_number(world, "SELECT json_extract(detail, '$.bad') FROM events WHERE by = 'retention'"),
			 77);
}

static void attack_broker_18_an_anchor_that_was_moved_is_named(void **state) {
	struct world *world = *state;
	fill(world, 100, 10);
	retain(world, KEEP);
	assert_int_equal(world_verify(world).bad, 0);
	world_tamper(world,
		     "UPDATE state SET anchor_seq = 800, anchor_hash = (SELECT hash FROM events WHERE seq = 800);"
		     "DELETE FROM events WHERE seq <= 800");
	world_reopen(world);
	struct history_check check = world_verify(world);
	assert_int_equal(check.bad, 701);
	assert_non_null(strstr(check.what, "missing"));
}

static void attack_broker_18_an_anchor_without_retention_is_named(void **state) {
	struct world *world = *state;
	fill(world, 10, 10);
	world_tamper(world, "UPDATE state SET anchor_seq = 50, anchor_hash = (SELECT hash FROM events WHERE seq = 50);"
			    "DELETE FROM events WHERE seq <= 50");
	world_reopen(world);
	assert_int_equal(world_verify(world).bad, 1);
}

static void attack_broker_18_an_edited_anchor_hash_is_named(void **state) {
	struct world *world = *state;
	fill(world, 100, 10);
	retain(world, KEEP);
	world_tamper(world, "UPDATE state SET anchor_hash = '00'");
	world_reopen(world);
	assert_int_equal(world_verify(world).bad, 701);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	static const struct CMUnitTest tests[] = {
		TEST(what_is_older_than_keep_goes),
		TEST(an_event_tells_how_many_and_the_anchor),
		TEST(a_run_a_day_is_enough),
		TEST(what_was_derived_goes_with_the_rows),
		TEST(fewer_rows_than_a_block_go_as_well),
		TEST(the_last_row_always_stays),
		TEST(without_a_policy_everything_is_kept),
		TEST(grants_and_sessions_go_with_the_events_of_their_end),
		TEST(rows_dated_in_the_future_do_not_hold_up_what_is_due),
		TEST(attack_broker_15_a_clock_set_ahead_takes_little_at_once),
		TEST(a_clock_set_back_takes_nothing),
		TEST(after_a_long_holiday_the_rest_goes_within_minutes),
		TEST(attack_broker_18_retention_that_is_interrupted_leaves_a_chain),
		TEST(attack_broker_18_a_row_edited_before_it_was_taken_is_in_the_event),
		TEST(attack_broker_18_an_anchor_that_was_moved_is_named),
		TEST(attack_broker_18_an_anchor_without_retention_is_named),
		TEST(attack_broker_18_an_edited_anchor_hash_is_named),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
