/* The chain: whole, edited, with a gap, cut off (attack B18); and the audit that can't be written (B19). */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"
#include "store/history.h"
#include "support/cmocka.h"
#include "support/home.h"

enum { ROWS = 1203 };

struct world {
	struct store *store;
	struct history *history;
};

static char *new_database(void) {
	static unsigned number;
	CLEANUP_FREE char *name = string_format("db%u/sbx.db", number++);
	return home_path(name);
}

static void append(struct world *world, enum event_kind kind, int64_t session, const char *profile, int verdict) {
	struct event event = {.time_ms = 1700000000000,
			      .kind = kind,
			      .session = session,
			      .profile = string_copy(profile),
			      .project = string_copy("/home/u/app"),
			      .permission = string_copy("net:access"),
			      .target = string_copy("svc.test:443"),
			      .verdict = verdict,
			      .by = string_copy("rules"),
			      .why = string_copy("\xff\x1b[31m \u202e bytes"),
			      .detail = json_pack("{s:s, s:i}", "state", "shown", "bytes", 12)};
	assert_int_equal(store_begin(world->store, STORE_NORMAL, NULL), 0);
	assert_int_equal(history_append(world->history, &event, NULL), 0);
	assert_int_equal(store_commit(world->store, NULL), 0);
	history_committed(world->history);
	event_finish(&event);
}

static int setup(void **state) {
	struct world *world = mem_new(struct world);
	CLEANUP_FREE char *path = new_database();
	assert_int_equal(store_open(path, &world->store, NULL), 0);
	assert_int_equal(history_open(world->store, &world->history, NULL), 0);
	*state = world;
	return 0;
}

static int setup_filled(void **state) {
	setup(state);
	for (int i = 1; i <= ROWS; i++) append(*state, EVENT_DECISION, 1 + i / 500, "npm", i % 2 ? 0 : 2);
	return 0;
}

static int teardown(void **state) {
	struct world *world = *state;
	history_free(world->history);
	store_free(world->store);
	free(world);
	return 0;
}

/* As somebody with the file and a copy of sqlite3 would. */
static void tamper(struct world *world, const char *sql) {
	sqlite3 *db = sqlite3_db_handle(store_statement(world->store, STORE_STATE_READ));
	assert_int_equal(sqlite3_exec(db, "DROP TRIGGER IF EXISTS events_are_final", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static struct history_check verify_all(struct world *world) {
	struct history_check check = {0};
	struct history_walk walk = {0};
	do assert_int_equal(history_verify(world->history, &walk, check.next, &check, NULL), 0);
	while (check.next != 0);
	return check;
}

static void a_whole_chain_is_good(void **state) {
	struct history_check check = verify_all(*state);
	assert_int_equal(check.bad, 0);
	assert_int_equal(check.checked, ROWS);
}

static void an_empty_chain_is_good(void **state) {
	struct history_check check = verify_all(*state);
	assert_int_equal(check.bad, 0);
	assert_int_equal(check.checked, 0);
}

static void the_check_comes_in_pages(void **state) {
	struct world *world = *state;
	struct history_check check;
	assert_int_equal(history_verify(world->history, &(struct history_walk){0}, 0, &check, NULL), 0);
	assert_int_not_equal(check.next, 0);
	assert_true(check.checked < ROWS);
}

static void attack_broker_18_edited_rows_are_named(void **state) {
	static const struct {
		const char *edit;
		int64_t bad;
	} edits[] = {
		{"UPDATE events SET verdict = 'allow' WHERE seq = 701", 701},
		{"UPDATE events SET target = 'other.test:443' WHERE seq = 601", 601},
		{"UPDATE events SET time_ms = time_ms + 1 WHERE seq = 502", 502},
		{"UPDATE events SET detail = '{\"state\":\"shown\",\"bytes\":13}' WHERE seq = 401", 401},
		{"UPDATE events SET profile = NULL WHERE seq = 301", 301},
		{"UPDATE events SET kind = 'nonsense' WHERE seq = 201", 201},
		{"UPDATE events SET hash = '00' WHERE seq = 101", 101},
		{"UPDATE events SET verdict = 'allow' WHERE seq = 1", 1},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(edits); i++) {
		tamper(*state, edits[i].edit);
		assert_int_equal(verify_all(*state).bad, edits[i].bad);
	}
}

static void attack_broker_18_a_missing_row_is_named(void **state) {
	tamper(*state, "DELETE FROM events WHERE seq = 777");
	struct history_check check = verify_all(*state);
	assert_int_equal(check.bad, 777);
	assert_non_null(strstr(check.what, "missing"));
	assert_int_equal(check.checked, 776);
}

static void attack_broker_18_the_first_row_missing_is_named(void **state) {
	tamper(*state, "DELETE FROM events WHERE seq = 1");
	assert_int_equal(verify_all(*state).bad, 1);
}

static void attack_broker_18_a_cut_is_named(void **state) {
	tamper(*state, "DELETE FROM events WHERE seq > 1000");
	struct history_check check = verify_all(*state);
	assert_int_equal(check.bad, 1001);
	assert_non_null(strstr(check.what, "cut off"));
}

static void attack_broker_18_everything_cut_is_named(void **state) {
	tamper(*state, "DELETE FROM events");
	assert_int_equal(verify_all(*state).bad, 1);
}

static void attack_broker_18_a_row_added_by_hand_is_named(void **state) {
	tamper(*state,
	       "INSERT INTO events SELECT seq + 1, time_ms, kind, session, profile, project, process, permission,"
	       " target, verdict, by, why, grant_id, prompt, detail, hash FROM events WHERE seq = 1203");
	assert_int_equal(verify_all(*state).bad, ROWS + 1);
}

static void rows_can_not_be_changed_by_accident(void **state) {
	struct world *world = *state;
	sqlite3 *db = sqlite3_db_handle(store_statement(world->store, STORE_STATE_READ));
	assert_int_not_equal(sqlite3_exec(db, "UPDATE events SET why = ''", NULL, NULL, NULL), SQLITE_OK);
}

static void the_chain_goes_on_after_a_roll_back(void **state) {
	struct world *world = *state;
	struct event event = {.kind = EVENT_POLICY, .verdict = -1};
	append(world, EVENT_DECISION, 1, "npm", 2);
	assert_int_equal(store_begin(world->store, STORE_FULL, NULL), 0);
	assert_int_equal(history_append(world->history, &event, NULL), 0);
	store_rollback(world->store);
	history_rolled_back(world->history);
	append(world, EVENT_DECISION, 1, "npm", 2);
	struct history_check check = verify_all(world);
	assert_int_equal(check.bad, 0);
	assert_int_equal(check.checked, 2);
}

static void the_chain_goes_on_after_it_was_opened_again(void **state) {
	struct world *world = *state;
	append(world, EVENT_DECISION, 1, "npm", 2);
	history_free(world->history);
	assert_int_equal(history_open(world->store, &world->history, NULL), 0);
	append(world, EVENT_DECISION, 1, "npm", 2);
	assert_int_equal(verify_all(world).checked, 2);
	assert_int_equal(verify_all(world).bad, 0);
}

static size_t count_pages(struct world *world, const struct history_filter *filter, bool newest, size_t *ret_items) {
	int64_t cursor = 0, last_seq = newest ? INT64_MAX : 0;
	size_t pages = 0;
	*ret_items = 0;
	do {
		json_t *items = json_array(), *item;
		size_t index;
		assert_int_equal(history_list(world->history, filter, newest, cursor, items, &cursor, NULL), 0);
		assert_true(json_array_size(items) <= LIMIT_PAGE);
		json_array_foreach (items, index, item) {
			int64_t seq = json_integer_value(json_object_get(item, "seq"));
			assert_true(newest ? seq < last_seq : seq > last_seq);
			last_seq = seq;
		}
		*ret_items += json_array_size(items);
		json_decref(items);
		pages++;
	} while (cursor != 0);
	return pages;
}

static void listings_come_in_pages_both_ways(void **state) {
	const struct history_filter all = {0};
	size_t items;
	assert_int_equal(count_pages(*state, &all, false, &items), (ROWS + LIMIT_PAGE - 1) / LIMIT_PAGE);
	assert_int_equal(items, ROWS);
	assert_int_equal(count_pages(*state, &all, true, &items), (ROWS + LIMIT_PAGE - 1) / LIMIT_PAGE);
	assert_int_equal(items, ROWS);
}

static void listings_are_filtered(void **state) {
	size_t items;
	struct history_filter filter = {.session = 2};
	count_pages(*state, &filter, false, &items);
	assert_int_equal(items, 500);
	filter = (struct history_filter){.verdict = (char *)"deny"};
	count_pages(*state, &filter, false, &items);
	assert_int_equal(items, 602);
	filter = (struct history_filter){.profile = (char *)"other"};
	count_pages(*state, &filter, false, &items);
	assert_int_equal(items, 0);
	filter = (struct history_filter){.until_ms = 1700000000000};
	count_pages(*state, &filter, false, &items);
	assert_int_equal(items, 0);
	filter = (struct history_filter){.since_ms = 1700000000000, .kind = (char *)"decision"};
	count_pages(*state, &filter, true, &items);
	assert_int_equal(items, ROWS);
}

int main(void) {
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_whole_chain_is_good, setup_filled, teardown),
		cmocka_unit_test_setup_teardown(an_empty_chain_is_good, setup, teardown),
		cmocka_unit_test_setup_teardown(the_check_comes_in_pages, setup_filled, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_18_edited_rows_are_named, setup_filled, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_18_a_missing_row_is_named, setup_filled, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_18_the_first_row_missing_is_named, setup_filled,
						teardown),
		cmocka_unit_test_setup_teardown(attack_broker_18_a_cut_is_named, setup_filled, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_18_everything_cut_is_named, setup_filled, teardown),
		cmocka_unit_test_setup_teardown(attack_broker_18_a_row_added_by_hand_is_named, setup_filled, teardown),
		cmocka_unit_test_setup_teardown(rows_can_not_be_changed_by_accident, setup_filled, teardown),
		cmocka_unit_test_setup_teardown(the_chain_goes_on_after_a_roll_back, setup, teardown),
		cmocka_unit_test_setup_teardown(the_chain_goes_on_after_it_was_opened_again, setup, teardown),
		cmocka_unit_test_setup_teardown(listings_come_in_pages_both_ways, setup_filled, teardown),
		cmocka_unit_test_setup_teardown(listings_are_filtered, setup_filled, teardown),
	};
	home_make(NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	home_remove();
	return failed;
}
